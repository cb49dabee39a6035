"""JSON files that say of themselves whether they are whole: their last member is a digest."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Mapping
from typing import Any

from .atomic import write_atomically
from .folder import OWN_FILE, SHARED_FILE, is_shared

__all__ = ["read_regular", "read_sealed", "seal", "unseal", "write_sealed"]

_OPENING = b',"seal":"'
_CLOSING = b'"}'
_DIGITS = 64

# No record of ours comes near; a file that somebody swapped for a device may be endless.
_MOST_BYTES = 256 << 20


def seal(content: Mapping[str, Any], name: str) -> bytes:
    """Return a JSON object as text whose last member, ``seal``, is a digest of all before it.

    Parameters
    ----------
    content : mapping
        At least one member; none is called ``seal``.
    name : str
        What it is and of what, such as ``"deps/<base key>"``: a file that is put in the place of
        another does not check, whole as it is.
    """
    text = json.dumps(content, separators=(",", ":"))
    if len(text) < 3 or "seal" in content:
        raise ValueError("what is sealed is a JSON object with members, none of them 'seal'")
    body = text[:-1].encode() + _OPENING
    return body + _digest(body, name) + _CLOSING


def unseal(data: bytes, name: str) -> dict[str, Any]:
    """Return the content of a sealed text.

    Raises
    ------
    ValueError
        It is not what was sealed under that name.
    """
    end = len(data) - len(_CLOSING)
    body = data[: end - _DIGITS]
    if not body.endswith(_OPENING) or data[end:] != _CLOSING:
        raise ValueError("it has no seal, or is cut off")
    if data[end - _DIGITS : end] != _digest(body, name):
        raise ValueError("it is not what was sealed")
    try:
        content = json.loads(data)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(content, dict):
        raise ValueError("it is no JSON object")
    del content["seal"]
    return content


def read_sealed(path: str, name: str) -> dict[str, Any]:
    """Return the content of a sealed file.

    Raises
    ------
    OSError
        It is not there, or cannot be read.
    ValueError
        It is damaged, or belongs elsewhere.
    """
    return unseal(read_regular(path), name)


def write_sealed(
    path: str, name: str, content: Mapping[str, Any], *, durable: bool = False
) -> None:
    """Replace a file by a sealed one, in one step; see `atomic.write_atomically`."""
    shared = is_shared()
    mode = SHARED_FILE if shared else OWN_FILE
    write_atomically(path, seal(content, name), durable=durable, mode=mode, is_exact=shared)


def read_regular(path: str) -> bytes:
    """Return the content of a plain file; whatever else is there is neither waited for nor read.

    Raises
    ------
    OSError
        It is not there, cannot be read.
    ValueError
        It is a pipe, a device or a folder, or larger than any record.
    """
    # Opening a pipe would wait for a writer.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    try:
        info = os.fstat(descriptor)
        if not stat.S_ISREG(info.st_mode) or info.st_size > _MOST_BYTES:
            raise ValueError("it is no plain file, or one that is too large")
        # A byte more than there should be: the usual file is then read at once.
        parts = [os.read(descriptor, info.st_size + 1)]
        while len(parts[-1]) and sum(map(len, parts)) < info.st_size:
            parts.append(os.read(descriptor, info.st_size))
    finally:
        os.close(descriptor)
    return b"".join(parts)


def _digest(body: bytes, name: str) -> bytes:
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass") + b"\0")
    digest.update(body)
    return digest.hexdigest().encode()
