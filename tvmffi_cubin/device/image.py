"""`Image`: what is embedded under a name, with its kernels."""

from __future__ import annotations

import zlib
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from ..errors import ImageError
from ..kernels import ptx
from ..kernels.cubin import Cubin
from ..kernels.image import UNLINKED, read_image
from .signature import KernelSignature, known_signatures, resolve

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
        signatures = {**known_signatures(self.signatures), **self.cubin.signatures}
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
        if request.assembles and ptx.arch(given.image):
            from ..cuda.nvjitlink import assembled

            given = assembled(given, archs)
        images.append(given_image(name, given))
    return tuple(images)


def given_image(name: str, given: Cubin) -> Image:
    """Return a cubin, PTX or a fatbin as it is embedded under a name.

    What of a fatbin cannot be read, a wrapper can still launch. A ValueError says that it is none
    of these, or that its signatures do not fit it.
    """
    cubin = read_image(given)
    try:
        if unlinked := [x.arch for x in cubin.members if x.kind == "relocatable"]:
            raise ImageError(f"its code for {', '.join(unlinked)} is yet to be linked; {UNLINKED}")
        if unknown := cubin.signatures.keys() - {kernel.name for kernel in cubin.kernels}:
            raise ValueError(f"Cubin.signatures has {min(unknown)!r}, no kernel of the image")
        return Image(name, cubin, resolve(cubin), "; ".join(cubin.unreadable))
    except ValueError as error:
        raise ValueError(f"{given.name}: {error}") from None
