"""`Image` as JSON values beside its image, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .device.image import Image
from .device.signature import KernelSignature
from .kernels.cubin import Cubin
from .kernels.types import CxxType, Param, Pointee
from .sources.source import DEVICE_IMAGE

__all__ = ["read_device", "record_device"]


def record_device(device: Image) -> dict[str, Any]:
    """Return all that is known of an image but its bytes, as JSON values."""
    rows = []
    for signature in device.signatures:
        # The image itself tells what it uses.
        rows.append({k: v for k, v in signature._asdict().items() if k not in ("kernel", "params")})
        rows[-1]["params"] = signature.params
    return {"cubin": device.cubin.facts, "signatures": rows}


def read_device(image: bytes, said: Mapping[str, Any]) -> Image:
    """Return what `record_device` was given, of the image's bytes and of what it said."""
    cubin = Cubin(image, **said["cubin"])
    kernels = {kernel.name: kernel for kernel in cubin.kernels}
    signatures = []
    for row in said["signatures"]:
        params = tuple(map(_param, row["params"]))
        more = {**row, "params": params, "kernel": kernels[row["symbol"]]}
        signatures.append(KernelSignature(**more))
    return Image(DEVICE_IMAGE, cubin, tuple(signatures))


def _param(row: Sequence[Any]) -> Param:
    name, (spelled, kind, size, scalar, pointee), ndim = row
    if pointee is not None:
        text, dtypes, align = pointee
        pointee = Pointee(text, tuple((code, bits) for code, bits in dtypes), align)
    return Param(name, CxxType(spelled, kind, size, scalar, pointee), ndim)
