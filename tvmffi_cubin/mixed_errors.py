"""`Tried`: what is to be done about errors in mixed sources that cutting them may have caused."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .cache.files import remove
from .cuda.log import NEEDS_HOST
from .device.hints import with_hints
from .errors import BuildError, CompileError
from .host.build import shortened
from .host_hints import host_hints
from .host_log import translate
from .split import Side, Split
from .torch_sources import torch_word_hints

__all__ = ["NO_KERNEL", "NVCC", "Tried", "unnamed"]

NO_KERNEL = (
    "{launch} launches a kernel, and none of the sources and of the headers beside them and in "
    "extra_include_paths defines one: headers that only the host compiler finds (CPATH, "
    "extra_cflags) are no device code; name their folder in extra_include_paths"
)
"""What is said of launches in sources that define no kernel."""

NVCC = 'nvcc takes some code that NVRTC refuses: if it takes this, compiler="nvcc" builds it'
"""What is said where nothing better can be of an error of NVRTC's that nvcc may not have."""

# How often a side is compiled anew because of items that it may go without.
_MOST = 4
_NVRTC_ERROR = re.compile(r"^(.+?)\((\d+)\): (?:catastrophic )?error\b", re.MULTILINE)
_HOST_ERROR = re.compile(r"^(.+?):(\d+):(?:\d+:)? (?:fatal )?error:", re.MULTILINE)
# What no compiler takes.
_ANYWHERE = re.compile(
    r'identifier "\w+" is undefined|expected |missing |unrecognized token|cannot open source file'
    r"|static assertion failed|#error directive|the #endif for|comment unclosed|.* includes itself$"
)
_ERROR_LINE = re.compile(r"^(.+?)\((\d+)\): (?:catastrophic )?error: #error ", re.MULTILINE)
_CONDITION = re.compile(r"[ \t]*#[ \t]*(ifn?def|if|elif|else)\b(.*)")
_END = re.compile(r"[ \t]*#[ \t]*endif\b")
_HOST_MACRO = re.compile(
    r"\b(?:__GNUC__|__GNUG__|__clang__|_MSC_VER|__linux__|__linux|__unix__|__x86_64__|__aarch64__"
    r"|_WIN32|__APPLE__|__INTEL_COMPILER)\b"
)
# May come of going without a header.
_UNDEFINED = re.compile(r'error: .*(?: is undefined|has no member|name followed by "::")')
_WORDS = re.compile(r"\): (?:catastrophic )?error: (.*)")
# What ninja prints of its own, of other commands as well.
_NINJA = re.compile(r"^(?:ninja: build stopped: .*|\[\d+/\d+\] .*)\n", re.MULTILINE)
# Of names that a header would declare.
_UNKNOWN_NAME = re.compile(
    r"not declared|does not name|is not a member of|undeclared|unknown type|no member named"
    r"|no type named|no template named|incomplete type|not a (?:class|template)"
)


class Tried:
    """The errors of one build so far, of each side those that are to be shown.

    Parameters
    ----------
    name : str
        The module's.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._shown: dict[Side, BuildError | CompileError] = {}
        self._places: dict[Side, set[tuple[str, int]]] = {}
        self._rounds: dict[Side, int] = {"device": 0, "host": 0}

    @property
    def device_error(self) -> BuildError | CompileError | None:
        """NVRTC's, if there was any."""
        return self._shown.get("device")

    def again(self, cut: Split, error: BuildError | CompileError) -> Split:
        """Return what to compile after an error.

        Raises
        ------
        BuildError, CompileError
            There is nothing to go without. These are the side's first errors, or what is left of
            them: those that come of going without something are not the user's.
        """
        side: Side = "device" if isinstance(error, CompileError) else "host"
        log = error.log if isinstance(error, CompileError) else error.output
        places = {*_places(_NVRTC_ERROR if side == "device" else _HOST_ERROR, log)}
        is_rest = places <= self._places.get(side, places)
        if is_rest or (side == "device" and self._says_more(cut, log, places)):
            self._show(side, cut, error)
            self._places[side] = places
        elif isinstance(error, BuildError):
            remove(error.directory)
        self._rounds[side] += 1
        found = self._without(cut, side, log, places) if self._rounds[side] <= _MOST else None
        if found is None:
            shown = self._shown.pop(side)
            self.done()
            raise shown
        return found

    def done(self) -> None:
        """Remove what errors have left that were none of the user's."""
        for error in self._shown.values():
            if isinstance(error, BuildError):
                remove(error.directory)

    def _says_more(self, cut: Split, log: str, places: set[tuple[str, int]]) -> bool:
        """Whether NVRTC's errors are in the user's text, and before there were but headers'.

        It ends at the hundredth, as in a header of CUDA's that is not for it.
        """
        own = {file.name for file in cut.files}
        before = {file for file, _ in self._places["device"]}
        new = {file for file, _ in places}
        return not own & before and bool(own & new) and not _UNDEFINED.search(log)

    def _show(self, side: Side, cut: Split, error: BuildError | CompileError) -> None:
        before = self._shown.get(side)
        if isinstance(before, BuildError):
            remove(before.directory)
        self._shown[side] = (
            self._told(cut, error)
            if isinstance(error, BuildError)
            else with_hints(error, _device_hints(cut, error))
        )

    def _without(
        self, cut: Split, side: Side, log: str, places: set[tuple[str, int]]
    ) -> Split | None:
        if side == "host" and cut.left_out and _UNKNOWN_NAME.search(log):
            return cut.with_left_out()
        return cut.without(side, places)

    def _told(self, cut: Split, error: BuildError) -> BuildError:
        """Return an error of the host compiler's with the user's own lines and columns."""
        texts = {one.file: one.edited for one in (*cut.host.sources, *cut.host.headers)}
        output = translate(error.output, texts)
        lines = (
            f"{self._name}: the host code does not compile:",
            shortened(_NINJA.sub("", output).rstrip("\n")),
            *(f"Hint: {hint}" for hint in cut.hints("host", error.output)),
            *(f"Hint: {hint}" for hint in host_hints(cut, output)),
            *(f"Hint: {hint}" for hint in torch_word_hints(output)),
            f"command: {error.command}",
            f"folder (kept): {error.directory}",
        )
        return BuildError(
            "\n".join(lines), command=error.command, output=output, directory=error.directory
        )


def unnamed(error: ValueError) -> ValueError:
    """Return an error about instances that NVRTC cannot be asked for, as one about host code."""
    names, found, rest = str(error).partition(": no instance of the source's kernels")
    if not found:
        return error
    log = rest.partition("NVRTC says:\n")[2]
    return ValueError(
        f"host code launches {names}, and device code has no such types: give it types that both "
        f'sides know, or compile with compiler="nvcc". NVRTC says:\n{log}'
    )


def _device_hints(cut: Split, error: CompileError) -> tuple[str, ...]:
    hints = (*cut.hints("device", error.log), *torch_word_hints(error.log))
    if NEEDS_HOST in str(error):
        return (*hints, 'nvcc has one: compiler="nvcc" builds what calls them in device code')
    if hints or "\nHint: " in str(error):
        return hints
    if macro := next(_host_macros(cut, error.log), ""):
        return (
            f"NVRTC defines none of the host compiler's macros, such as {macro}, and nvcc all: "
            'compiler="nvcc"',
        )
    may_be_nvrtc_s = any(not _ANYWHERE.match(words) for words in _WORDS.findall(error.log))
    return (NVCC,) if may_be_nvrtc_s else ()


def _host_macros(cut: Split, log: str) -> Iterator[str]:
    """Iterate over macros of the host compiler's by which conditions lead to ``#error`` lines."""
    texts = {file.name: file.cuda.text for file in cut.files}
    for file, line in _places(_ERROR_LINE, log):
        for condition in _conditions(texts.get(file, "").split("\n")[: line - 1]):
            yield from _HOST_MACRO.findall(condition)


def _conditions(lines: list[str]) -> Iterator[str]:
    """Iterate over the conditions of the innermost ``#if`` that some lines leave open."""
    depth = 0
    for line in reversed(lines):
        if match := _CONDITION.match(line):
            is_start = match[1].startswith("if")
            if depth == 0:
                yield match[2]
                if is_start:
                    return
            depth -= is_start and depth > 0
        elif _END.match(line):
            depth += 1


def _places(pattern: re.Pattern[str], text: str) -> list[tuple[str, int]]:
    return [(match[1], int(match[2])) for match in pattern.finditer(text)]
