"""`Image`: what is embedded under a name, with its kernels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from . import elf
from .cubin import Cubin
from .demangle import demangle, take_apart
from .device import DeviceImage
from .image_kind import describe
from .kernel_signature import KernelSignature, suggestion
from .request import DEVICE_IMAGE, Request

__all__ = ["Image", "all_images", "image_facts", "read_image"]

_FATBIN = (b"\x50\xed\x55\xba",)


@dataclass(frozen=True)
class Image:
    """An image to embed; `cubin` is None for one that is not parsed (a fatbin for a wrapper)."""

    name: str
    data: bytes
    cubin: Cubin | None
    signatures: tuple[KernelSignature, ...]


def all_images(request: Request, compiled: DeviceImage | None) -> tuple[Image, ...]:
    """Return the image of the device sources, where there are any, and those that were given.

    Raises
    ------
    ValueError
        A given one is no image, or has the name of the device sources' own.
    """
    images = [
        read_image(name, data, label=request.image_label(name))
        for name, data in request.images.items()
    ]
    if compiled is None:
        return tuple(images)
    if DEVICE_IMAGE in request.images or DEVICE_IMAGE in request.files.images:
        raise ValueError(
            f"{request.image_label(DEVICE_IMAGE)} is an image called {DEVICE_IMAGE!r}, the name "
            "that the device sources' own image has: rename it"
        )
    own = Image(DEVICE_IMAGE, compiled.cubin.image, compiled.cubin, compiled.signatures)
    return (own, *images)


def read_image(name: str, data: bytes, *, label: str) -> Image:
    """Return the image of given bytes: a cubin, or a fatbin, which only a wrapper can use.

    Parameters
    ----------
    name : str
        What it is embedded as.
    data : bytes
        The image.
    label : str
        What messages call it.

    Raises
    ------
    ValueError
        It is neither; the message says what it looks like.
    """
    if data.startswith(_FATBIN):
        return Image(name, data, None, ())
    if problem := describe(data):
        raise ValueError(f"{label} is no cubin: {problem}")
    try:
        parsed = elf.parse(data)
    except ValueError as error:
        raise ValueError(f"{label}: {error}") from None
    cubin = Cubin(data, parsed.arch)
    return Image(name, data, cubin, opaque_signatures(cubin))


def opaque_signatures(cubin: Cubin) -> tuple[KernelSignature, ...]:
    """Return the kernels of an image that came without a source: their parameters are declared."""
    found = []
    for kernel in cubin.kernels:
        name = take_apart(demangle(kernel.name))
        found.append(
            KernelSignature(
                symbol=kernel.name,
                name=name.qualified.rpartition("::")[2],
                qualified=name.qualified,
                display=name.display,
                params=(),
                names_known=False,
                line=None,
                kernel=kernel,
                problem=f"the image came without a source; declare its parameters, such as "
                f"{suggestion(kernel)}",
            )
        )
    return tuple(found)


def image_facts(image: Image, file: str) -> Mapping[str, object]:
    """Return what the manifest says of an image, as JSON values."""
    if image.cubin is None:
        return {"file": file, "arch": "fatbin", "lowered_names": {}, "log": "", "kernels": {}}
    return {
        "file": file,
        "arch": image.cubin.arch,
        "kind": image.cubin.kind,
        "cuda_version": image.cubin.cuda_version,
        "lowered_names": dict(image.cubin.lowered_names),
        "log": image.cubin.log,
        "kernels": {
            s.symbol: {
                "name": s.display,
                "registers": s.kernel.registers,
                "static_smem_bytes": s.kernel.static_smem_bytes,
                "local_bytes": s.kernel.local_bytes,
                "max_threads": s.kernel.max_threads,
                "params": [p.size for p in s.kernel.params],
            }
            for s in image.signatures
        },
    }
