"""`read_files`: the files that `load` and `build` are given, each read once, by what it is."""

from __future__ import annotations

import errno
import os
import stat
from functools import partial
from typing import Any

from ..cache import memo
from ..cache.files import file_digest
from ..launches.export import identifier
from ..sources.source import Source, source_text
from .options import paths
from .request import Binary, SourceFiles

_KINDS = {
    ".cu": "cuda",
    ".cpp": "c++",
    ".cc": "c++",
    ".cxx": "c++",
    ".c": "c",
    ".o": "binary",
    ".obj": "binary",
    ".a": "binary",
    ".so": "binary",
    ".cubin": "image",
    ".fatbin": "image",
    ".ptx": "image",
}
_HEADERS = (".h", ".hh", ".hpp", ".hxx", ".cuh", ".inc", ".inl", ".ipp", ".tpp")


def read_files(
    *, sources: Any = None, cpp_files: Any = None, cuda_files: Any = None
) -> SourceFiles:
    """Read files; which compiler gets one depends on its suffix, whichever argument it is in.

    Relative paths start at the current folder. A file that is there twice counts once.

    Raises
    ------
    OSError
        A file is missing or cannot be read.
    TypeError, ValueError
        One is not of a kind that is known, or not what its suffix says.
    """
    given = {"sources": sources, "cpp_files": cpp_files, "cuda_files": cuda_files}
    named = [path for what, value in given.items() for path in paths(what, value)]
    texts: dict[str, list[Source]] = {"cuda": [], "c": [], "c++": []}
    binaries: list[Binary] = []
    images: dict[str, str] = {}
    for path in dict.fromkeys(named):
        _check_is_file(path)
        kind = _kind(path)
        if kind == "binary":
            binaries.append(_read_binary(path))
        elif kind == "image":
            _add_image(images, path)
        else:
            texts[kind].append(_read_source(path, is_cuda=kind == "cuda"))
    cuda, c, cxx = map(tuple, texts.values())
    return SourceFiles(cuda, c, cxx, tuple(binaries), images)


def _check_is_file(path: str) -> None:
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        text = f"there is no such source (the current folder is {os.getcwd()!r})"
        raise FileNotFoundError(errno.ENOENT, text, path) from None
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "a source is a file, this is a folder", path)
    if not stat.S_ISREG(mode):
        raise ValueError(f"{path} is a device or a pipe: a source is a file that can be read twice")


def _kind(path: str) -> str:
    suffix = os.path.splitext(path)[1]
    # By its suffix in capitals alone, C++ is told from C.
    kind = "c++" if suffix == ".C" else _KINDS.get(suffix.lower())
    if kind is not None:
        return kind
    if suffix.lower() in _HEADERS:
        raise ValueError(
            f"{path} is a header: leave it out, sources include it; the folder of each source is "
            "searched, extra_include_paths names others"
        )
    raise ValueError(f"{path} has the suffix {suffix!r}: known are {' '.join(_KINDS)}")


def _read_source(path: str, *, is_cuda: bool) -> Source:
    with open(path, "rb") as file:
        data = file.read()
    real_folder = os.path.dirname(os.path.realpath(path)) if os.path.islink(path) else None
    # The host compiler reads the file itself; what encodings it takes is its own affair.
    text = source_text(path, data) if is_cuda else data.decode("utf-8", "surrogateescape")
    return Source(text, path, real_folder)


def _read_binary(path: str) -> Binary:
    if not os.path.getsize(path):
        raise ValueError(f"{path} is empty: there is nothing to link")
    return Binary(path, memo.remember(path, partial(file_digest, path), what="digest"))


def _add_image(images: dict[str, str], path: str) -> None:
    name = os.path.splitext(os.path.basename(path))[0]
    remedy = f"give it as embed_cubin={{'name': {path!r}}} instead"
    try:
        identifier(path, name)
    except ValueError as error:
        raise ValueError(f"{error}, as an image's file must be; {remedy}") from None
    if name in images:
        raise ValueError(f"{images[name]} and {path} would both be embedded as {name!r}; {remedy}")
    images[name] = path
