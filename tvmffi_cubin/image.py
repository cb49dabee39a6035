"""`Image`: what is embedded under a name, with its kernels."""

from __future__ import annotations

import dataclasses
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from .cuda.arch import is_ptx, number_of
from .cuda.given import GivenImage
from .device import DeviceImage
from .functions.signature import KernelSignature, known_signatures, resolve_declared
from .kernels import nv_info
from .kernels.cubin import Cubin, Kernel, Parameter
from .kernels.demangle import FunctionName, function_name, spelled_types
from .kernels.image import FATBIN, describe, looks_like_ptx
from .kernels.types import CxxType, Param, parse_type, sized_type
from .request import Request

_SUFFIXES = {"fatbin": ".fatbin", "ptx": ".ptx"}


class Image(NamedTuple):
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
    from .cuda.nvjitlink import assembled

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
    is_fatbin, is_ptx = data.startswith(FATBIN), looks_like_ptx(data)
    if not is_fatbin and not is_ptx and (problem := describe(data)):
        raise ValueError(f"{label} is no cubin: {problem}")
    try:
        cubin = (_read_fatbin if is_fatbin else _read_ptx if is_ptx else _read_elf)(given)
        return _opaque(name, cubin)
    except ValueError as error:
        raise ValueError(f"{label}: {error}") from None


def _known(given: GivenImage, cubin: Cubin) -> Cubin:
    return dataclasses.replace(
        cubin, lowered_names=given.lowered_names, signatures=given.signatures
    )


def _read_elf(given: GivenImage) -> Cubin:
    parsed = nv_info.parse(given.data)
    if parsed.relocatable:
        raise ValueError(
            "it is a relocatable cubin, yet to be linked: link it with nvjitlink.link, or give it "
            "as device_libraries"
        )
    return _known(given, Cubin(given.data, parsed.arch))


def _read_ptx(given: GivenImage) -> Cubin:
    """Return PTX as an image; the driver assembles it, and only then the whole text is checked."""
    from .kernels import ptx

    parsed = ptx.parse(given.data)
    if not parsed.kernels:
        raise ValueError("the PTX has no kernel (.entry): it is cut off, or no PTX but its header")
    arch = f"compute_{parsed.target.removeprefix('sm_')}"
    return _known(given, Cubin(given.data, arch, kind="ptx"))


def _read_fatbin(given: GivenImage) -> Cubin:
    from .kernels import fatbin

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
    return Image(name, cubin, _opaque_signatures(cubin), "; ".join(cubin.unreadable))


def _opaque_signatures(cubin: Cubin) -> tuple[KernelSignature, ...]:
    """Return the kernels of an image, as far as they are known.

    Names and types are those of the image's signatures. Where it has none for a kernel, the types
    are those that its symbol spells; what that leaves open is known by its size.

    Raises
    ------
    TypeError, ValueError
        The image's signatures do not fit it.
    """
    _check_signatures(cubin)
    return tuple(_signature(kernel, cubin.signatures.get(kernel.name)) for kernel in cubin.kernels)


def _check_signatures(cubin: Cubin) -> None:
    symbols = [kernel.name for kernel in cubin.kernels]
    for symbol, text in cubin.signatures.items():
        if not isinstance(symbol, str) or not isinstance(text, str):
            raise TypeError(
                "Cubin.signatures maps a kernel's symbol to its parameters, as str, got "
                f"{symbol!r}: {text!r}"
            )
        if symbol not in symbols:
            raise ValueError(
                f"Cubin.signatures has {symbol!r}, which is no kernel of the image; it has: "
                f"{', '.join(symbols) or 'none'}"
            )


def _signature(kernel: Kernel, declared: str | None) -> KernelSignature:
    name = function_name(kernel.name)
    if declared is None:
        types = _types(name, kernel.params)
        params = tuple(Param(f"arg{index}", type_) for index, type_ in enumerate(types))
    else:
        try:
            params = resolve_declared(declared, kernel)
        except ValueError as error:
            raise ValueError(f"Cubin.signatures[{kernel.name!r}]: {error}") from None
    return KernelSignature(
        symbol=kernel.name,
        name=name.qualified.rpartition("::")[2],
        qualified=name.qualified,
        display=name.display,
        params=params,
        # Where there is none, nothing is left to declare.
        names_known=declared is not None or not params,
        line=None,
        kernel=kernel,
        opaque=declared is None,
    )


def _types(name: FunctionName, slots: Sequence[Parameter]) -> list[CxxType]:
    """Return what a kernel takes: as its symbol has it, if that fits the image, else sizes."""
    spelled = spelled_types(name)
    if spelled is not None and len(spelled) == len(slots):
        types = [_type(text, slot.size) for text, slot in zip(spelled, slots, strict=True)]
        if all(type_.size == slot.size for type_, slot in zip(types, slots, strict=True)):
            return types
    return [sized_type(slot.size) for slot in slots]


def _type(text: str, size: int) -> CxxType:
    try:
        known = parse_type(text)
    except ValueError:
        return sized_type(size)
    # A class of somebody's own, or an enumeration: a number may do as well as bytes.
    return known if known.size is not None else CxxType(known.text, "raw", size)


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


def check_fit(images: Iterable[Image], archs: Sequence[str]) -> None:
    """Check that each image runs on devices of one architecture at least.

    Raises
    ------
    ValueError
        One runs on none of them: no launch could work.
    """
    for image in images:
        own = image.cubin.archs
        if not any(_runs(one, arch) for one in own for arch in archs):
            raise ValueError(
                f"image {image.name!r} is for {', '.join(own)}, and none of that runs on "
                f"{', '.join(archs)}, which arch= names: compile it for that, or leave arch out, "
                "which changes nothing of an image that is there"
            )


def _runs(own: str, arch: str) -> bool:
    """Whether code for one architecture runs on devices of another."""
    number, wanted = number_of(own), number_of(arch)
    # PTX is wanted for devices from there on, of which some will run what is for a newer one.
    if is_ptx(arch):
        return number >= wanted or is_ptx(own)
    if own.endswith("a"):
        return number == wanted
    if is_ptx(own):
        return number <= wanted
    return number // 10 == wanted // 10 and number <= wanted
