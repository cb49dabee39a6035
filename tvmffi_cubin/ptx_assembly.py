"""PTX to cubins: assembled for the architectures of a build, through nvJitLink."""

from __future__ import annotations

from .cuda.arch import is_ptx, number_of
from .cuda.given import GivenImage
from .cuda.libraries import find_cuda
from .cuda.nvfatbin import join
from .cuda.nvjitlink import LinkFailure, LinkInput, link_inputs
from .kernels import ptx
from .kernels.cubin import Cubin

__all__ = ["assembled"]


def assembled(given: GivenImage, archs: tuple[str, ...]) -> GivenImage:
    """Return PTX as a cubin, or as a fatbin where there are several architectures.

    Parameters
    ----------
    given : GivenImage
        The PTX.
    archs : tuple of str
        The architectures; for ``"compute_90"`` the text is kept. Empty where none is named and
        there is no device: then the PTX's own, and the text for newer ones, where it may be
        compiled for those.

    Raises
    ------
    CompileError
        It is not to be assembled for one of them.
    ToolchainError
        nvJitLink is missing.
    ValueError
        It is damaged, or for a newer architecture.
    """
    try:
        target = ptx.parse(given.data).target
    except ValueError as error:
        raise ValueError(f"{given.name}: {error}") from None
    archs = archs or (target, *([f"compute_{number_of(target)}"] if target[-1].isdigit() else []))
    cubins = [_assembled(given, target, arch) for arch in archs if not is_ptx(arch)]
    texts = [arch for arch in archs if is_ptx(arch)]
    if texts:
        kept = _kept(given, target)
        if not cubins:
            # Only to see whether it can be.
            _assembled(given, target, f"sm_{number_of(texts[0])}")
        cubins.append(kept)
    image = cubins[0] if len(cubins) == 1 else join(cubins, cuda=find_cuda())
    return given._replace(data=image.image)


def _assembled(given: GivenImage, target: str, arch: str) -> Cubin:
    try:
        linked = link_inputs([LinkInput(given.name, "ptx", given.data, target)], arch=arch)
    except LinkFailure as failure:
        raise failure.error(f"{given.name} cannot be assembled for {arch}") from None
    return Cubin(linked.image, arch, log=linked.log)


def _kept(given: GivenImage, target: str) -> Cubin:
    """Return the text itself, for the driver to assemble."""
    if not target[-1].isdigit():
        raise ValueError(
            f"{given.name} is for {target} alone, and PTX is wanted that newer devices take, too: "
            f'leave "compute_..." out of arch, or compile it for sm_{number_of(target)}'
        )
    return Cubin(given.data, f"compute_{number_of(target)}", kind="ptx")
