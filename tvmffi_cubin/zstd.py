"""Decompresses zstd, what newer tools compress the members of a fatbin to, where that can be done.

Python has a module for it from 3.14 on; before, the package ``zstandard``, if it is installed.
"""

from __future__ import annotations

import importlib
import importlib.util

__all__ = ["decompress", "is_readable", "may_be_in"]

_MAGIC = b"\x28\xb5\x2f\xfd"
# As in image_kind, which would import a reader of PTX here: a cache hit asks `may_be_in`.
_FATBIN = b"\x50\xed\x55\xba"


def may_be_in(image: bytes) -> bool:
    """Whether an image may be a fatbin with a member that is compressed so."""
    return image.startswith(_FATBIN) and _MAGIC in image


def is_readable() -> bool:
    """Whether there is something here that reads it; imports none of it."""
    return any(importlib.util.find_spec(name) for name in ("_zstd", "zstandard"))


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
        if len(found) != size:
            raise ValueError(f"damaged zstd data: it holds {len(found)} bytes, not {size}")
        return bytes(found)
    raise ValueError("it is compressed by zstd: Python 3.14 reads it, or pip install zstandard")
