"""`read_files`: the files passed to `load` and `build`, each read once and sorted by kind."""

from __future__ import annotations

import os
from typing import Any

from ..cache.files import file_digest, remember
from .options import paths
from .request import Binary, Source, SourceFiles

_KINDS = {
    ".cu": "cuda",
    ".c": "c",
    **dict.fromkeys((".cpp", ".cc", ".cxx", ".C"), "c++"),
    **dict.fromkeys((".o", ".obj", ".a", ".so"), "binary"),
    **dict.fromkeys((".cubin", ".fatbin", ".ptx"), "image"),
}


def read_files(**given: Any) -> SourceFiles:
    """Read the files of some arguments; the suffix alone determines a file's kind.

    Relative paths start at the current folder. A file listed twice counts once.
    """
    named = [path for what, value in given.items() for path in paths(what, value)]
    texts: dict[str, list[Source]] = {"cuda": [], "c": [], "c++": []}
    binaries: list[Binary] = []
    images: dict[str, str] = {}
    for path in dict.fromkeys(named):
        name, suffix = os.path.splitext(os.path.basename(path))
        if suffix not in _KINDS:
            raise ValueError(f"cannot build {path}; supported suffixes: {' '.join(_KINDS)}")
        kind = _KINDS[suffix]
        if kind in texts:
            texts[kind].append(read_source(path, kind))
        elif kind == "binary":
            binaries.append(_read_binary(path))
        elif name in images or not (name.isascii() and name.isidentifier()):
            raise ValueError(
                f"{path} would be embedded as {name!r}, which is not a C identifier or names "
                f"another file: pass embed_cubin={{'name': {path!r}}} instead"
            )
        else:
            images[name] = path
    cuda, c, cxx = map(tuple, texts.values())
    return SourceFiles(cuda, c, cxx, tuple(binaries), images)


def read_source(path: str, kind: str) -> Source:
    """Read a source file as its compiler will."""
    with open(path, "rb") as file:
        data = file.read()
    if kind != "cuda":
        # The compiler reads the file itself, and decides which encodings it accepts.
        return Source(data.decode("utf-8", "surrogateescape"), path)
    try:
        return Source(data.decode("utf-8-sig"), path)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(f"{path}:{line}: {error}: convert the file to UTF-8") from None


def _read_binary(path: str) -> Binary:
    return Binary(path, remember(f"digest of {path}", lambda: (file_digest(path), [path])))
