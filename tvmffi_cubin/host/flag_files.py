"""What a build reads, or missed, and no compiler lists: by its flags, and by ``.incbin``."""

from __future__ import annotations

import os
import re
import shlex
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, BinaryIO

from .flag_paths import FILE, LIBRARY, LIBRARY_FOLDER, Word, parse

if TYPE_CHECKING:
    from .toolchain import HostCompiler

# Options of gcc's and clang's whose value is a file that they read.
_READING = {
    *("-fauto-profile", "-fplugin", "-fpass-plugin", "-fprofile-use", "-fprofile-instr-use"),
    *("-fprofile-list", "-fprofile-sample-use", "-fmodule-file", "-fmodule-map-file", "--config"),
    *("-frandomize-layout-seed-file", "-fsanitize-blacklist", "-fsanitize-ignorelist"),
    *("-fsanitize-coverage-allowlist", "-fsanitize-coverage-ignorelist", "-specs", "--specs"),
    *("-fuse-ld", "--ld-path"),
}
# Of those, the ones whose value may be the next word.
_READING_NEXT = {"-specs", "--specs", "--config"}
# What compilers look for in the folders of -B.
_PROGRAMS = ("as", "ld", "ld.bfd", "ld.gold", "ld.lld", "ld.mold", "collect2", "cc1", "cc1plus")
# A file of flags may name itself.
_MOST_LEVELS = 8
_THIN = b"!<thin>\n"
# What begins like this holds its content itself.
_WHOLE = (b"\x7fELF", b"!<arch>\n", b"BC\xc0\xde")
# Scripts in place of libraries have a few lines.
_LONGEST = 1 << 20
_LONGEST_NAMES = 64 << 20
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_INPUT = re.compile(r"\b(?:INPUT|GROUP|STARTUP)\s*\(((?:[^()]|\([^()]*\))*)\)")
_INCLUDE = re.compile(r"\bINCLUDE\s+([^\s;]+)")
# A shared library's content does not get into what is linked with it.
_LINKED = (".a", ".o")
# A member's head in an archive: its name, what does not matter, its size, two marks.
_HEAD = struct.Struct("16s32s10s2s")
_EMBEDDED = re.compile(r'"(/[^"\\\n]+)\\?"')


@dataclass(frozen=True)
class FlagFiles:
    """What flags name.

    Attributes
    ----------
    files : tuple of str
        Existing files.
    absent : tuple of str
        Paths that do not exist and that might be read instead, should they appear. A missing
        folder stands for all that could be in it.
    """

    files: tuple[str, ...]
    absent: tuple[str, ...]


def find_for(compiler: HostCompiler, flags: Sequence[str]) -> FlagFiles:
    """Find what flags of a compiler name, as `find` does, with its own library folders."""
    if not flags:
        return FlagFiles((), ())
    from .tools import library_folders

    return find(
        flags,
        folders=os.environ.get("LIBRARY_PATH", "").split(":"),
        system_folders=partial(library_folders, compiler),
    )


def find(
    flags: Iterable[str],
    *,
    folders: Iterable[str] = (),
    system_folders: Callable[[], Sequence[str]] = tuple,
) -> FlagFiles:
    """Find the objects, libraries, scripts and other files that flags name.

    A library counts in every folder where the linker may look for it, shared and static, whichever
    is taken: one that is for another machine, or shared in a static link, is passed over. What a
    script or a thin archive names is found, but for shared libraries that it names by their files.

    Parameters
    ----------
    flags : iterable of str
        With absolute paths, as `flag_paths.absolute` returns them; others are none of here.
    folders : iterable of str
        Library folders that are searched after those of the flags.
    system_folders : callable, optional
        Gives the folders that are searched last, and are asked for only where a library is named;
        what is absent there is not watched.
    """
    flags = expanded(flags)
    words = [word for _, words in parse(flags) for word in words]
    words += [x for word in words if word.option == "@" for x in _words(word.value)]
    places = [word.value for word in words if word.kind == LIBRARY_FOLDER]
    places = [folder for folder in (*places, *folders) if os.path.isabs(folder)]
    search = _Search(places, system_folders)
    for path in _values(flags):
        search.files[path] = None
    for word in words:
        if word.kind == FILE:
            search.enter(word.value)
    for word in words:
        if word.kind == LIBRARY and word.value:
            search.look_for(word.value)
    return FlagFiles(tuple(search.files), tuple(search.absent))


def expanded(flags: Iterable[str]) -> tuple[str, ...]:
    """Return flags, and after each file of flags (``@file``) those in it."""
    return tuple(_expanded(flags, 0))


def _expanded(flags: Iterable[str], level: int) -> Iterator[str]:
    for flag in flags:
        yield flag
        if flag.startswith("@") and level < _MOST_LEVELS:
            yield from _expanded(_flags_in(flag[1:]), level + 1)


class _Search:
    """What a linker finds, and what it would find instead."""

    def __init__(self, places: Sequence[str], system_folders: Callable[[], Sequence[str]]) -> None:
        self.files: dict[str, None] = {}
        self.absent: dict[str, None] = {}
        self._places = places
        self._ask = system_folders
        self._system: Sequence[str] | None = None
        self._libraries: set[str] = set()

    def enter(self, name: str, folder: str = "") -> None:
        """Add a file, and those that it makes the linker read."""
        # A script that is not in the current folder is looked for there.
        places = [folder, *self._places] if folder else self._places
        for place in places or [""]:
            path = os.path.join(place, name)
            if path in self.files:
                continue
            if os.path.isfile(path):
                self.files[path] = None
                for member in _members(path):
                    if member.startswith("-l"):
                        self.look_for(member[2:])
                    else:
                        self.enter(member, os.path.dirname(path))
            elif not os.path.isabs(name):
                self._await(place, path)

    def look_for(self, library: str) -> None:
        """Add a library wherever there is one."""
        if library in self._libraries:
            return
        self._libraries.add(library)
        if self._system is None:
            self._system = self._ask()
        for folder in (*self._places, *self._system):
            for name in _library_files(library):
                path = os.path.join(folder, name)
                if os.path.isfile(path):
                    self.enter(path)
                else:
                    self._await(folder, path)

    def _await(self, folder: str, path: str) -> None:
        if folder in self._places and not os.path.exists(path):
            self.absent[path if os.path.isdir(folder) else folder] = None


def _values(flags: Iterable[str]) -> Iterator[str]:
    """Yield the files that options of compilers read, and programs that they run."""
    rest = iter(flags)
    for flag in rest:
        option, equals, path = flag.partition("=")
        if option in _READING_NEXT and not equals:
            path = next(rest, "")
        if flag.startswith("-B"):
            folder = flag[2:] or next(rest, "")
            paths = [os.path.join(folder, name) for name in _PROGRAMS]
        else:
            paths = [path] if option in _READING else []
        yield from (path for path in paths if os.path.isabs(path) and os.path.isfile(path))


def _words(path: str) -> Iterator[Word]:
    """Yield the words in a file of flags for the linker."""
    for _, words in parse(expanded(_flags_in(path))):
        yield from words


def _flags_in(path: str) -> list[str]:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return shlex.split(file.read())
    except (OSError, ValueError):
        return []  # no file of flags, or one whose quotes only the compiler understands


def _library_files(library: str) -> tuple[str, ...]:
    if library.startswith(":"):
        return (library[1:],)
    return (f"lib{library}.so", f"lib{library}.a")


def _members(path: str) -> tuple[str, ...]:
    """Return what a file that a linker is given makes it read: paths, names, and ``-l`` options.

    Nothing where the file is no script or thin archive, or cannot be read.
    """
    try:
        with open(path, "rb") as file:
            head = file.read(len(_THIN))
            if head.startswith(_WHOLE):
                return ()
            if head == _THIN:
                folder = os.path.dirname(path)
                return tuple(os.path.join(folder, name) for name in _thin_names(file))
            data = head + file.read(_LONGEST)
    except OSError:
        return ()
    return tuple(_script_names(data.decode("utf-8", "surrogateescape")))


def _script_names(text: str) -> Iterator[str]:
    text = _COMMENT.sub(" ", text)
    yield from (name.strip('"') for name in _INCLUDE.findall(text))
    for inputs in _INPUT.findall(text):
        for word in re.split(r"[\s,()]+", inputs):
            name = word.strip('"')
            if name.startswith("-l") or name.endswith(_LINKED):
                yield name


def _thin_names(file: BinaryIO) -> Iterator[str]:
    names = b""
    while len(head := file.read(_HEAD.size)) == _HEAD.size:
        name, _, size, _ = _HEAD.unpack(head)
        name = name.rstrip()
        if name in (b"/", b"//", b"/SYM64/"):
            # Tables alone have a content, at even places. That of symbols may be large.
            if not size.strip().isdigit():
                return
            begin, count = file.tell(), int(size)
            if name == b"//":
                names = file.read(min(count, _LONGEST_NAMES))
            file.seek(begin + count + count % 2)
        elif name[1:].partition(b":")[0].isdigit():
            # Behind the colon is where in that file, itself an archive, the member lies.
            start = int(name[1:].partition(b":")[0])
            yield os.fsdecode(names[start:].partition(b"/\n")[0])
        else:
            yield os.fsdecode(name.rstrip(b"/"))


def incbin_files(texts: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return the files that sources may embed by ``.incbin``, and those that are not there.

    Every absolute path between quotes is one, in a text that speaks of ``incbin`` at all: macros
    make the directive of it. Relative paths would start at a folder that nobody else knows.
    """
    files: list[str] = []
    absent: list[str] = []
    for text in texts:
        for path in _EMBEDDED.findall(text) if "incbin" in text.lower() else ():
            (files if os.path.isfile(path) else absent).append(path)
    return files, [path for path in absent if not os.path.exists(path)]
