"""Whether images run where a caller says that they are to run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .arch import is_ptx, number_of
from .image import Image

__all__ = ["check_fit"]


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
