"""`Key`: a content hash over typed, length-framed fields; `file_digest`: that of one file."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Mapping, Sequence
from typing import Union

__all__ = ["SCHEMA", "Key", "Value", "file_digest"]

# Part of every key: a change of the encoding, or of what a field means, must change this number,
# so that what an older version stored is not found again.
SCHEMA = 1

Value = Union[None, bool, int, float, str, bytes, "Sequence[Value]", "Mapping[str, Value]"]

_CHUNK = 1 << 20


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
        self._hash = hashlib.sha256()
        self._put("tvmffi_cubin")
        self._put(SCHEMA)
        self._put(purpose)

    def add(self, label: str, value: Value) -> Key:
        """Append one field and return this key.

        Raises
        ------
        TypeError
            If a value is of a type that has no unambiguous encoding here.
        """
        if not isinstance(label, str):
            raise TypeError(f"a key's label must be str, got {type(label).__name__}")
        copy = self._hash.copy()
        try:
            self._put(label)
            self._put(value)
        except TypeError as error:
            self._hash = copy
            raise TypeError(f"key field {label!r}: {error}") from None
        return self

    def hexdigest(self) -> str:
        """Return the digest of the fields so far: 64 hexadecimal digits."""
        return self._hash.hexdigest()

    def _frame(self, tag: bytes, payload: bytes | bytearray | memoryview) -> None:
        self._hash.update(b"%c%d:" % (tag, len(payload)))
        self._hash.update(payload)

    def _put(self, value: Value) -> None:
        if isinstance(value, str):
            # File names may hold lone surrogates, which plain UTF-8 refuses.
            self._frame(b"s", value.encode("utf-8", "surrogatepass"))
        elif value is None:
            self._frame(b"n", b"")
        elif isinstance(value, bool):
            self._frame(b"b", b"1" if value else b"0")
        elif isinstance(value, int):
            self._frame(b"i", b"%x" % value)
        elif isinstance(value, float):
            self._frame(b"f", struct.pack("<d", value))
        elif isinstance(value, (bytes, bytearray, memoryview)):
            self._frame(b"y", memoryview(value).cast("B"))
        elif isinstance(value, Mapping):
            self._put_mapping(value)
        elif isinstance(value, Sequence):
            self._hash.update(b"l%d:" % len(value))
            for item in value:
                self._put(item)
        else:
            raise TypeError(
                f"cannot hash a {type(value).__name__}; pass None, bool, int, float, str, bytes, "
                "or a sequence or mapping of those"
            )

    def _put_mapping(self, value: Mapping[str, Value]) -> None:
        for name in value:
            if not isinstance(name, str):
                raise TypeError(f"a mapping's keys must be str, got {type(name).__name__}")
        self._hash.update(b"m%d:" % len(value))
        for name in sorted(value):
            self._put(name)
            self._put(value[name])


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
