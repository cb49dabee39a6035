"""`Image`: what is embedded under a name, with its kernels."""

from __future__ import annotations

import zlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..errors import ImageError
from ..kernels.cubin import Cubin, Kernel
from ..kernels.demangle import FunctionName, function_name, spelled_types
from ..kernels.image import UNLINKED, looks_like_ptx, read_image
from ..kernels.types import CxxType, Param, parse_type, sized_type
from .signature import KernelSignature, known_signatures, resolve_declared

if TYPE_CHECKING:
    from ..inline.request import Request

_SUFFIXES = {"fatbin": ".fatbin", "ptx": ".ptx"}


class Image(NamedTuple):
    """An image that is embedded under a name, with the signatures of its kernels."""

    name: str
    cubin: Cubin
    # One for each kernel that can be read, and why there may be more.
    signatures: tuple[KernelSignature, ...]
    problem: str = ""

    @property
    def file(self) -> str:
        """Name of the file that holds them, in a module's folder."""
        return self.name + _SUFFIXES.get(self.cubin.kind, ".cubin")

    @property
    def facts(self) -> dict[str, object]:
        """What the manifest says of it, as JSON values."""
        told = known_signatures(self.signatures)
        signatures = {**told, **self.cubin.signatures}
        return {**self.cubin.facts, "crc32": zlib.crc32(self.cubin.image), "signatures": signatures}

    def archs(self) -> dict[str, tuple[str, ...]]:
        """Return a fatbin's architectures by the kernels that not all of them have."""
        members, found = () if self.problem else self.cubin.members, defaultdict(list)
        for member in members:
            for kernel in member.kernels:
                found[kernel.name].append(member.arch)
        return {name: tuple(x) for name, x in found.items() if len(x) < len(members)}


def given_images(request: Request, archs: tuple[str, ...]) -> tuple[Image, ...]:
    """Return the images that were given; PTX is assembled, unless it is to be kept."""
    images = []
    for name, given in request.images.items():
        if request.assembles and looks_like_ptx(given.image):
            from ..cuda.nvjitlink import assembled

            given = assembled(given, archs)
        images.append(given_image(name, given))
    return tuple(images)


def with_own(
    images: Sequence[Image], request: Request, compiled: Mapping[str, Image]
) -> tuple[Image, ...]:
    """Return the images of the device sources, by their names, and those that were given."""
    for name in compiled:
        if name in request.images:
            raise ValueError(
                f"{request.images[name].name} is an image called {name!r}, the name that the "
                "device sources' own image has: rename it"
            )
    return (*(image._replace(name=name) for name, image in compiled.items()), *images)


def may_be_named(request: Request) -> bool:
    """Whether host code may know images by their names, as far as its texts tell."""
    return any("EMBED_CUBIN" in source.text for source in request.host_sources)


def given_image(name: str, given: Cubin) -> Image:
    """Return a cubin, PTX or a fatbin as it is embedded under a name.

    What of a fatbin cannot be read, a wrapper can still launch. A ValueError says that it is none
    of these, or that its signatures do not fit it.
    """
    cubin = read_image(given)
    try:
        if unlinked := [x.arch for x in cubin.members if x.kind == "relocatable"]:
            raise ImageError(f"its code for {', '.join(unlinked)} is yet to be linked; {UNLINKED}")
        try:
            kernels = cubin.kernels
        except ValueError as error:
            if cubin.kind != "fatbin":
                raise
            return Image(name, cubin, (), str(error))
        return Image(name, cubin, _signatures(cubin, kernels), "; ".join(cubin.unreadable))
    except ValueError as error:
        raise ValueError(f"{given.name}: {error}") from None


def _signatures(cubin: Cubin, kernels: Sequence[Kernel]) -> tuple[KernelSignature, ...]:
    """Return the kernels of an image, as far as they are known.

    Names and types are those of the image's signatures. Where it has none for a kernel, the types
    are those that its symbol spells; what that leaves open is known by its size.
    """
    symbols = [kernel.name for kernel in kernels]
    if unknown := sorted(cubin.signatures.keys() - symbols):
        raise ValueError(
            f"Cubin.signatures has {unknown[0]!r}, which is no kernel of the image; it has: "
            f"{', '.join(symbols) or 'none'}"
        )
    return tuple(_signature(kernel, cubin.signatures.get(kernel.name)) for kernel in kernels)


def _signature(kernel: Kernel, declared: str | None) -> KernelSignature:
    name = function_name(kernel.name)
    made = KernelSignature(kernel, name)
    if declared is None:
        types = _types(name, kernel)
        params = tuple(Param(f"arg{index}", type_) for index, type_ in enumerate(types))
        # Where there is none, nothing is left to declare.
        return made._replace(params=params, names_known=not params, opaque=True)
    try:
        return made._replace(params=resolve_declared(declared, kernel), names_known=True)
    except ValueError as error:
        raise ValueError(f"Cubin.signatures[{kernel.name!r}]: {error}") from None


def _types(name: FunctionName, kernel: Kernel) -> list[CxxType]:
    """Return what a kernel takes: as its symbol has it, if that fits the image, else sizes."""
    sizes = [*kernel.param_sizes]
    spelled = spelled_types(name) or ()
    types = [_type(text, size) for text, size in zip(spelled, sizes, strict=False)]
    fits = len(spelled) == len(sizes) and [type_.size for type_ in types] == sizes
    return types if fits else [sized_type(size) for size in sizes]


def _type(text: str, size: int) -> CxxType:
    try:
        known = parse_type(text)
    except ValueError:
        return sized_type(size)
    # A class of somebody's own, or an enumeration: a number may do as well as bytes.
    return known if known.size is not None else CxxType(known.text, "raw", size)
