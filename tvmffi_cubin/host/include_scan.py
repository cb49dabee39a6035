"""Find the files that a build reads: for device code by its text, for host code via its compiler.

NVRTC cannot list them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ..cache.files import stamp
from .inputs import Inputs


def scan(
    sources: Iterable[tuple[str, str | None]],
    include_dirs: Sequence[str],
    *,
    system_dirs: Sequence[str] = (),
    texts: Mapping[str, str] | None = None,
) -> Inputs:
    """Find what sources include, directly or indirectly: a superset, as conditions are ignored.

    Each source comes with the folder that its ``#include "x"`` searches first. `system_dirs` are
    searched after the user's `include_dirs`; files absent from them are not watched. `texts` are
    headers that take precedence over files.
    """
    places = [_Place(folder, watched=True) for folder in include_dirs]
    places += [_Place(folder, watched=False) for folder in system_dirs]
    scanner = _Scanner(places, texts or {})
    for text, folder in sources:
        # Without a folder, this place finds only absolute paths.
        scanner.read(_parse(text), _Place(folder or os.devnull, watched=bool(folder)))
    return scanner.finish()


def looked_for(
    folders: Sequence[str],
    read: Sequence[str],
    sources: Iterable[tuple[str, str | None]] = (),
    *,
    libraries: tuple[str, ...] = ("/",),
) -> Inputs:
    """Return the files that a compiler has `read`, and those that it does not list.

    The latter are files that would be read instead of others if they appeared, and what
    `__has_include` found. `folders` are searched before those of the headers; `sources` come with
    the folder searched first. Headers of `libraries` look for nothing outside the `folders`.
    """
    found, absent = dict.fromkeys(read), dict[str, None]()
    parts = [(_parse(text), folder) for text, folder in sources]
    own = read if folders else (path for path in read if not path.startswith(libraries))
    parts += [(_parse_file(path), os.path.dirname(path)) for path in own]
    for directives, beside in parts:
        for operand in filter(_Operand.is_header, directives.operands):
            name = operand.name
            first = (beside,) if beside and operand.text[:1] == b'"' else ()
            # A path that goes up from its includer is found beside it and nowhere else.
            for folder in first if ".." in name else (*first, *folders):
                if missing := first_missing(folder, name):
                    absent[missing] = None
                elif operand in directives.probes:
                    found[os.path.join(folder, name)] = None
    return Inputs(tuple(found), tuple(sorted(absent)))


def first_missing(folder: str, relative: str) -> str | None:
    """Return the first part of a path that does not exist, or None if all of it does."""
    # A missing folder stands for all in it: one path to watch for a library's hundreds of headers.
    if not os.path.isdir(folder):
        return folder
    path = folder
    for part in relative.split("/"):
        path = os.path.join(path, part)
        # A dangling link counts as missing, too: its target may appear.
        if not os.path.exists(path):
            return path
    return None


class _Operand(NamedTuple):
    """The operand of ``#include``: a header's name, or a text that macros turn into one."""

    text: bytes  # with its quotes or brackets
    every_folder: bool = False

    def is_header(self) -> bool:
        return self.text[:1] in (b'"', b"<")

    @property
    def name(self) -> str:
        return os.fsdecode(self.text[1:-1])


class _Place(NamedTuple):
    """The folder of an including file, and whether the user may add files to it."""

    folder: str
    watched: bool


class _Directives(NamedTuple):
    operands: tuple[_Operand, ...] = ()
    probes: frozenset[_Operand] = frozenset()  # those that `__has_include` asks for
    defines: tuple[tuple[bytes, bytes, bytes], ...] = ()  # name, parameter, text


# A directive and its parts may have comments on either side. The pattern begins with one plain
# character, so that the search skips the rest of a header at the speed of memchr.
# (A comment has only one possible end: with .*? the search would try every later one, too.)
_BLANK = rb"(?:[ \t\f\v]|/\*[^*]*\*+(?:[^/*][^*]*\*+)*/)"
_GAP = _BLANK + rb"*"
_HEADER = rb"\"[^\"\n]+\"|<[^>\n]+>"
_CALL = rb"[A-Za-z_]\w*" + _GAP + rb"\(.*"
_DIRECTIVE = re.compile(
    rb"#%(gap)s(?:include(_next)?%(gap)s(%(header)s|%(call)s|[A-Za-z_]\w*)"
    # Only what may be a header or part of its path: the text of most macros fails to match here.
    rb"|define%(blank)s+([A-Za-z_]\w*)(?:\([ \t]*(\w+)[ \t]*\))?%(blank)s+"
    rb"((?:%(header)s|\#[ \t]*\w+|[A-Za-z_][\w./-]*)(?=%(gap)s(?://.*)?$)|%(call)s))"
    % {b"gap": _GAP, b"blank": _BLANK, b"header": _HEADER, b"call": _CALL},
    re.MULTILINE,
)
_HAS_INCLUDE = re.compile(
    rb"__has_include(_next)?" + _GAP + rb"\(" + _GAP + rb"(" + _HEADER + rb"|[A-Za-z_]\w*)"
)
# A macro's name, and its argument if that is plain; the argument may contain names, too.
_USE = re.compile(rb"\b([A-Za-z_]\w*)(?=(" + _GAP + rb"\(\s*([^(),\n]*?)\s*\))?)")

# By path: the file's stamp when its directives were read, and the directives.
_known: dict[str, tuple[str, _Directives]] = {}


def _parse(text: bytes | str) -> _Directives:
    if isinstance(text, str):
        text = text.encode("utf-8", "surrogateescape")
    # A directive may be continued anywhere, even in the middle of its name.
    if b"\\\n" in text or b"\r" in text:
        text = text.replace(b"\r\n", b"\n").replace(b"\\\n", b"")
    found = _DIRECTIVE.findall(text)
    asked = _HAS_INCLUDE.findall(text) if b"__has_include" in text else ()
    includes = [_Operand(x[1], bool(x[0])) for x in found if x[1]]
    probes = [_Operand(header, bool(after)) for after, header in asked]
    operands = dict.fromkeys((*includes, *probes))
    defines = dict.fromkeys(x[2:] for x in found if x[2])
    return _Directives(tuple(operands), frozenset(probes), tuple(defines))


def _parse_file(path: str) -> _Directives:
    now, known = stamp(path), _known.get(path)
    if known is None or known[0] != now:
        try:
            with open(path, "rb") as file:
                known = _known[path] = now, _parse(file.read())
        except OSError:
            return _Directives()
    return known[1]


class _Scanner:
    def __init__(self, places: Sequence[_Place], texts: Mapping[str, str]) -> None:
        self._places, self._texts = places, texts
        self._files: dict[str, None] = {}
        self._absent: dict[str, None] = {}
        self._macros: dict[bytes, dict[tuple[bytes, bytes], None]] = {}
        self._computed: dict[tuple[_Operand, _Place], None] = {}
        self._work: list[tuple[_Operand, _Place]] = []
        self._seen: set[tuple[_Operand, _Place | None]] = set()

    def read(self, directives: _Directives, place: _Place) -> None:
        for name, parameter, text in directives.defines:
            self._macros.setdefault(name, {})[parameter, text] = None
        for operand in directives.operands:
            self._push(operand, place)

    def finish(self) -> Inputs:
        unknown: dict[str, None] = {}
        while self._work:
            while self._work:
                self._include(*self._work.pop())
            # Each macro may have several meanings, and the headers they name may define more.
            unknown.clear()
            for (text, every_folder), place in self._computed:
                for meaning in self._meanings(text, frozenset()):
                    operand = _Operand(meaning, every_folder)
                    if operand.is_header():
                        self._push(operand, place)
                    elif b"(" in meaning:
                        unknown[os.fsdecode(meaning.partition(b"(")[0].strip())] = None
        return Inputs(tuple(self._files), tuple(self._absent), tuple(unknown))

    def _meanings(self, text: bytes, hidden: frozenset[bytes]) -> Iterator[bytes]:
        """Iterate over the possible expansions of a text; `hidden` macros are not expanded."""
        named = () if text[:1] == b'"' else _USE.finditer(text)
        uses = [x for x in named if x[1] in self._macros and x[1] not in hidden]
        # A call whose argument is not plain yet waits until it is.
        uses = [x for x in uses if x[2] or not text[x.end() :].lstrip().startswith(b"(")]
        if not uses:
            yield text
            return
        use = uses[-1]  # macros in an argument come before the call
        name, given = use[1], use[3]

        def argument(match: re.Match[bytes]) -> bytes:
            return b'"%b"' % given if match[1] else given

        for parameter, body in self._macros[name]:
            is_call = parameter and given is not None
            value = re.sub(rb"(#\s*)?\b%b\b" % parameter, argument, body) if is_call else body
            rest = text[use.end(2 if is_call else 1) :]
            yield from self._meanings(text[: use.start()] + value + rest, hidden | {name})

    def _push(self, operand: _Operand, place: _Place) -> None:
        # What an angled include finds does not depend on where it is.
        mark = operand, None if operand.text[:1] == b"<" else place
        if mark not in self._seen:
            self._seen.add(mark)
            self._work.append((operand, place))

    def _include(self, operand: _Operand, place: _Place) -> None:
        if not operand.is_header():
            self._computed[operand, place] = None
            return
        name, first = operand.name, [place] if operand.text[:1] == b'"' else []
        if name in self._texts:
            self.read(_parse(self._texts[name]), place)
            return
        for folder, watched in (*first, *self._places):
            path = os.path.join(folder, name)
            # Otherwise a header that includes itself through ".." has infinitely many paths.
            if "./" in name:
                path = os.path.realpath(path)
            if path not in self._files and os.path.isfile(path):
                self._files[path] = None
                self.read(_parse_file(path), _Place(os.path.dirname(path), watched))
            if path in self._files:
                if not operand.every_folder:
                    return
            elif watched:
                parts = os.path.split(path) if "./" in name else (folder, name)
                if missing := first_missing(*parts):
                    self._absent[missing] = None
