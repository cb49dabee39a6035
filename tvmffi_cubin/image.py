"""`Image`: what is embedded under a name, with its kernels."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace

from . import elf, fatbin, ptx
from .cubin import Cubin, Kernel
from .device import DeviceImage
from .given_image import GivenImage
from .image_kind import FATBIN, describe
from .kernel_signature import KernelSignature, known_signatures
from .opaque import opaque_signatures
from .request import Request

__all__ = ["Image", "given_images", "image_facts", "may_be_named", "read_image", "with_own"]

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


def given_images(request: Request, archs: tuple[str, ...]) -> tuple[Image, ...]:
    """Return the images that were given.

    Raises
    ------
    CompileError, ToolchainError
        PTX cannot be assembled for one of the architectures.
    ValueError
        A given one is no image, or its name cannot be beside another's.
    """
    images = [
        read_image(name, _ready(given, request, archs)) for name, given in request.images.items()
    ]
    for name in request.images:
        if f"{name}_end" in request.images:
            raise ValueError(
                f"images called {name!r} and '{name}_end' share a symbol, where {name!r} ends: "
                "rename one"
            )
    return tuple(images)


def with_own(
    images: tuple[Image, ...], request: Request, compiled: Mapping[str, DeviceImage]
) -> tuple[Image, ...]:
    """Return the images of the device sources, by their names, and those that were given.

    Raises
    ------
    ValueError
        One of those has such a name.
    """
    for name in compiled:
        if name in request.images:
            raise ValueError(
                f"{request.images[name].name} is an image called {name!r}, the name that the "
                "device sources' own image has: rename it"
            )
    own = (Image(name, image.cubin, image.signatures) for name, image in compiled.items())
    return (*own, *images)


def may_be_named(request: Request) -> bool:
    """Whether host code may know images by their names, as far as its texts tell."""
    return any("EMBED_CUBIN" in source.text for source in request.host_sources)


def _ready(given: GivenImage, request: Request, archs: tuple[str, ...]) -> GivenImage:
    if not (request.assembles and given.is_ptx):
        return given
    from .ptx_assembly import assembled

    return assembled(given, archs)


def read_image(name: str, given: GivenImage) -> Image:
    """Return a given image: a cubin, PTX, or a fatbin.

    Parameters
    ----------
    name : str
        What it is embedded as.
    given : GivenImage
        The image, and what is known of its kernels.

    Raises
    ------
    TypeError, ValueError
        It is none of these, and the message says what it looks like; or what is said of its kernels
        does not fit it.
    """
    label, data = given.name, given.data
    is_fatbin, is_ptx = data.startswith(FATBIN), ptx.looks_like_ptx(data)
    if not is_fatbin and not is_ptx and (problem := describe(data)):
        raise ValueError(f"{label} is no cubin: {problem}")
    try:
        cubin = (_read_fatbin if is_fatbin else _read_ptx if is_ptx else _read_elf)(given)
        return _opaque(name, cubin)
    except ValueError as error:
        raise ValueError(f"{label}: {error}") from None


def _known(given: GivenImage, cubin: Cubin) -> Cubin:
    return replace(cubin, lowered_names=given.lowered_names, signatures=given.signatures)


def _read_elf(given: GivenImage) -> Cubin:
    parsed = elf.parse(given.data)
    if parsed.relocatable:
        raise ValueError(
            "it is a relocatable cubin, yet to be linked: link it with nvjitlink.link, or give it "
            "as device_libraries"
        )
    return _known(given, Cubin(given.data, parsed.arch))


def _read_ptx(given: GivenImage) -> Cubin:
    """Return PTX as an image; the driver assembles it, and only then the whole text is checked."""
    parsed = ptx.parse(given.data)
    if not parsed.kernels:
        raise ValueError("the PTX has no kernel (.entry): it is cut off, or no PTX but its header")
    arch = f"compute_{parsed.target.removeprefix('sm_')}"
    return _known(given, Cubin(given.data, arch, kind="ptx"))


def _read_fatbin(given: GivenImage) -> Cubin:
    cubin = _known(given, fatbin.read_cubin(given.data))
    kinds = [member.kind for member in fatbin.read(given.data)]
    unlinked = [member for member in cubin.members if member.kind == "relocatable"]
    if unlinked or kinds.count("ltoir") == len(kinds):
        what = f"the code for {unlinked[0].arch}" if unlinked else "all code"
        raise ValueError(
            f"{what} in the fatbin is yet to be linked: link it with nvjitlink.link, or give it as "
            "device_libraries"
        )
    return cubin


def _opaque(name: str, cubin: Cubin) -> Image:
    """Return an image; what of a fatbin cannot be read, a wrapper can still launch."""
    try:
        cubin.kernels  # noqa: B018 - parses it
    except ValueError as error:
        if cubin.kind != "fatbin":
            raise
        return Image(name, cubin, (), str(error))
    return Image(name, cubin, opaque_signatures(cubin), "; ".join(cubin.unreadable))


def image_facts(image: Image) -> Mapping[str, object]:
    """Return what the manifest says of an image, as JSON values."""
    cubin = image.cubin
    return {
        "arch": cubin.arch,
        "kind": cubin.kind,
        "cuda_version": cubin.cuda_version,
        "bytes": len(cubin.image),
        "crc32": zlib.crc32(cubin.image),
        "lowered_names": dict(cubin.lowered_names),
        "signatures": {**known_signatures(image.signatures), **cubin.signatures},
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
