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
    "c": (".c",),
    "c++": (".cpp", ".cc", ".cxx", ".C"),
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
        kind = _kind(path)
        if kind == "binary":
            binaries.append(_read_binary(path))
        elif kind == "image":
            _add_image(images, path)
        else:
            texts[kind].append(read_source(path, kind))
    cuda, c, cxx = map(tuple, texts.values())
    return SourceFiles(cuda, c, cxx, tuple(binaries), images)


def _kind(path: str) -> str:
    suffix = os.path.splitext(path)[1]
    for kind, suffixes in _KINDS.items():
        if suffix in suffixes:
            return kind
    known = " ".join(suffix for suffixes in _KINDS.values() for suffix in suffixes)
    raise ValueError(f"{path} cannot be built; supported suffixes: {known}")


def read_source(path: str, kind: str) -> Source:
    """Return a file of text, as its compiler will read it."""
    with open(path, "rb") as file:
        data = file.read()
    if kind != "cuda":
        # The compiler reads the file itself; what encodings it takes is its own affair.
        return Source(data.decode("utf-8", "surrogateescape"), path)
    try:
        return Source(data.decode("utf-8-sig"), path)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(f"{path}:{line}: {error}: convert the file to UTF-8") from None


def _read_binary(path: str) -> Binary:
    return Binary(path, remember(f"digest of {path}", lambda: (file_digest(path), [path])))


def _add_image(images: dict[str, str], path: str) -> None:
    name = os.path.splitext(os.path.basename(path))[0]
    if not (name.isascii() and name.isidentifier()) or name in images:
        raise ValueError(
            f"{path} would be embedded as {name!r}, no name that C can have, or one that another "
            f"file has: give it as embed_cubin={{'name': {path!r}}} instead"
        )
    images[name] = path
