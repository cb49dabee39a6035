"""The files of a program: mixed sources, and the user's headers that they include."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import NamedTuple

from . import cuda_text
from .cuda_item import CudaText, Item, Macro
from .item_words import code_alone
from .mixed_program import MixedSource, Program
from .text_edits import EditedText, apply

__all__ = ["Found", "MixedFile", "read_files"]

_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*([<\"])([^>\"\n]+)[>\"]", re.MULTILINE)
# What only one side's compiler can be given.
_TO_CUT = re.compile(r"<<<|\b__global__\b")


class Found(NamedTuple):
    """What an include line leads to.

    Attributes
    ----------
    owner : str
        ``"user"``: a header that is cut. ``"device"``: one that NVRTC finds. ``"host"``: one that
        it does not find, or must not.
    path : str
        Where it is; empty where that is not known.
    is_beside : bool
        Whether it was found in the folder of its includer.
    """

    owner: str
    path: str = ""
    is_beside: bool = False


class MixedFile(NamedTuple):
    """A source, or a header of the user's.

    Attributes
    ----------
    name : str
        What messages call it: a header's path.
    is_source : bool
        Whether it is a source.
    is_whole : bool
        Whether it is a header that cannot be cut, and need not be: it goes to both sides.
    expanded : EditedText
        Its text, after macros that hide declarations were expanded.
    cuda : CudaText
        What that consists of.
    code : str
        The text with comments and literals blanked.
    includes : dict of int to Found
        By the offsets where include items begin.
    """

    name: str
    is_source: bool
    is_whole: bool
    expanded: EditedText
    cuda: CudaText
    code: str
    includes: dict[int, Found]

    def include_items(self) -> Iterator[Item]:
        """Iterate over the include lines, those within namespaces and blocks too."""
        yield from _includes_in(self.cuda.items)


def _includes_in(items: tuple[Item, ...]) -> Iterator[Item]:
    for item in items:
        if item.kind == "include":
            yield item
        else:
            yield from _includes_in(item.children)


def read_files(program: Program) -> tuple[MixedFile, ...]:
    """Read the sources and, each before the first that includes it, the headers.

    Conditions are ignored: what is included anywhere is read.
    """
    defines = "".join(f"#define {name} {text}\n" for name, text in program.defines)
    reader = _Reader(program, list(cuda_text.read(defines).macros))
    for source in program.sources:
        reader.read_source(source)
    return tuple(reader.files)


class _Reader:
    def __init__(self, program: Program, macros: list[Macro]) -> None:
        self.files: list[MixedFile] = []
        self._program = program
        self._macros = macros
        self._seen: set[str] = set()
        self._device = tuple(map(_slashed, program.device_dirs))
        self._host = tuple(map(_slashed, program.host_dirs))

    def read_source(self, source: MixedSource) -> None:
        self._read(source.name, source.text, source.folder, is_source=True)

    def _read(self, name: str, text: str, folder: str, *, is_source: bool) -> None:
        for mark, path in _INCLUDE.findall(text):
            found = self._find(path, folder if mark == '"' else "")
            if found.owner == "user" and found.path not in self._seen:
                self._read_header(found.path)
        expanded, cuda = cuda_text.read_expanded(text, macros=self._macros)
        self._macros += cuda.macros
        code = code_alone(text)
        is_whole = bool(cuda.problems) and not is_source and not _TO_CUT.search(code)
        if is_whole:
            expanded = apply(text, ())
            items = tuple(_includes_in(cuda_text.read(text).items))
            cuda = CudaText(text, items, cuda.macros, ())
        elif expanded.edits:
            code = code_alone(cuda.text)
        file = MixedFile(name, is_source, is_whole, expanded, cuda, code, {})
        for item in file.include_items():
            beside = folder if item.is_quoted else ""
            file.includes[item.span.start] = self._find(item.path, beside)
        self.files.append(file)

    def _read_header(self, path: str) -> None:
        self._seen.add(path)
        try:
            with open(path, encoding="utf-8", errors="surrogateescape", newline="") as file:
                text = file.read()
        except OSError:
            return  # the compilers say what is wrong with it
        self._read(path, text, os.path.dirname(path), is_source=False)

    def _find(self, path: str, beside: str) -> Found:
        if os.path.isabs(path):
            return self._owned(path, is_beside=False) if os.path.isfile(path) else Found("host")
        folders = [beside] if beside else []
        for folder in (*folders, *self._program.include_dirs, *self._program.device_dirs):
            whole = os.path.join(folder, path)
            if os.path.isfile(whole):
                return self._owned(whole, is_beside=folder is beside)
        return Found("host")

    def _owned(self, path: str, *, is_beside: bool) -> Found:
        real = os.path.realpath(path)
        # The deepest folder decides: that of the shims lies in that of this package's host headers.
        host, device = (
            max((len(folder) for folder in folders if real.startswith(folder)), default=0)
            for folders in (self._host, self._device)
        )
        if host or device:
            return Found("host" if host > device else "device", path)
        # Copies of what includes it are elsewhere.
        return Found("user", real if "./" in path else os.path.abspath(path), is_beside)


def _slashed(folder: str) -> str:
    return os.path.join(os.path.realpath(folder), "")
