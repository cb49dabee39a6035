"""The files of a program: mixed sources, and the user's headers that they include."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import NamedTuple

from . import cuda_text
from .cuda_item import CudaText, Item, Macro, Span
from .item_words import code_alone
from .mixed_program import MixedSource, Program
from .text_edits import EditedText, apply

__all__ = ["Found", "MixedFile", "read_files"]

_INCLUDE = re.compile(
    r"^[ \t]*(?P<mark>#)[ \t]*include[ \t]*(?P<open>[<\"])(?P<path>[^>\"\n]+)[>\"]", re.MULTILINE
)
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
        """Iterate over the include lines, those within namespaces, blocks and functions too."""
        found = {item.span.start for item in _includes_in(self.cuda.items)}
        yield from _includes_in(self.cuda.items)
        for match in _INCLUDE.finditer(self.cuda.text):
            start = match.start("mark")
            if start not in found and self.code[start] == "#":
                span, line = Span(start, match.end()), self.cuda.text.count("\n", 0, start) + 1
                is_quoted = match["open"] == '"'
                yield Item("include", span, line, path=match["path"], is_quoted=is_quoted)


def _includes_in(items: tuple[Item, ...]) -> Iterator[Item]:
    for item in items:
        if item.kind == "include":
            yield item
        else:
            yield from _includes_in(item.children)


def _is_in_function(items: tuple[Item, ...], at: int) -> bool:
    """Return whether an include line is a part of something; branches that are skipped are not."""
    around = next((x for x in items if x.span.start <= at < x.span.end), None)
    if around is None or around.kind == "include":
        return False
    return around.kind not in ("namespace", "linkage") or _is_in_function(around.children, at)


def read_files(program: Program) -> tuple[MixedFile, ...]:
    """Read the sources and, each before the first that includes it, the headers.

    Conditions are ignored: what is included anywhere is read.
    """
    defines = "".join(f"#define {name} {text}\n" for name, text in program.defines)
    reader = _Reader(program, list(cuda_text.read(defines).macros))
    for source in program.sources:
        reader.read_source(source)
    return reader.finished()


class _Reader:
    def __init__(self, program: Program, macros: list[Macro]) -> None:
        self.files: list[MixedFile] = []
        self._program = program
        self._macros = macros
        self._seen: set[str] = set()
        self._in_functions: set[str] = set()
        self._device = tuple(map(_slashed, program.device_dirs))
        self._host = tuple(map(_slashed, program.host_dirs))

    def read_source(self, source: MixedSource) -> None:
        self._read(source.name, source.text, source.folder, is_source=True)

    def _read(self, name: str, text: str, folder: str, *, is_source: bool) -> None:
        for match in _INCLUDE.finditer(text):
            found = self._find(match["path"], folder if match["open"] == '"' else "")
            if found.owner == "user" and found.path not in self._seen:
                self._read_header(found.path)
        expanded, cuda = cuda_text.read_expanded(text, macros=self._macros)
        self._macros += cuda.macros
        file = self._file(name, folder, expanded, cuda, is_source=is_source)
        if cuda.problems and not is_source and not _TO_CUT.search(code_alone(text)):
            file = self._whole(file)
        for start, found in file.includes.items():
            if _is_in_function(cuda.items, start):
                self._in_functions.add(found.path)
        self.files.append(file)

    def _file(
        self,
        name: str,
        folder: str,
        expanded: EditedText,
        cuda: CudaText,
        *,
        is_source: bool = False,
        is_whole: bool = False,
    ) -> MixedFile:
        file = MixedFile(name, is_source, is_whole, expanded, cuda, code_alone(cuda.text), {})
        for item in file.include_items():
            beside = folder if item.is_quoted else ""
            file.includes[item.span.start] = self._find(item.path, beside)
        return file

    def _whole(self, file: MixedFile) -> MixedFile:
        """Return a header as one that is not cut."""
        text = file.expanded.original
        cuda = CudaText(text, (), file.cuda.macros, ())
        folder = os.path.dirname(file.name)
        return self._file(file.name, folder, apply(text, ()), cuda, is_whole=True)

    def finished(self) -> tuple[MixedFile, ...]:
        """Return all files; what is a part of a function is not cut."""
        return tuple(
            self._whole(file) if file.name in self._in_functions else file for file in self.files
        )

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
        first, last = ((beside,), self._program.linked_dirs) if beside else ((), ())
        folders = (*first, *self._program.include_dirs, *last, *self._program.device_dirs)
        for folder in folders:
            whole = os.path.join(folder, path)
            if os.path.isfile(whole):
                return self._owned(whole, is_beside=folder in (*first, *last))
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
