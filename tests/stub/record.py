"""What the stand-in records: a driver call, and a launch with its parameters' bytes."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Any

_CLUSTER_DIMENSION = 4

Dim3 = tuple[int, int, int]


@dataclass(frozen=True)
class Call:
    """One call of a driver function, by its base name, such as ``"cuMemAlloc"``."""

    function: str
    device: int  # of the thread's context, -1 where it had none
    args: dict[str, Any]
    result: int


@dataclass(frozen=True)
class Launch:
    """One launch, by whichever function."""

    function: str
    kernel: str | None  # None where the handle was no kernel
    image: str | None  # architecture of the image that was taken, such as "sm_90a"
    grid: Dim3
    block: Dim3
    cluster: Dim3 | None  # from the attributes
    attributes: dict[int, bytes] = field(repr=False)  # by number, 64 raw bytes each
    dynamic_smem_bytes: int
    stream: int
    device: int  # where the kernel ran, which the stream decides; -1 for a launch that failed
    current_device: int  # of the thread's context, -1 where it had none
    params: tuple[bytes, ...]  # each as many bytes as the image says it has
    result: int

    def values(self, formats: str) -> tuple[Any, ...]:
        """Return the parameters as values, one `struct` character each: ``values("fPPi")``."""
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
            result=call.result,
        )
