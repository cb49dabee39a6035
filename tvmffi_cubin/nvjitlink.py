"""Device code that was compiled separately to one image, through nvJitLink."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from .arch import check_arch, is_ptx, resolve_arch
from .cuda_wheels import find_cuda
from .kernels.cubin import Cubin
from .link_faults import dropped_hints, where_defined
from .link_input import Linkable, LinkInput, read_input
from .link_options import check_link_options
from .linker import LinkFailure, link_inputs
from .nvjitlink_library import NvJitLinkLibrary

__all__ = ["link", "version"]


def link(
    inputs: Iterable[Linkable],
    *,
    arch: str | None = None,
    lto: bool = False,
    options: Sequence[str] = (),
) -> Cubin:
    """Link device code that was compiled separately to an image that can be launched.

    Parameters
    ----------
    inputs : iterable of Cubin, bytes or path
        Relocatable cubins and LTO-IR (``nvrtc.compile(..., target_type="relocatable")`` or
        ``"ltoir"``, nvcc's ``-rdc=true``), PTX, fatbins, static libraries and host objects with
        device code. What one is, its content tells.
    arch : str, optional
        What the image is for, such as ``"sm_90a"``. Default: what the inputs were compiled for,
        where they agree; else the current device's. ``"compute_90"`` and the like give PTX, of
        LTO-IR alone.
    lto : bool
        Optimise across units. LTO-IR among the inputs turns it on; it must be said where that is
        inside fatbins or libraries.
    options : sequence of str
        Further options for nvJitLink, such as ``"-lineinfo"``.

    Returns
    -------
    Cubin
        The image; its ``log`` holds the warnings, its ``lowered_names`` are those of the inputs.

    Raises
    ------
    CompileError
        They do not fit together: a symbol is defined nowhere, or twice.
    ToolchainError
        nvJitLink is missing, or older than NVRTC.
    TypeError, ValueError, OSError
        Something is nothing to link, or for another architecture; an option is unknown.
    """
    single = isinstance(inputs, str | bytes | bytearray | memoryview | os.PathLike | Cubin)
    if single or not isinstance(inputs, Iterable):
        raise TypeError(f"inputs is a sequence of what to link, got one {type(inputs).__name__}")
    if not isinstance(lto, bool):
        raise TypeError(f"lto is True or False, got {lto!r}")
    options = check_link_options(options)
    given = list(inputs)
    read = [read_input(value, f"inputs[{index}]") for index, value in enumerate(given)]
    if not read:
        raise ValueError("inputs is empty: there is nothing to link")
    target = check_arch(arch) if arch is not None else resolve_arch(_common_arch(read))
    try:
        linked = link_inputs(read, arch=target, lto=lto, options=options)
    except LinkFailure as failure:
        hints = [x for fault in failure.faults for x in where_defined(fault, read)]
        hints += dropped_hints(failure.faults, read)
        raise failure.error(f"the inputs do not link for {target}", hints) from None
    linked.report(f"for {target}")
    names: dict[str, str] = {}
    for value in given:
        if isinstance(value, Cubin):
            names.update(value.lowered_names)
    return Cubin(
        image=linked.image,
        arch=target,
        lowered_names=names,
        log=linked.log,
        kind="ptx" if is_ptx(target) else "cubin",
        cuda_version=".".join(map(str, version())),
    )


def _common_arch(inputs: Sequence[LinkInput]) -> str | None:
    known = {item.arch for item in inputs if item.arch is not None and item.kind != "ptx"}
    return known.pop() if len(known) == 1 else None


def version() -> tuple[int, int]:
    """Return the version of the nvJitLink in use, such as ``(12, 9)``; loads it.

    Raises
    ------
    ToolchainError
        It is missing.
    """
    return NvJitLinkLibrary.load(find_cuda().require("nvjitlink")).version()
