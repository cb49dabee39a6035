"""`Image`: what is embedded under a name, with its kernels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from . import elf, fatbin, ptx
from .cubin import Cubin, Kernel
from .demangle import demangle, take_apart
from .device import DeviceImage
from .image_kind import FATBIN, describe
from .kernel_signature import KernelSignature, suggestion
from .request import DEVICE_IMAGE, Request

__all__ = ["Image", "all_images", "image_facts", "read_image"]

_SUFFIXES = {"fatbin": ".fatbin", "ptx": ".ptx"}


@dataclass(frozen=True)
class Image:
    """An image to embed.

    Attributes
    ----------
    name : str
        The name under which it is embedded.
    cubin : Cubin
        The image itself.
    signatures : tuple of KernelSignature
        One for each kernel that can be read.
    problem : str
        Why there may be more kernels than these, empty where there are not.
    """

    name: str
    cubin: Cubin
    signatures: tuple[KernelSignature, ...]
    problem: str = ""

    @property
    def data(self) -> bytes:
        """The bytes to embed."""
        return self.cubin.image

    @property
    def file(self) -> str:
        """Name of the file that holds them, in a module's folder."""
        return self.name + _SUFFIXES.get(self.cubin.kind, ".cubin")

    def archs_with(self, symbol: str) -> tuple[str, ...]:
        """Return a fatbin's architectures that have a kernel, none where all of them do."""
        members = self.cubin.members
        have = [m.arch for m in members if any(k.name == symbol for k in m.kernels)]
        return tuple(have) if not self.problem and len(have) < len(members) else ()


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
    own = Image(DEVICE_IMAGE, compiled.cubin, compiled.signatures)
    return (own, *images)


def read_image(name: str, data: bytes, *, label: str) -> Image:
    """Return the image of given bytes: a cubin, PTX, or a fatbin.

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
        It is none of these; the message says what it looks like.
    """
    is_fatbin, is_ptx = data.startswith(FATBIN), ptx.looks_like_ptx(data)
    if not is_fatbin and not is_ptx and (problem := describe(data)):
        raise ValueError(f"{label} is no cubin: {problem}")
    try:
        if is_fatbin:
            return _read_fatbin(name, data)
        if is_ptx:
            cubin = _read_ptx(data)
        else:
            parsed = elf.parse(data)
            if parsed.relocatable:
                raise ValueError(
                    "it is a relocatable cubin, yet to be linked: link it with nvjitlink.link, or "
                    "give it as device_libraries"
                )
            cubin = Cubin(data, parsed.arch)
        return Image(name, cubin, opaque_signatures(cubin))
    except ValueError as error:
        raise ValueError(f"{label}: {error}") from None


def _read_ptx(data: bytes) -> Cubin:
    """Return PTX as an image; the driver assembles it, and only then the whole text is checked."""
    parsed = ptx.parse(data)
    if not parsed.kernels:
        raise ValueError("the PTX has no kernel (.entry): it is cut off, or no PTX but its header")
    return Cubin(data, f"compute_{parsed.target.removeprefix('sm_')}", kind="ptx")


def _read_fatbin(name: str, data: bytes) -> Image:
    """Return a fatbin as an image; what of it cannot be read, a wrapper can still launch."""
    cubin = fatbin.read_cubin(data)
    kinds = [member.kind for member in fatbin.read(data)]
    unlinked = [member for member in cubin.members if member.kind == "relocatable"]
    if len(unlinked) + kinds.count("ltoir") == len(kinds):
        raise ValueError(
            "all code in the fatbin is yet to be linked: link it with nvjitlink.link, or give it "
            "as device_libraries"
        )
    try:
        signatures = opaque_signatures(cubin)
    except ValueError as error:
        return Image(name, cubin, (), str(error))
    return Image(name, cubin, signatures, "; ".join(cubin.unreadable))


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
                # Where there is none, nothing is left to declare.
                names_known=not kernel.params,
                line=None,
                kernel=kernel,
                problem=_undeclared(kernel),
            )
        )
    return tuple(found)


def _undeclared(kernel: Kernel) -> str:
    if not kernel.params:
        return ""
    return f"the image came without a source; declare its parameters, such as {suggestion(kernel)}"


def image_facts(image: Image) -> Mapping[str, object]:
    """Return what the manifest says of an image, as JSON values."""
    cubin = image.cubin
    return {
        "file": image.file,
        "arch": cubin.arch,
        "kind": cubin.kind,
        "cuda_version": cubin.cuda_version,
        "bytes": len(cubin.image),
        "lowered_names": dict(cubin.lowered_names),
        "log": cubin.log,
        "kernels": {s.symbol: {"name": s.display, **_usage(s.kernel)} for s in image.signatures},
        "members": [] if image.problem else [_member_facts(member) for member in cubin.members],
    }


def _member_facts(member: Cubin) -> Mapping[str, object]:
    return {
        "arch": member.arch,
        "kind": member.kind,
        "bytes": len(member.image),
        "kernels": {kernel.name: _usage(kernel) for kernel in member.kernels},
    }


def _usage(kernel: Kernel) -> dict[str, object]:
    return {
        "registers": kernel.registers,
        "static_smem_bytes": kernel.static_smem_bytes,
        "local_bytes": kernel.local_bytes,
        "max_threads": kernel.max_threads,
        "params": [p.size for p in kernel.params],
    }
