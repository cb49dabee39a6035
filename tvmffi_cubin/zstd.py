"""zstd, what newer tools compress the members of a fatbin to, where something here can do it.

Python has a module for it from 3.14 on; before, the package ``zstandard``, if it is installed, or
zstd's own library, which most systems have, for their package managers need it.
"""

from __future__ import annotations

import ctypes
import importlib
import importlib.util
from collections.abc import Callable
from functools import cache

__all__ = ["compressor", "decompress", "is_readable", "may_be_in"]

_MAGIC = b"\x28\xb5\x2f\xfd"
# As in image_kind, which would import a reader of PTX here: a cache hit asks `may_be_in`.
_FATBIN = b"\x50\xed\x55\xba"
_LIBRARY = "libzstd.so.1"

# Of a module's bytes level 9 saves 5 %, and takes seven times as long.
_LEVEL = 3


def may_be_in(image: bytes) -> bool:
    """Whether an image may be a fatbin with a member that is compressed so."""
    return image.startswith(_FATBIN) and _MAGIC in image


def is_readable() -> bool:
    """Whether there is something here that reads it; imports none of it."""
    named = any(importlib.util.find_spec(name) for name in ("_zstd", "zstandard"))
    return named or _library() is not None


def compressor() -> Callable[[bytes], bytes] | None:
    """Return what compresses bytes, None where Python has no module for it."""
    for name in ("compression.zstd", "zstandard"):
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        if name == "zstandard":
            made: Callable[[bytes], bytes] = module.ZstdCompressor(level=_LEVEL).compress
            return made
        return lambda data: bytes(module.compress(data, _LEVEL))
    return None


def decompress(data: bytes, size: int) -> bytes:
    """Return the `size` bytes that `data` stands for.

    Raises
    ------
    ValueError
        It is damaged, or nothing here reads it; the message says what would.
    """
    for name in ("compression.zstd", "zstandard"):
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        try:
            if name == "zstandard":
                with module.ZstdDecompressor().stream_reader(data) as reader:
                    found = reader.read(size + 1)
            else:
                found = module.ZstdDecompressor().decompress(data, size + 1)
        except module.ZstdError as error:
            raise ValueError(f"damaged zstd data: {error}") from None
        return _checked(found, size)
    library = _library()
    if library is None:
        raise ValueError(
            "it is compressed by zstd: Python 3.14 reads it, or pip install zstandard, or the "
            f"system's {_LIBRARY}"
        )
    return _by_library(library, data, size)


@cache
def _library() -> ctypes.CDLL | None:
    try:
        library = ctypes.CDLL(_LIBRARY)
    except OSError:
        return None
    library.ZSTD_decompress.restype = ctypes.c_size_t
    library.ZSTD_decompress.argtypes = [
        *(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t),
    ]
    library.ZSTD_isError.argtypes = [ctypes.c_size_t]
    library.ZSTD_getErrorName.restype = ctypes.c_char_p
    library.ZSTD_getErrorName.argtypes = [ctypes.c_size_t]
    return library


def _by_library(library: ctypes.CDLL, data: bytes, size: int) -> bytes:
    buffer = ctypes.create_string_buffer(max(1, size))
    written = library.ZSTD_decompress(buffer, size, data, len(data))
    if library.ZSTD_isError(written):
        raise ValueError(f"damaged zstd data: {library.ZSTD_getErrorName(written).decode()}")
    return _checked(buffer.raw[:written], size)


def _checked(found: bytes, size: int) -> bytes:
    if len(found) != size:
        raise ValueError(f"damaged zstd data: it holds {len(found)} bytes, not {size}")
    return bytes(found)
