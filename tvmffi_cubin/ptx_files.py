"""PTX files to images: assembled for the architectures of a build, through nvJitLink."""

from __future__ import annotations

from . import nvrtc, ptx
from .arch import is_ptx, number_of
from .cubin import Cubin
from .cuda_wheels import find_cuda
from .given_image import GivenImage
from .image import Image, read_image
from .image_kind import FATBIN, describe
from .link_input import LinkInput
from .linker import LinkFailure, link_inputs
from .nvfatbin import join
from .request import Request
from .source_files import ImageFile

__all__ = ["assemble"]


def assemble(request: Request, archs: tuple[str, ...]) -> tuple[Image, ...]:
    """Return the images of a request's PTX files.

    Parameters
    ----------
    request : Request
        Names the files.
    archs : tuple of str
        The architectures; several give fatbins. Empty where they could not be found out before.

    Raises
    ------
    CompileError
        A file is not to be assembled for one of them.
    ToolchainError
        nvJitLink is missing, or there is no GPU and no architecture is named.
    ValueError
        A file is no PTX, or for a newer architecture.
    """
    archs = archs or nvrtc.resolve_archs(options=request.cuda_cflags)
    return tuple(
        read_image(name, GivenImage(file.path, _assemble(file, archs)))
        for name, file in request.files.ptx.items()
    )


def _assemble(file: ImageFile, archs: tuple[str, ...]) -> bytes:
    if not ptx.looks_like_ptx(file.data):
        raise ValueError(f"{file.path} is no PTX: {_problem(file.data)}")
    try:
        target = ptx.parse(file.data).target
    except ValueError as error:
        raise ValueError(f"{file.path}: {error}") from None
    cubins = [_assembled(file, target, arch) for arch in archs if not is_ptx(arch)]
    if len(cubins) < len(archs):
        cubins.append(_kept(file, target))
    return cubins[0].image if len(cubins) == 1 else join(cubins, cuda=find_cuda()).image


def _problem(data: bytes) -> str:
    if data.startswith(FATBIN):
        return "it is a fatbin: give the file the suffix .fatbin"
    # Of a cubin nothing is wrong but that it is no PTX.
    return describe(data, wanted="PTX with .version") or (
        "it is a cubin: give the file the suffix .cubin"
    )


def _assembled(file: ImageFile, target: str, arch: str) -> Cubin:
    try:
        linked = link_inputs([LinkInput(file.path, "ptx", file.data, target)], arch=arch)
    except LinkFailure as failure:
        raise failure.error(f"{file.path} cannot be assembled for {arch}") from None
    return Cubin(linked.image, arch, log=linked.log)


def _kept(file: ImageFile, target: str) -> Cubin:
    """Return the text itself, for the driver to assemble."""
    if not target[-1].isdigit():
        raise ValueError(
            f"{file.path} is for {target} alone, and PTX is wanted that newer devices take, too: "
            f'leave "compute_..." out of arch, or compile it for sm_{number_of(target)}'
        )
    return Cubin(file.data, f"compute_{number_of(target)}", kind="ptx")
