"""From device sources to the image that is embedded, with the signatures of its kernels."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from . import nvrtc, signature
from .cubin import Cubin
from .kernel_signature import KernelSignature
from .request import Request
from .source import Source

__all__ = ["DeviceImage", "compile_device"]


class DeviceImage(NamedTuple):
    """What the device sources were compiled to.

    Attributes
    ----------
    cubin : Cubin
        The image to embed.
    signatures : tuple of KernelSignature
        One for each kernel of it.
    """

    cubin: Cubin
    signatures: tuple[KernelSignature, ...]


def compile_device(request: Request, sources: tuple[Source, ...], arch: str | None) -> DeviceImage:
    """Compile device sources.

    Parameters
    ----------
    request : Request
        Options, header folders, and the template instances that are wanted.
    sources : tuple of Source
        The sources for NVRTC, in order.
    arch : str or None
        The architecture; None where it could not be found out before.

    Raises
    ------
    CompileError, ToolchainError, TypeError, ValueError
        See `tvmffi_cubin.load_inline`.
    """
    cubin, signatures = signature.compile_with_signatures(
        "\n".join(source.text for source in sources),
        compile=partial(
            nvrtc.compile,
            name=f"{request.name}.cu",
            arch=arch,
            options=request.cuda_cflags,
            include_paths=request.include_paths,
        ),
        wanted=request.wanted_expressions,
    )
    return DeviceImage(cubin, signatures)
