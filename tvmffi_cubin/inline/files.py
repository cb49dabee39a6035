"""`SourceFiles`: the files that `load` and `build` are given, each read once, by what it is."""

from __future__ import annotations

import codecs
import errno
import os
import stat
from collections.abc import Iterable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

from ..cache import memo
from ..cache.files import file_digest
from ..cache.key import Key
from ..launches.export import identifier
from ..sources.source import Source

__all__ = ["Binary", "EmbeddedFile", "SourceFiles", "read_files", "source_text"]

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
# What no build file can hold.
_UNWRITABLE = "\n\r\0"


class Binary(NamedTuple):
    """A file for the linker: an object, an archive or a shared library."""

    path: str
    digest: str

    @property
    def is_shared(self) -> bool:
        """Whether it stays a file of its own, which is looked for at run time."""
        return self.path.lower().endswith(".so")


class EmbeddedFile(NamedTuple):
    """A file to embed."""

    path: str
    data: bytes

    @property
    def is_ptx(self) -> bool:
        """Whether it is to be PTX, by its suffix."""
        return self.path.lower().endswith(".ptx")


class SourceFiles(NamedTuple):
    """Files by what becomes of them, in the order given.

    Attributes
    ----------
    cuda : tuple of Source
        CUDA files, for NVRTC or the host compiler.
    c, cxx : tuple of Source
        C and C++ files, each a translation unit. What is no UTF-8 in their text is escaped.
    binaries : tuple of Binary
        Files for the linker.
    images : mapping of str to EmbeddedFile
        Images to embed, by the name that they get.
    """

    cuda: tuple[Source, ...] = ()
    c: tuple[Source, ...] = ()
    cxx: tuple[Source, ...] = ()
    binaries: tuple[Binary, ...] = ()
    images: Mapping[str, EmbeddedFile] = MappingProxyType({})

    def __bool__(self) -> bool:
        """Whether there is any file."""
        return bool(self.cuda or self.c or self.cxx or self.binaries or self.images)

    def add_to(self, key: Key) -> None:
        """Add the files to a key; images belong to the request."""
        # With their paths: messages, __FILE__ and debug information have them, and headers are
        # searched from there.
        for label in ("cuda", "c", "cxx"):
            key.add(f"{label}_files", [list(source) for source in getattr(self, label)])
        # Of what is copied into the module the content alone matters, wherever it lies.
        binaries = [[x.path if x.is_shared else "", x.digest] for x in self.binaries]
        key.add("binaries", binaries)


def read_files(
    *, sources: Any = None, cpp_files: Any = None, cuda_files: Any = None
) -> SourceFiles:
    """Read files; which compiler gets one depends on its suffix, whichever argument it is in.

    Parameters
    ----------
    sources, cpp_files, cuda_files : path or sequence of path, optional
        The files; relative paths start at the current folder. One that is there twice counts once.

    Raises
    ------
    OSError
        A file is missing or cannot be read.
    TypeError, ValueError
        One is not of a kind that is known, or not what its suffix says.
    """
    given = {"sources": sources, "cpp_files": cpp_files, "cuda_files": cuda_files}
    paths = [path for what, value in given.items() for path in _paths(what, value)]
    found: dict[str, list[Any]] = {kind: [] for kind in _KINDS.values()}
    images: dict[str, EmbeddedFile] = {}
    for path in dict.fromkeys(map(_absolute, paths)):
        kind = _kind(path)
        if kind == "image":
            _add_image(images, path)
        elif kind == "binary":
            _check_is_file(path)
            if not os.path.getsize(path):
                raise ValueError(f"{path} is empty: there is nothing to link")
            digest = memo.remember(path, partial(file_digest, path), what="digest")
            found[kind].append(Binary(path, digest))
        else:
            found[kind].append(_read_source(path, strict=kind == "cuda"))
    return SourceFiles(
        cuda=tuple(found["cuda"]),
        c=tuple(found["c"]),
        cxx=tuple(found["c++"]),
        binaries=tuple(found["binary"]),
        images=images,
    )


def source_text(path: str, data: bytes) -> str:
    """Return a CUDA file's text, without the mark (BOM) that editors may put before it.

    Raises
    ------
    ValueError
        It is no UTF-8 or holds a NUL; the message has the file, the line and the remedy.
    """
    try:
        text = data.decode().removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        problem = f"line {line} holds the byte {data[error.start]:#04x}"
        encoding = "latin1"
        if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            problem, encoding = "it begins as UTF-16 does", "utf-16"
        raise ValueError(
            f"{path} is no UTF-8 text: {problem}; convert it, for example: "
            f"iconv -f {encoding} -t utf-8"
        ) from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise ValueError(f"{path} holds a NUL character in line {line}: it is no source text")
    return text


def _paths(what: str, value: Any) -> list[str]:
    if value is None:
        return []
    items = (value,) if isinstance(value, str | os.PathLike) else value
    if isinstance(items, bytes | Mapping) or not isinstance(items, Iterable):
        raise TypeError(f"{what} is a path or a sequence of paths, got {type(value).__name__}")
    paths = []
    for item in items:
        if not isinstance(item, str | os.PathLike):
            raise TypeError(f"{what} holds paths, got {type(item).__name__}")
        path = os.fspath(item)
        if not isinstance(path, str):
            raise TypeError(f"{what} holds paths of bytes, wanted str: use os.fsdecode")
        if not path.strip():
            raise ValueError(f"{what} holds an empty path")
        if any(character in path for character in _UNWRITABLE):
            raise ValueError(
                f"{what} holds {path!r}: no build file can express a path with line breaks or NUL; "
                "rename it"
            )
        paths.append(path)
    return paths


def _absolute(path: str) -> str:
    folder, name = os.path.split(path)
    # Only the file system knows what ".." after a symbolic link is.
    if ".." in folder.split(os.sep):
        return os.path.join(os.path.realpath(folder), name)
    return os.path.abspath(path)


def _kind(path: str) -> str:
    suffix = os.path.splitext(path)[1]
    # By its suffix in capitals alone, C++ is told from C.
    kind = "c++" if suffix == ".C" else _KINDS.get(suffix.lower())
    if kind is not None:
        return kind
    if os.path.isdir(path):
        raise IsADirectoryError(errno.EISDIR, "a source is a file, this is a folder", path)
    known = " ".join(_KINDS)
    if suffix.lower() in _HEADERS:
        raise ValueError(
            f"{path} is a header: leave it out, sources include it; the folder of each source is "
            "searched, extra_include_paths names others"
        )
    _mode(path)
    raise ValueError(f"{path} has the suffix {suffix!r}: known are {known}")


def _missing() -> str:
    return f"there is no such source (the current folder is {os.getcwd()!r})"


def _read(path: str) -> bytes:
    _check_is_file(path)
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise _unreadable(error, path) from None


def _unreadable(error: OSError, path: str) -> OSError:
    return OSError(error.errno, f"the source cannot be read: {error.strerror}", path)


def _mode(path: str) -> int:
    """Return what kind of file a path leads to; raises OSError."""
    try:
        return os.stat(path).st_mode
    except FileNotFoundError:
        raise FileNotFoundError(errno.ENOENT, _missing(), path) from None
    except OSError as error:
        # A folder that may not be entered, links that lead to each other.
        raise _unreadable(error, path) from None


def _check_is_file(path: str) -> None:
    mode = _mode(path)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "a source is a file, this is a folder", path)
    if not stat.S_ISREG(mode):
        raise ValueError(f"{path} is a device or a pipe: a source is a file that can be read twice")


def _read_source(path: str, *, strict: bool) -> Source:
    data = _read(path)
    real_folder = os.path.dirname(os.path.realpath(path)) if os.path.islink(path) else None
    if not strict:
        # The compiler reads the file itself; what encodings it takes is its own affair.
        return Source(data.decode("utf-8", "surrogateescape"), path, real_folder)
    return Source(source_text(path, data), path, real_folder)


def _add_image(images: dict[str, EmbeddedFile], path: str) -> None:
    name = os.path.splitext(os.path.basename(path))[0]
    remedy = f"give it as embed_cubin={{'name': {path!r}}} instead"
    try:
        identifier(path, name)
    except ValueError as error:
        raise ValueError(f"{error}, as an image's file must be; {remedy}") from None
    if name in images:
        raise ValueError(
            f"{images[name].path} and {path} would both be embedded as {name!r}; {remedy}"
        )
    images[name] = EmbeddedFile(path, _read(path))
