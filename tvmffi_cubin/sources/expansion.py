"""`Expansion`: a source as the preprocessor of one side leaves it, libraries as includes again."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

# Of libraries that a user's folders may hold as well: they are included, not cut.
_LIBRARY = re.compile(
    r"/(?:cutlass|cute|cub|thrust|nv|cooperative_groups|cuda/(?:std|__\w+))/|/cuda/\w+\Z"
)
_MARKER = re.compile(r'#(?:line)? (\d+) "((?:[^"\\]|\\.)*)"((?: \d)*)\Z')
_INCLUDE = re.compile(r'#\s*(?:include|include_next|import)\s*([<"][^>"]+[>"])?')


class Expansion(NamedTuple):
    """What is left of a source for one side."""

    # The user's declarations. `#line` says where each stretch comes from; what a library's header
    # holds is an `#include` of it.
    text: str
    read: tuple[str, ...]  # files
    libraries: tuple[tuple[str, str], ...]  # headers of theirs: as written, and the path


def expansion(
    output: str,
    is_kept: Callable[[str, str], bool],
    library_folders: Iterable[str] = (),
    own_folders: Iterable[str] = (),
) -> Expansion:
    """Return what a preprocessor has printed, run with ``-E -dI``.

    Parameters
    ----------
    output : str
        What it printed.
    is_kept : callable
        Whether this side includes a library's header, of its name as written and its path; the
        path is empty where something before has included it.
    library_folders : iterable of str
        Folders whose headers are libraries', however they were found.
    own_folders : iterable of str
        Folders whose headers are the user's, though the preprocessor takes them for the system's.
    """
    folders = tuple(f"{folder}/" for folder in library_folders)
    return _Reader(is_kept, folders, tuple(f"{folder}/" for folder in own_folders)).read(output)


def without_marks(text: str) -> str:
    """Return a text without what only says where its lines come from."""
    return re.sub(r"(?m)^#line .*\n|^[ \t]*\n", "", text)


class _Reader:
    def __init__(
        self,
        is_kept: Callable[[str, str], bool],
        folders: tuple[str, ...],
        own_folders: tuple[str, ...],
    ) -> None:
        self.is_kept, self.folders, self.own_folders = is_kept, folders, own_folders
        self.lines: list[str] = []
        self.files: dict[str, bool] = {}  # and whether they are libraries'
        self.libraries: dict[tuple[str, str], None] = {}
        self.is_user = False
        self.included = ""  # by the last line
        self.place = 0  # of that line

    def read(self, output: str) -> Expansion:
        for line in output.split("\n"):
            marker = _MARKER.match(line) if line.startswith("#") else None
            if marker:
                self._marker(int(marker[1]), _plain(marker[2]), marker[3].split())
            elif self.is_user:
                self._line(line)
        self._include("")
        text = "\n".join(self.lines) + "\n"
        return Expansion(text, tuple(self.files), tuple(self.libraries))

    def _line(self, line: str) -> None:
        include = _INCLUDE.match(line) if line.startswith("#") else None
        if include is None and not line:
            self.lines.append(line)
            return
        # A header that was read before is not entered.
        self._include("")
        self.included = include[1] if include and include[1] else ""
        self.place = len(self.lines)
        self.lines.append("" if include else line)

    def _marker(self, line: int, file: str, flags: list[str]) -> None:
        if file.startswith("<"):
            self.is_user = False
            return
        if "1" in flags or file not in self.files:
            is_system = "3" in flags and not file.startswith(self.own_folders)
            is_library = is_system or file.startswith(self.folders)
            self.files[file] = is_library or _LIBRARY.search(file) is not None
        is_library = self.files[file]
        if self.is_user and "1" in flags:
            if is_library:
                self.included = self.included or f'"{file}"'
                self._include(file)
            self.included = ""
        if not is_library:
            # gcc has a line of the includer's own between a directive and what it includes.
            name = file.replace("\\", "\\\\").replace('"', '\\"')
            self.lines.append(f'#line {max(1, line)} "{name}"')
        self.is_user = not is_library

    def _include(self, path: str) -> None:
        """Write the last directive again, where it was for a library's header."""
        name, self.included = self.included[1:-1], ""
        if not name:
            return
        if not path and self._is_user_s(name):
            return
        self.libraries[name, path] = None
        if self.is_kept(name, path):
            self.lines[self.place] = f'#include "{path}"' if name == path else f"#include <{name}>"

    def _is_user_s(self, name: str) -> bool:
        end = "/" + name.replace("../", "").replace("./", "")
        return any(file.endswith(end) and not library for file, library in self.files.items())


def _plain(name: str) -> str:
    """Return a file's name as it is, of the form with escapes and octal bytes."""
    if "\\" not in name:
        return name
    data = re.sub(
        rb"\\([0-7]{3}|.)",
        lambda match: bytes([int(match[1], 8)]) if len(match[1]) == 3 else match[1],
        name.encode("utf-8", "surrogateescape"),
    )
    return data.decode("utf-8", "surrogateescape")
