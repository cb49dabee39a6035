"""What the stand-in records: a driver call, and a launch with its parameters' bytes."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Call", "Launch"]

_CLUSTER_DIMENSION = 4

Dim3 = tuple[int, int, int]


@dataclass(frozen=True)
class Call:
    """One call of a driver function.

    Attributes
    ----------
    function : str
        Base name, such as ``"cuMemAlloc"``.
    thread : int
        The kernel's id of the calling thread.
    device : int
        The device of the thread's context at the call, -1 where it had none.
    args : dict
        Its main arguments.
    result : int
        What it returned.
    """

    function: str
    thread: int
    device: int
    args: dict[str, Any]
    result: int


@dataclass(frozen=True)
class Launch:
    """One launch, by whichever function.

    Attributes
    ----------
    function : str
        ``"cuLaunchKernelEx"``, ``"cuLaunchKernel"`` or ``"cuLaunchCooperativeKernel"``.
    kernel : str or None
        Symbol in the image; None where the handle was no kernel.
    image : str or None
        Architecture of the image that was taken, such as ``"sm_90a"``.
    grid, block : tuple of int
        As given: in blocks, in threads.
    cluster : tuple of int or None
        From the launch's attributes; None without such an attribute.
    attributes : dict of int to bytes
        All attributes, by CU_LAUNCH_ATTRIBUTE number, each value's 64 raw bytes.
    stream : int
        As given; 0 is the default stream.
    device : int
        Where the kernel ran, which the stream decides; -1 where the launch came to nothing.
    current_device : int
        The device of the thread's context, -1 where it had none.
    params : tuple of bytes
        Each parameter, as many bytes as the image says it has.
    thread, result : int
        As in `Call`.
    """

    function: str
    kernel: str | None
    image: str | None
    grid: Dim3
    block: Dim3
    cluster: Dim3 | None
    attributes: dict[int, bytes] = field(repr=False)
    dynamic_smem_bytes: int
    stream: int
    device: int
    current_device: int
    params: tuple[bytes, ...]
    thread: int
    result: int

    def values(self, formats: str) -> tuple[Any, ...]:
        """Return the parameters as values, one `struct` character each: ``values("fPPi")``."""
        if len(formats) != len(self.params):
            raise ValueError(f"{self.kernel} has {len(self.params)} parameters, not {formats!r}")
        pairs = zip(formats, self.params, strict=True)
        return tuple(struct.unpack(f"<{'Q' if f == 'P' else f}", data)[0] for f, data in pairs)

    @classmethod
    def of(cls, call: Call) -> Launch:
        """Return the launch that a call was."""
        args = call.args
        attributes = {number: bytes.fromhex(value) for number, value in args.get("attributes", [])}
        cluster = attributes.get(_CLUSTER_DIMENSION)
        return cls(
            function=call.function,
            kernel=args.get("kernel"),
            image=args.get("image"),
            grid=tuple(args.get("grid", (0, 0, 0))),
            block=tuple(args.get("block", (0, 0, 0))),
            cluster=struct.unpack_from("<3I", cluster) if cluster else None,
            attributes=attributes,
            dynamic_smem_bytes=args.get("dynamic_smem_bytes", 0),
            stream=args.get("stream", 0),
            device=args.get("launched_on", -1),
            current_device=call.device,
            params=tuple(bytes.fromhex(value) for value in args.get("params", [])),
            thread=call.thread,
            result=call.result,
        )
