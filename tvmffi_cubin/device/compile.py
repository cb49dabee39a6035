"""From device sources to the image that is embedded, with the signatures of its kernels."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from ..cuda import nvrtc
from ..cuda.options import nvrtc_options
from ..sources.source import Source
from . import signatures
from .instances import wanted_instances

if TYPE_CHECKING:
    from ..inline.request import Request
    from ..kernels.cubin import Cubin
    from .signature import KernelSignature

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


def compile_device(
    request: Request, sources: tuple[Source, ...], archs: tuple[str, ...]
) -> DeviceImage:
    """Compile device sources.

    Parameters
    ----------
    request : Request
        Options, header folders, and the template instances that are wanted.
    sources : tuple of Source
        The sources for NVRTC, in order.
    archs : tuple of str
        The architectures, from `resolve_archs`; several give a fatbin. Empty where they could not
        be found out before.

    Raises
    ------
    CompileError, ToolchainError, TypeError, ValueError
        See `tvmffi_cubin.load_inline`.
    """
    archs = archs or nvrtc.resolve_archs(options=request.cuda_cflags)
    if len(archs) == 1:
        return _compile_for(request, sources, archs[0])
    from ..cuda.nvfatbin import join
    from ..cuda.parallel import in_parallel

    images = in_parallel(partial(_compile_for, request, sources), archs)
    cubin = join([image.cubin for image in images])
    return DeviceImage(cubin, _merged_signatures(cubin, images))


def _compile_for(request: Request, sources: tuple[Source, ...], arch: str) -> DeviceImage:
    """Compile for one architecture."""
    if len(sources) > 1 or request.device_libraries:
        from .link import compile_and_link

        return DeviceImage(*compile_and_link(request, sources, arch))
    (source,) = sources
    cubin, found = signatures.compile_with_signatures(
        source.text,
        compile=partial(
            nvrtc.compile,
            **_place(request, source),
            arch=arch,
            options=nvrtc_options(request.cuda_cflags),
            use_pch=request.use_pch,
        ),
        wanted=wanted_instances(request),
    )
    return DeviceImage(cubin, found)


def _merged_signatures(cubin: Cubin, images: Sequence[DeviceImage]) -> tuple[KernelSignature, ...]:
    """Return the signatures of a fatbin's kernels, each once, from the first member that knows it.

    Raises
    ------
    ValueError
        A kernel takes something else for one architecture than for another.
    """
    from .signature import signature_text

    kernels = {kernel.name: kernel for kernel in cubin.kernels}
    found: dict[str, tuple[str, KernelSignature]] = {}
    for image in images:
        for here in image.signatures:
            arch, known = found.get(here.symbol, (image.cubin.arch, here))
            both_known = not (known.problem or here.problem)
            if both_known and _types(known) != _types(here):
                raise ValueError(
                    f"kernel {here.display!r} is {signature_text(known)} for {arch} and "
                    f"{signature_text(here)} for {image.cubin.arch}: callers cannot tell; give it "
                    "one parameter list, or two names"
                )
            better = here if known.problem and not here.problem else known
            found[here.symbol] = (arch, better._replace(kernel=kernels[here.symbol]))
    return tuple(signature for _, signature in found.values())


def _types(known: KernelSignature) -> list[str]:
    return [param.type.text for param in known.params]


def _place(request: Request, source: Source) -> dict[str, Any]:
    """Return what messages call a source, and where its headers are searched."""
    if source.path is None:
        return {"name": f"{request.name}.cu", "include_paths": request.include_paths}
    further = (*request.include_paths, *source.further_folders)
    return {"name": source.path, "include_paths": further, "source_include": True}
