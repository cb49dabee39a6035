"""Bytes in an envelope: compressed, and believed only with its tag, which is checked first.

What lies where others can write (a remote, an archive that was handed on) is taken for a user's own
only with the user's key. The tag covers what the bytes are for and the name that they lie under, so
that none serves as another. Nothing is decompressed or parsed before the tag is right.
"""

from __future__ import annotations

import hashlib
import hmac
import struct
import zlib
from collections.abc import Sequence

from .kernels.fatbin import unzstd, zstd_module

__all__ = ["LEAST_KEY", "is_signed", "pack", "unpack"]

LEAST_KEY = 16
"""How many bytes a key has at least."""

# As PNG's: damage by a transfer as text shows in the first bytes.
_MAGIC = b"\x89tcb\r\n\x1a\n"
_VERSION = 1
_SIGNED, _UNSIGNED = b"S", b"U"

# Magic, version, whose tag, form of compression, bytes once it is decompressed, tag.
_HEAD = struct.Struct("<8sBccQ32s")
_BEFORE_TAG = _HEAD.size - 32

_ZSTD, _ZLIB = b"z", b"d"
# zstd's; of a module's bytes level 9 saves 5 %, and takes seven times as long.
_LEVEL = 3


def pack(data: bytes, *, purpose: str, name: str, key: bytes | None) -> bytes:
    """Return the envelope of some bytes: the same for the same arguments.

    Parameters
    ----------
    data : bytes
        What goes in.
    purpose, name : str
        What it is for, and the name under which it will be found: it opens with these only.
    key : bytes, optional
        The user's secret. Without it the tag is a mere digest, which tells damage and no stranger.

    Raises
    ------
    ValueError
        If the key is too short to be one.
    """
    zstd = zstd_module()
    form = _ZSTD if zstd else _ZLIB
    body = bytes(zstd.compress(data, _LEVEL)) if zstd else zlib.compress(data)
    kind = _UNSIGNED if key is None else _SIGNED
    head = _HEAD.pack(_MAGIC, _VERSION, kind, form, len(data), bytes(32))[:_BEFORE_TAG]
    return b"".join((head, _tag(head, body, purpose, name, key), body))


def unpack(envelope: bytes, *, purpose: str, name: str, key: bytes | None, limit: int) -> bytes:
    """Return the bytes in an envelope.

    Parameters
    ----------
    envelope : bytes
        From `pack`, if the tag is to be believed.
    purpose, name : str
        As they were packed.
    key : bytes, optional
        The user's secret. Without it only what is unsigned opens.
    limit : int
        How many bytes to decompress at most.

    Raises
    ------
    ValueError
        If it is none, is damaged, was packed for something else or by somebody else, or holds more
        than `limit` bytes.
    """
    if len(envelope) < _HEAD.size or not envelope.startswith(_MAGIC):
        raise ValueError("it is no bundle")
    _, version, kind, form, size, tag = _HEAD.unpack_from(envelope)
    if version != _VERSION:
        raise ValueError(f"it is a bundle of version {version}, this package reads {_VERSION}")
    if kind != (_UNSIGNED if key is None else _SIGNED):
        raise ValueError("it is unsigned" if kind == _UNSIGNED else "it is signed with a key")
    view = memoryview(envelope)
    body = view[_HEAD.size :]
    wanted = _tag(view[:_BEFORE_TAG], body, purpose, name, key)
    if not hmac.compare_digest(tag, wanted):
        raise ValueError(
            "it is damaged" if key is None else "it is damaged, or was signed with another key"
        )
    if size > limit:
        raise ValueError(f"it holds {size} bytes, at most {limit} are taken")
    return unzstd(bytes(body), size) if form == _ZSTD else _inflate(body, size)


def is_signed(envelope: bytes) -> bool:
    """Whether an envelope says that it is signed; only `unpack` tells whether that is true."""
    return envelope.startswith(_MAGIC) and envelope[9:10] == _SIGNED


def _tag(
    head: bytes | memoryview,
    body: bytes | memoryview,
    purpose: str,
    name: str,
    key: bytes | None,
) -> bytes:
    if key is not None and len(key) < LEAST_KEY:
        raise ValueError(f"a key has at least {LEAST_KEY} bytes, got {len(key)}")
    made = hashlib.sha256() if key is None else hmac.new(key, digestmod=hashlib.sha256)
    fields: Sequence[bytes | memoryview] = (head, purpose.encode(), name.encode(), body)
    for part in fields:
        made.update(struct.pack("<Q", len(part)))
        made.update(part)
    return made.digest()


def _inflate(body: memoryview, size: int) -> bytes:
    reader = zlib.decompressobj()
    try:
        found = reader.decompress(body, size + 1)
    except zlib.error as error:
        raise ValueError(f"damaged zlib data: {error}") from None
    if len(found) != size or not reader.eof:
        raise ValueError(f"damaged zlib data: it does not hold {size} bytes")
    return found
