"""`make`: the stubs of the libraries that a compiler links C++ with, tried against these."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from . import tool_process
from .computed import computed
from .environment import build_environment
from .errors import BuildError
from .host_tools import library_folders
from .imports import Imports
from .library_stub import LibraryFile, archive_names
from .product import Product
from .stub_symbols import chosen
from .toolset import Toolset

__all__ = ["make"]

_CPP = "stdc++"
_NAMES = (_CPP, "m", "c")
# What is linked behind them, as it is.
_BEHIND = ("libgcc.a", "libgcc_s.so.1")
_STUB = "stub_of_{}"
_TRIAL = "trial"
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*\Z")
_WORD = re.compile(r"[^\s()]+")


@dataclass(frozen=True)
class _Library:
    """A library as ``-l`` finds it: itself, or a script that names it.

    Attributes
    ----------
    name : str
        As behind ``-l``.
    place : str
        What the compiler finds.
    path : str
        The library itself.
    script : str
        The text of `place`, where that is one.
    others : tuple of str
        What else it names.
    """

    name: str
    place: str
    path: str
    script: str = ""
    others: tuple[str, ...] = ()

    @computed
    def file(self) -> LibraryFile:
        return LibraryFile(Path(self.path).read_bytes())

    def write(self, folder: Path, wanted: set[str]) -> list[str]:
        """Write the stub, and the script where there is one; return the names of the files."""
        stub = self.file.stub(wanted)
        name = _STUB.format(self.name) if self.script else self.name
        made = [f"lib{name}.so"]
        (folder / made[0]).write_bytes(stub)
        if self.script:
            # Of its place in the end nothing is known yet.
            text = self.script.replace(self.path, f"-l{name}", 1)
            made.insert(0, f"lib{self.name}.so")
            (folder / made[0]).write_text(text)
        return made


def make(folder: Path, tools: Toolset) -> Product:
    """Make stubs in an empty folder, and try them.

    Raises
    ------
    BuildError
        They do not give what the libraries do.
    OSError, ValueError, struct.error
        A library cannot be read, or is none that is understood.
    """
    libraries = _find(tools)
    if _CPP not in {library.name for library in libraries}:
        raise BuildError("the compiler finds no libstdc++.so", directory=os.fspath(folder))
    behind = [*filter(None, (_ask(tools, name) for name in _BEHIND))]
    behind += [path for library in libraries for path in library.others]
    elsewhere = frozenset(name for path in behind for name in _names(path))
    users = (os.fspath(tools.tvm_ffi.library), *(library.path for library in libraries))
    needed = frozenset(name for path in users for name in _needed(path))
    wanted: dict[str, set[str]] = {}
    for library in libraries:
        own = library.file.names
        rest = (x.file.names for x in libraries if x is not library)
        # What a stub lacks must be nowhere else, or that would be taken in its place.
        more = own & needed.union(elsewhere, *rest)
        wanted[library.name] = chosen(library.name, own) | more
    made = [file for x in libraries for file in x.write(folder, wanted[x.name])]
    _try(folder, tools, libraries, wanted)
    first, *others = made
    return Product(
        so=first,
        keep=tuple(others),
        used=tuple(others),
        dependencies=(*(y for x in libraries for y in (x.place, x.path)), *behind),
        absent=_absent(tools, libraries),
        outdated=tools.outdated,
        facts={"libraries": [library.path for library in libraries]},
        versions=tools.versions,
    )


def _find(tools: Toolset) -> list[_Library]:
    # Of a script in such a folder the paths are meant to be under it.
    has_sysroot = _run([*tools.compiler.command, "-print-sysroot"])[1].strip() not in ("", "/")
    found = []
    for name in (_CPP,) if has_sysroot else _NAMES:
        place = _ask(tools, f"lib{name}.so")
        library = _look(tools, name, place) if place else None
        if library is not None:
            found.append(library)
    return found


def _look(tools: Toolset, name: str, place: str) -> _Library | None:
    with open(place, "rb") as file:
        head = file.read(4096)
    if head.startswith(b"\x7fELF"):
        return _Library(name, place, place)
    text = head.decode("utf-8", "strict")
    words = _WORD.findall(text)
    paths = [word for word in words if os.path.isabs(word) and os.path.isfile(word)]
    if not paths or not re.search(r"\.so[.\d]*\Z", paths[0]) or text.count(paths[0]) != 1:
        return None
    more = [word.removeprefix("-l") for word in words if word.startswith("-l")]
    others = (*paths[1:], *(_ask(tools, f"lib{x}.so") or _ask(tools, f"lib{x}.a") for x in more))
    return _Library(name, place, paths[0], text, others) if all(others) else None


def _ask(tools: Toolset, name: str) -> str:
    """Return where the compiler finds a file; nothing where it does not."""
    path = _run([*tools.compiler.command, f"-print-file-name={name}"])[1].strip()
    return os.path.normpath(path) if os.path.isabs(path) and os.path.isfile(path) else ""


def _names(path: str) -> frozenset[str]:
    data = Path(path).read_bytes()
    is_library = data.startswith(b"\x7fELF")
    return LibraryFile(data).names if is_library else frozenset(archive_names(data))


def _needed(path: str) -> frozenset[str]:
    return frozenset(symbol.name for symbol in Imports.of(Path(path).read_bytes()).symbols)


def _absent(tools: Toolset, libraries: Sequence[_Library]) -> tuple[str, ...]:
    """Return where the compiler would find other libraries first, should they appear there."""
    folders = library_folders(tools.compiler)
    paths = []
    for library in libraries:
        home = os.path.realpath(os.path.dirname(library.place))
        before = folders[: folders.index(home)] if home in folders else ()
        paths += [f"{folder}/lib{library.name}.so" for folder in before]
    return tuple(path for path in paths if not os.path.exists(path))


def _try(
    folder: Path, tools: Toolset, libraries: Sequence[_Library], wanted: dict[str, set[str]]
) -> None:
    """Link an object that needs all that the stubs have, with them and without, and compare."""
    needed = {
        name
        for library in libraries
        for name in wanted[library.name]
        if _IDENTIFIER.match(name) and name not in library.file.thread_locals
    }
    lines = [".data", *(f".quad {name}" for name in sorted(needed))]
    lines.append('.section .note.GNU-stack,"",%progbits\n')
    (folder / f"{_TRIAL}.s").write_text("\n".join(lines))
    _link(folder, tools, ["-c", "-o", f"{_TRIAL}.o", f"{_TRIAL}.s"])
    link = ["-shared", f"{_TRIAL}.o", "-Wl,-z,defs", "-o"]
    _link(folder, tools, [*link, f"{_TRIAL}.so"])
    said = _link(folder, tools, [*link, f"{_TRIAL}.stub.so", "-L", os.fspath(folder), "-Wl,-t"])
    if os.fspath(folder / f"lib{_CPP}.so") not in said:
        raise _refusal(folder, "the linker does not take them")
    made = [Imports.of((folder / f"{_TRIAL}{x}.so").read_bytes()) for x in ("", ".stub")]
    if made[0] != made[1]:
        raise _refusal(folder, "what is linked with them is something else")


def _link(folder: Path, tools: Toolset, words: Sequence[str]) -> str:
    status, output = _run([*tools.compiler.command, *words], folder)
    if status != 0:
        raise _refusal(folder, output)
    return output


def _refusal(folder: Path, reason: str) -> BuildError:
    return BuildError(f"no stubs of libraries: {reason}", directory=os.fspath(folder))


def _run(command: Sequence[str], folder: Path | None = None) -> tuple[int, str]:
    # A terminal's Ctrl-C is for the process that waits for this one at its end.
    return tool_process.run(command, environment=build_environment(), folder=folder, is_apart=True)
