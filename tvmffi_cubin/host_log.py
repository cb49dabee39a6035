"""A host compiler's log about edited text, told of the user's own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from .host_messages import Leading, Message, Place, parse
from .text_edits import EditedText

__all__ = ["translate"]

_OWN_HEADER = re.compile(r"(?:.*/)?tvmffi_cubin/(?:\w+/)*\w+\.(?:h|cc)")
_QUOTE = "['\u2018\u2019]"
_OWN_MACRO = re.compile(
    rf"in (?:expansion|definition) of macro {_QUOTE}(?:TVMFFI_CUBIN_\w+|__\w+__){_QUOTE}"
)
# Names that parameters without one are given, and the version in ours.
_OWN_NAME = re.compile(r" ?\btvmffi_cubin_[cpt]\d+\b|(?<=\btvmffi_cubin::)v\w+::")
_ASSERTION = re.compile(r"static assertion failed(?: due to requirement '[^']*')?: ")
_CONFIGURATION = re.compile(
    rf"no matching (?:function for call to {_QUOTE}.*KernelLaunch\((?P<given>.*)\){_QUOTE}"
    r"|conversion for functional-style cast.*|constructor for initialization of .*KernelLaunch.*)"
)
_RETURNS = re.compile(
    rf"invalid {_QUOTE}?static_cast{_QUOTE}? from type {_QUOTE}(?P<type>.+?) ?\(\*\)\(.*{_QUOTE}"
    r" to type .*"
)
# As of g++, with what its optimiser calls the function, and of clang++.
_DEVICE_ONLY = re.compile(
    rf"call to {_QUOTE}(?P<name>.+?)(?:\.\w+)*{_QUOTE} declared with "
    rf"(?:attribute error|{_QUOTE}error{_QUOTE} attribute): (?P<what>a __device__ function.*)"
)
_TAB = 8


def translate(log: str, texts: Mapping[str, EditedText]) -> str:
    """Return a log with the user's lines, columns and text, and without what is ours.

    Parameters
    ----------
    log : str
        What g++ or clang++ has printed.
    texts : mapping of str to EditedText
        What was compiled, by the names that the compiler knows.
    """
    messages, is_clang = parse(log)
    excerpted = {
        message.place.file for message in messages if message.place is not None and message.excerpt
    }
    reader = _Reader(texts, frozenset() if is_clang else frozenset(excerpted))
    return "\n".join(reader.lines(messages))


class _Reader:
    def __init__(self, texts: Mapping[str, EditedText], expanded: frozenset[str]) -> None:
        self.texts = texts
        # Files that the compiler has opened to quote them: it counts columns as they are shown.
        self.expanded = expanded
        self.failed: set[tuple[str, int]] = set()  # lines of which an error was told
        self.quoted: Place | None = None  # what the last excerpt is of

    def lines(self, messages: list[Message]) -> Iterator[str]:
        has_errors = any(self._is_told(messages, index) for index in range(len(messages)))
        for index, message in enumerate(messages):
            if message.place is None:
                yield from self._leading(message.leading, True)
                yield message.words
            elif message.place.file in self.texts:
                yield from self._users(message)
            elif _OWN_HEADER.fullmatch(message.place.file):
                yield from self._ours(messages, index, has_errors)
            else:
                yield from self._leading(message.leading, True)
                yield f"{_shown(message.place)}: {message.severity}: {_cleaned(message.words)}"
                yield from message.excerpt

    def _is_told(self, messages: list[Message], index: int) -> bool:
        message = messages[index]
        if not message.is_error or message.place is None:
            return False
        return message.place.file in self.texts or self._users_place(messages, index) is not None

    def _users(self, message: Message) -> Iterator[str]:
        assert message.place is not None
        if _OWN_MACRO.match(message.words):
            return
        place = self._placed(message.place)
        words = self._reworded(message.words)
        if _CONFIGURATION.fullmatch(message.words):
            place = self._at_launch(place)
        if message.is_error:
            self.failed.add(place[:2])
        yield from self._leading(message.leading, False)
        yield from self._told(place, message.severity, words)

    def _ours(self, messages: list[Message], index: int, has_errors: bool) -> Iterator[str]:
        """Tell an error within our headers where the user's text led to it, and no more."""
        message = messages[index]
        assert message.place is not None
        place = self._users_place(messages, index)
        if message.is_error and place is not None:
            mapped = self._placed(place)
            if "<<<" in message.words or _CONFIGURATION.fullmatch(message.words):
                mapped = self._at_launch(mapped)
            if mapped[:2] not in self.failed:
                self.failed.add(mapped[:2])
                yield from self._told(mapped, message.severity, self._reworded(message.words))
        elif message.is_error and not has_errors:
            yield from self._leading(message.leading, True)
            yield f"{_shown(message.place)}: {message.severity}: {_cleaned(message.words)}"
            yield from message.excerpt

    def _users_place(self, messages: list[Message], index: int) -> Place | None:
        for leading in reversed(messages[index].leading):
            if leading.place is not None and leading.place.file in self.texts:
                return None if leading.is_chain else leading.place
        for message in messages[index + 1 :]:
            if message.place is None or not _OWN_MACRO.match(message.words):
                break
            if message.place.file in self.texts:
                return message.place
        return None

    def _leading(self, leading: Iterable[Leading], keeps_chain: bool) -> Iterator[str]:
        """Yield what comes before a message, without how our own unit includes the user's text."""
        leading = list(leading)
        chain = [one for one in leading if one.is_chain]
        last = max((at for at, one in enumerate(chain) if self._is_users(one)), default=-1)
        shown = chain if keeps_chain and last < 0 else chain[: last + 1]
        for at, one in enumerate(shown):
            yield self._line(one._replace(after=":" if at == len(shown) - 1 else ","))
        for one in leading:
            is_ours = _OWN_HEADER.match(one.before if one.place is None else one.place.file)
            if not one.is_chain and not is_ours:
                yield self._line(one)

    def _is_users(self, leading: Leading) -> bool:
        return leading.place is not None and leading.place.file in self.texts

    def _line(self, leading: Leading) -> str:
        if leading.place is None:
            return _cleaned(leading.before)
        place = leading.place
        place = self._placed(place) if place.file in self.texts else place
        return f"{leading.before}{_shown(place)}{_cleaned(leading.after)}"

    def _told(self, place: Place, severity: str, words: str) -> Iterator[str]:
        yield f"{_shown(place)}: {severity}: {words}"
        lines = self.texts[place.file].source.split("\n")
        if place == self.quoted or not 0 < place.line <= len(lines):
            return
        self.quoted = place
        line = lines[place.line - 1].rstrip("\r")
        yield f"{place.line:>5} | {line}"
        if place.column > 0:
            before = re.sub(r"[^\t]", " ", line[: place.column - 1])
            name = re.match(r"\w*", line[place.column - 1 :])
            more = "~" * (len(name[0]) - 1 if name is not None else 0)
            yield f"      | {before}^{more}"

    def _reworded(self, words: str) -> str:
        match = _CONFIGURATION.fullmatch(words)
        if match is not None:
            given = f" with ({match['given']})" if match["given"] else ""
            return (
                f"no <<<...>>> can be had{given}: it takes grid and block, each a number or a "
                "dim3, then, if wanted, bytes of dynamic shared memory and a stream"
            )
        match = _DEVICE_ONLY.fullmatch(words)
        if match is not None:
            return f"'{match['name']}' is {match['what']}"
        match = _RETURNS.fullmatch(words)
        if match is not None and match["type"] != "void":
            return f"a kernel returns void, not '{match['type']}'"
        return _cleaned(_ASSERTION.sub("", words))

    def _placed(self, place: Place) -> Place:
        edited = self.texts[place.file]
        line, column = edited.place(place.line, self._column(edited, place))
        return Place(place.file, line, column)

    def _at_launch(self, place: Place) -> Place:
        """Return the place of the last ``<<<`` before one."""
        source = self.texts[place.file].source
        lines = source.split("\n")[: place.line]
        end = sum(len(line) + 1 for line in lines[:-1]) + place.column
        at = source.rfind("<<<", 0, end)
        if at < 0:
            return place
        return Place(place.file, source.count("\n", 0, at) + 1, at - source.rfind("\n", 0, at))

    def _column(self, edited: EditedText, place: Place) -> int:
        """Return a column in characters."""
        lines = edited.text.split("\n")
        if not place.column or not 0 < place.line <= len(lines):
            return place.column
        column = place.column
        if place.file in self.expanded:
            quoted = edited.source.split("\n")
            if place.line <= len(quoted):
                column = _in_bytes(quoted[place.line - 1], column)
        raw = lines[place.line - 1].encode(errors="surrogateescape")
        behind = max(0, column - 1 - len(raw))
        return len(raw[: column - 1].decode(errors="surrogateescape")) + behind + 1


def _in_bytes(line: str, column: int) -> int:
    """Return the column in bytes of one that counts a tab as what it takes up to the next stop."""
    shown = done = 0
    for character in line:
        if shown >= column - 1:
            break
        shown += _TAB - shown % _TAB if character == "\t" else 1
        done += len(character.encode(errors="surrogateescape"))
    return done + max(0, column - 1 - shown) + 1


def _shown(place: Place) -> str:
    column = f":{place.column}" if place.column else ""
    return f"{place.file}:{place.line}{column}"


def _cleaned(words: str) -> str:
    return _OWN_NAME.sub("", words)
