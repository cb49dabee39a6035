"""`LinkRun` and `LinkOutcome`: what nvJitLink is given and what it answers, wherever it runs."""

from __future__ import annotations

import json
from typing import NamedTuple

__all__ = ["LinkOutcome", "LinkRun"]


class LinkRun(NamedTuple):
    """One run of nvJitLink.

    Attributes
    ----------
    options : tuple of str
        nvJitLink's options.
    as_ptx : bool
        Whether PTX is to be read and not a cubin.
    kinds : tuple of str
        What each input is, by its name in `INPUT_TYPES`. In logs they are ``input0``, ``input1``.
    inputs : tuple of bytes
        The inputs, in order.
    """

    options: tuple[str, ...]
    as_ptx: bool
    kinds: tuple[str, ...]
    inputs: tuple[bytes, ...]

    def pack(self) -> bytes:
        """Return it as bytes, for another process."""
        sizes = [len(data) for data in self.inputs]
        head = json.dumps([self.options, self.as_ptx, self.kinds, sizes])
        return b"".join((head.encode(), b"\n", *self.inputs))

    @classmethod
    def unpack(cls, packed: bytes) -> LinkRun:
        """Return what was packed."""
        head, _, rest = packed.partition(b"\n")
        options, as_ptx, kinds, sizes = json.loads(head)
        inputs, start = [], 0
        for size in sizes:
            inputs.append(rest[start : start + size])
            start += size
        return cls(tuple(options), as_ptx, tuple(kinds), tuple(inputs))


class LinkOutcome(NamedTuple):
    """What came out of one run.

    Attributes
    ----------
    refused : str
        What nvJitLink refused: ``"options"``, ``"input"``, ``"link"``; empty where it linked.
    result : int
        Its result.
    position : int
        Which input it refused.
    errors, remarks : str
        Its logs.
    image : bytes
        The cubin, or the PTX; empty where it refused.
    """

    refused: str
    result: int
    position: int
    errors: str
    remarks: str
    image: bytes

    def pack(self) -> bytes:
        """Return it as bytes, for another process."""
        head = json.dumps([*self[:-1], len(self.image)])
        return b"".join((head.encode(), b"\n", self.image))

    @classmethod
    def unpack(cls, packed: bytes) -> LinkOutcome | None:
        """Return what was packed; None where it is not all there."""
        head, _, image = packed.partition(b"\n")
        try:
            refused, result, position, errors, remarks, size = json.loads(head)
        except (ValueError, TypeError):
            return None
        if len(image) != size:
            return None
        return cls(refused, result, position, errors, remarks, image)
