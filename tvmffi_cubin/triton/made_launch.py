"""From a compiled kernel's facts to the `Launch` that launches it as Triton's own launcher does."""

from __future__ import annotations

import struct
from typing import Any

from .. import elf
from ..cubin import Cubin, Kernel
from ..figures import plain
from ..launch import Launch
from ..scratch import Scratch
from .facts import Facts
from .grid import grid_figures
from .parameters import parameters

__all__ = ["made_launch"]

# More shared memory than this needs a mode of the launch, says Triton's launcher.
_PLAIN_SMEM = 228 * 1024
_SHARED_MEMORY_MODE = 18
_ALLOW_OVERSIZED = 3

_TOLD = (bool, int, float, str)


def made_launch(facts: Facts, grid: Any) -> Launch:
    """Return the launch of a kernel.

    Raises
    ------
    TypeError, ValueError
        The grid is none, or the kernel one that is not known here.
    """
    parsed = elf.parse(facts.image)
    kernel = _kernel(facts, parsed.kernels)
    made = parameters(facts, kernel)
    image = Cubin(facts.image, parsed.arch, signatures={facts.symbol: made.signature})
    figures = None if grid is None else grid_figures(facts, grid)
    return Launch(
        kernel=facts.symbol,
        image=image,
        params=", ".join(made.exported),
        args={**made.args, made.scratch: _scratch(facts)},
        strided=tuple(made.pointers),
        grid=figures,
        block=32 * int(facts.metadata.num_warps),
        dynamic_smem_bytes=int(facts.metadata.shared),
        multiple_of=made.multiple_of or None,
        equal_to=made.equal_to or None,
        when=" and ".join(made.conditions) or None,
        **_callers(facts, figures),
        **_attributes(facts),
    )


def _kernel(facts: Facts, kernels: tuple[Kernel, ...]) -> Kernel:
    found = [kernel for kernel in kernels if kernel.name == facts.symbol]
    if not found:
        raise ValueError(f"{facts.function}: its image has no kernel {facts.symbol!r}")
    return found[0]


def _scratch(facts: Facts) -> Scratch | None:
    size = int(facts.metadata.global_scratch_size)
    align = int(facts.metadata.global_scratch_align)
    return Scratch(bytes_per_block=size, align=align) if size > 0 else None


def _callers(facts: Facts, figures: tuple[Any, ...] | None) -> dict[str, Any]:
    """Return what a grid's Python function is told at each call, where callers give the grid."""
    if figures is not None:
        return {}
    passed = {argument.name for argument in facts.arguments}
    meta = {
        name: plain(value)
        for name, value in facts.constants.items()
        if name not in passed and (value is None or isinstance(plain(value), _TOLD))
    }
    return {"meta": meta, "blocks_per_program": int(facts.metadata.num_ctas)}


def _attributes(facts: Facts) -> dict[str, Any]:
    metadata = facts.metadata
    found: dict[str, Any] = {}
    if metadata.num_ctas > 1:
        found |= {"cluster": int(metadata.num_ctas), "cluster_scheduling_policy": "spread"}
    if metadata.launch_pdl:
        found["programmatic_dependent_launch"] = True
    if metadata.launch_cooperative_grid:
        found["cooperative"] = True
    if metadata.shared > _PLAIN_SMEM:
        found["attributes"] = {_SHARED_MEMORY_MODE: struct.pack("<i", _ALLOW_OVERSIZED)}
    return found
