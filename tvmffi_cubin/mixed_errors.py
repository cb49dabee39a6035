"""`Tried`: what is to be done about errors in mixed sources that cutting them may have caused."""

from __future__ import annotations

import re

from . import private_folder
from .errors import BuildError, CompileError
from .host_log import translate
from .split import Side, Split

__all__ = ["Tried"]

# How often a side is compiled anew because of items that it may go without.
_MOST = 4
_NVRTC_ERROR = re.compile(r"^(.+?)\((\d+)\): (?:catastrophic )?error\b", re.MULTILINE)
_HOST_ERROR = re.compile(r"^(.+?):(\d+):(?:\d+:)? (?:fatal )?error:", re.MULTILINE)
# Of names that a header would declare.
_UNKNOWN_NAME = re.compile(
    r"not declared|does not name|is not a member of|undeclared|unknown type|no member named"
    r"|no type named|no template named|incomplete type|not a (?:class|template)"
)


class Tried:
    """The errors of one build so far; the first of each side are the ones to show.

    Parameters
    ----------
    name : str
        The module's.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._first: dict[Side, BuildError | CompileError] = {}
        self._rounds: dict[Side, int] = {"device": 0, "host": 0}

    def again(self, cut: Split, error: BuildError | CompileError) -> Split:
        """Return what to compile after an error.

        Raises
        ------
        BuildError, CompileError
            There is nothing to go without: the side's first error.
        """
        side: Side = "device" if isinstance(error, CompileError) else "host"
        self._rounds[side] += 1
        found = self._without(cut, error) if self._rounds[side] <= _MOST else None
        if side not in self._first:
            self._first[side] = error if side == "device" else self._told(cut, error)
        elif isinstance(error, BuildError):
            private_folder.remove(error.directory)
        if found is None:
            raise self._first[side]
        return found

    def done(self) -> None:
        """Remove what errors have left that were none of the user's."""
        for error in self._first.values():
            if isinstance(error, BuildError):
                private_folder.remove(error.directory)

    def _without(self, cut: Split, error: BuildError | CompileError) -> Split | None:
        if isinstance(error, CompileError):
            return cut.without("device", _places(_NVRTC_ERROR, error.log))
        if cut.left_out and _UNKNOWN_NAME.search(error.output):
            return cut.with_left_out()
        return cut.without("host", _places(_HOST_ERROR, error.output))

    def _told(self, cut: Split, error: BuildError | CompileError) -> BuildError:
        """Return an error of the host compiler's with the user's own lines and columns."""
        assert isinstance(error, BuildError)

        texts = {one.file: one.edited for one in (*cut.host.sources, *cut.host.headers)}
        output = translate(error.output, texts)
        lines = (
            f"{self._name}: the host code does not compile:",
            output.replace("ninja: build stopped: subcommand failed.\n", "").rstrip("\n"),
            f"command: {error.command}",
            f"folder (kept): {error.directory}",
        )
        return BuildError(
            "\n".join(lines), command=error.command, output=output, directory=error.directory
        )


def _places(pattern: re.Pattern[str], text: str) -> list[tuple[str, int]]:
    return [(match[1], int(match[2])) for match in pattern.finditer(text)]
