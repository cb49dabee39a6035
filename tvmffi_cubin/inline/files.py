"""`read_files`: the files that `load` and `build` are given, each read once, by what it is."""

from __future__ import annotations

import os
from typing import Any

from ..cache.files import file_digest, remember
from ..sources import Source
from .options import paths
from .request import Binary, SourceFiles

_KINDS = {
    "cuda": (".cu",),
    "c++": (".cpp", ".cc", ".cxx"),
    "c": (".c",),
    "binary": (".o", ".obj", ".a", ".so"),
    "image": (".cubin", ".fatbin", ".ptx"),
}


def read_files(
    *, sources: Any = None, cpp_files: Any = None, cuda_files: Any = None
) -> SourceFiles:
    """Read files; which compiler gets one depends on its suffix, whichever argument it is in.

    Relative paths start at the current folder. A file that is there twice counts once.
    """
    given = {"sources": sources, "cpp_files": cpp_files, "cuda_files": cuda_files}
    named = [path for what, value in given.items() for path in paths(what, value)]
    texts: dict[str, list[Source]] = {"cuda": [], "c": [], "c++": []}
    binaries: list[Binary] = []
    images: dict[str, str] = {}
    for path in dict.fromkeys(named):
        if os.path.exists(path) and not os.path.isfile(path):
            raise ValueError(f"{path} is not a regular file, as a source must be")
        kind = _kind(path)
        if kind == "binary":
            binaries.append(_read_binary(path))
        elif kind == "image":
            _add_image(images, path)
        else:
            texts[kind].append(read_source(path, is_cuda=kind == "cuda"))
    cuda, c, cxx = map(tuple, texts.values())
    return SourceFiles(cuda, c, cxx, tuple(binaries), images)


def _kind(path: str) -> str:
    suffix = os.path.splitext(path)[1]
    if suffix == ".C":  # by its suffix in capitals alone, C++ is told from C
        return "c++"
    for kind, suffixes in _KINDS.items():
        if suffix.lower() in suffixes:
            return kind
    known = " ".join(suffix for suffixes in _KINDS.values() for suffix in suffixes)
    raise ValueError(f"{path} cannot be built; supported suffixes: {known}")


def read_source(path: str, *, is_cuda: bool) -> Source:
    """Return a file of text, as its compiler will read it."""
    with open(path, "rb") as file:
        data = file.read()
    # The host compiler reads the file itself; what encodings it takes is its own affair.
    text = _cuda_text(path, data) if is_cuda else data.decode("utf-8", "surrogateescape")
    return Source(text, path)


def _cuda_text(path: str, data: bytes) -> str:
    """Return a CUDA file's text, without the mark (BOM) that editors may put before it."""
    try:
        return data.decode().removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(
            f"{path}:{line}: the byte {data[error.start]:#04x} is not UTF-8: convert the file"
        ) from None


def _read_binary(path: str) -> Binary:
    return Binary(path, remember(f"digest of {path}", lambda: (file_digest(path), [path])))


def _add_image(images: dict[str, str], path: str) -> None:
    name = os.path.splitext(os.path.basename(path))[0]
    if not (name.isascii() and name.isidentifier()) or name in images:
        other = f", which {images[name]} has" if name in images else ", no name that C can have"
        raise ValueError(
            f"{path} would be embedded as {name!r}{other}: give it as "
            f"embed_cubin={{'name': {path!r}}} instead"
        )
    images[name] = path
