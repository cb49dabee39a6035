"""The cache: what was built, found again by its key and by the files that its build read.

Takes keys and finished build folders, gives published ones. Never builds anything itself. A look-up
imports `store` and what that needs; the rest is imported where it is used.

Layout of a cache folder::

    records/<base key>.json     which files builds of this key read → entry keys; also by the key
                                without the tools, for machines that lack them
    entries/<2 hex>/<key>/      what was published: the .so, manifest.json, images, sources
    history/<name>.json         the key fields of what was built last under a module's name
    identity/<hash>.json        what compilers and libraries said about themselves
    locks/<base key>.lock       held while a key is built
    looked                      when somebody last looked whether there is too much
    tmp/<random>/               where a build runs, or failed within the last day

The base key covers all but the contents of the files that a build finds by itself (headers), which
are known only afterwards; together with it they make the entry key.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from typing import Union

Value = Union[None, bool, int, float, str, bytes, "Sequence[Value]", "Mapping[str, Value]"]

# Part of every key: a change of the encoding must change it.
_ENCODING = b"tvmffi_cubin 4"
# How many characters of a field people are shown.
_LONGEST_TEXT = 80


class Key:
    """A set of labelled fields; no two different sets have the same digest.

    The order of fields does not count. An empty sequence or mapping is the same as no field. Keys
    of different purposes never meet.
    """

    def __init__(self, purpose: str) -> None:
        self._purpose = purpose
        self._encoded: dict[str, bytes] = {}

    def add(self, label: str, value: Value) -> Key:
        """Add a field and return this key."""
        if not isinstance(value, (list, tuple, dict)) or value:
            try:
                self._encoded[label] = _encode(value)
            except TypeError as error:
                raise TypeError(f"key field {label!r}: {error}") from None
        return self

    def fields(self) -> dict[str, tuple[str, str]]:
        """Return each field's digest, and the beginning of what it is, for people."""
        return {label: (_sha256(data), _shown(data)) for label, data in self._encoded.items()}

    def hexdigest(self, *, without: Collection[str] = ()) -> str:
        """Return the digest of the fields, but for some: 64 hexadecimal digits."""
        parts = [_ENCODING, self._purpose.encode()]
        for label, data in sorted(self._encoded.items()):
            if label not in without:
                parts += (b"%s %d" % (label.encode(), len(data)), data)
        return _sha256(b"\n".join(parts))


def digest_of(value: Value) -> str:
    """Return the digest of a value; a TypeError where it is none that a key may have."""
    return _sha256(_encode(value))


def _encode(value: Value) -> bytes:
    if isinstance(value, str):
        # As it is, since a source may have megabytes; no JSON begins with an s.
        return b"s" + value.encode("utf-8", "surrogatepass")
    return _json(value).encode()


def _plain(value: Value) -> dict[str, Value]:
    """Return what stands in JSON for a value that JSON has not."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        # An image may have several GiB: it is not copied.
        return {"\0": _sha256(value)}
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"cannot hash a {type(value).__name__}")


# One text for equal values; of two that differ no two.
_json = json.JSONEncoder(sort_keys=True, separators=(",", ":"), default=_plain).encode


def _sha256(data: bytes | bytearray | memoryview) -> str:
    # Not BLAKE2: OpenSSL's SHA-256 uses the CPU's own instructions and is twice as fast.
    return hashlib.sha256(data).hexdigest()


def _shown(data: bytes) -> str:
    if data[:1] == b"s":
        return repr(data[1 : _LONGEST_TEXT + 1].decode("utf-8", "replace"))
    return data[:_LONGEST_TEXT].decode("utf-8", "replace")
