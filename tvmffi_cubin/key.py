"""`Key`: a content hash over typed, length-framed fields; the digests of a value and of a file."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Mapping, Sequence
from typing import Union

__all__ = ["SCHEMA", "Key", "Value", "digest_of", "file_digest", "is_key"]

# Part of every key: a change of the encoding, or of what a field means, must change this number,
# so that what an older version stored is not found again.
SCHEMA = 1

Value = Union[None, bool, int, float, str, bytes, "Sequence[Value]", "Mapping[str, Value]"]

_CHUNK = 1 << 20
# Up to so many bytes it is faster to copy the parts into one than to hash each.
_LITTLE = 1 << 16


class Key:
    """A hash over fields in order: no two different lists of fields give the same bytes to hash.

    Every label and every value is written as a type tag, a length and a payload. Lists and tuples
    count as the same type; a mapping counts as the set of its items, whatever their order.

    Parameters
    ----------
    purpose : str
        What the key is for; keys of different purposes never meet.
    """

    def __init__(self, purpose: str) -> None:
        # SHA-256 and not BLAKE2: OpenSSL's uses the CPU's own instructions and is twice as fast.
        self._hash = _BEGINNING.copy()
        parts: list[bytes | memoryview] = []
        _encode(purpose, parts)
        self._hash.update(parts[0])

    def add(self, label: str, value: Value) -> Key:
        """Append one field and return this key.

        Raises
        ------
        TypeError
            If a value is of a type that has no unambiguous encoding here.
        """
        if not isinstance(label, str):
            raise TypeError(f"a key's label must be str, got {type(label).__name__}")
        parts: list[bytes | memoryview] = []
        try:
            _encode(label, parts)
            _encode(value, parts)
        except TypeError as error:
            raise TypeError(f"key field {label!r}: {error}") from None
        for part in parts:
            self._hash.update(part)
        return self

    def hexdigest(self) -> str:
        """Return the digest of the fields so far: 64 hexadecimal digits."""
        return self._hash.hexdigest()


def digest_of(value: Value) -> str:
    """Return the digest of a value's encoding: 64 hexadecimal digits.

    Raises
    ------
    TypeError
        If it is of a type that has no unambiguous encoding here.
    """
    parts: list[bytes | memoryview] = []
    _encode(value, parts)
    if sum(map(len, parts)) < _LITTLE:
        return hashlib.sha256(b"".join(parts)).hexdigest()
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.hexdigest()


def _encode(value: Value, parts: list[bytes | memoryview]) -> None:
    if isinstance(value, str):
        # File names may hold lone surrogates, which plain UTF-8 refuses.
        payload = value.encode("utf-8", "surrogatepass")
        parts.append(b"s%d:%b" % (len(payload), payload))
    elif value is None:
        parts.append(b"n0:")
    elif isinstance(value, bool):
        parts.append(b"b1:1" if value else b"b1:0")
    elif isinstance(value, int):
        number = b"%x" % value
        parts.append(b"i%d:%b" % (len(number), number))
    elif isinstance(value, float):
        parts.append(b"f8:" + struct.pack("<d", value))
    elif isinstance(value, (bytes, bytearray, memoryview)):
        # An image may have several GiB: it is not copied.
        view = memoryview(value).cast("B")
        parts += (b"y%d:" % len(view), view)
    # The plain types first: to ask an abstract class about a type takes long.
    elif isinstance(value, (list, tuple)):
        _encode_items(value, parts)
    elif isinstance(value, (dict, Mapping)):
        _encode_mapping(value, parts)
    elif isinstance(value, Sequence):
        _encode_items(value, parts)
    else:
        raise TypeError(
            f"cannot hash a {type(value).__name__}; pass None, bool, int, float, str, bytes, "
            "or a sequence or mapping of those"
        )


def _encode_items(value: Sequence[Value], parts: list[bytes | memoryview]) -> None:
    parts.append(b"l%d:" % len(value))
    for item in value:
        _encode(item, parts)


def _encode_mapping(value: Mapping[str, Value], parts: list[bytes | memoryview]) -> None:
    for name in value:
        if not isinstance(name, str):
            raise TypeError(f"a mapping's keys must be str, got {type(name).__name__}")
    parts.append(b"m%d:" % len(value))
    for name in sorted(value):
        _encode(name, parts)
        _encode(value[name], parts)


def _beginning() -> hashlib._Hash:
    parts: list[bytes | memoryview] = []
    for value in ("tvmffi_cubin", SCHEMA):
        _encode(value, parts)
    return hashlib.sha256(b"".join(parts))


# The first hash of a process takes OpenSSL longer than all of a key.
_BEGINNING = _beginning()


def is_key(text: object) -> bool:
    """Whether something is a key as `Key.hexdigest` gives it, and so fit to be a file's name."""
    return isinstance(text, str) and len(text) == 64 and not text.strip("0123456789abcdef")


def file_digest(path: str) -> str:
    """Return the SHA-256 of a file's content: 64 hexadecimal digits.

    Raises
    ------
    OSError
        If the file cannot be read.
    """
    digest = hashlib.sha256()
    with open(path, "rb", buffering=0) as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
