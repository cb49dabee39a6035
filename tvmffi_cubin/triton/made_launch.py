"""From a compiled kernel's facts to the `Launch` that launches it as Triton's own launcher does."""

from __future__ import annotations

from typing import Any

from .. import elf
from ..cubin import Cubin, Kernel
from ..launch import Launch
from .facts import Facts
from .grid import grid_figures
from .parameters import Parameters, parameters

__all__ = ["made_launch"]

# More shared memory than this needs a mode of the launch, says Triton's launcher.
_PLAIN_SMEM = 228 * 1024
_SHARED_MEMORY_MODE = 18
_ALLOW_OVERSIZED = 2


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
        args=made.args,
        strided=tuple(made.pointers),
        grid=figures,
        block=32 * int(facts.metadata.num_warps),
        dynamic_smem_bytes=int(facts.metadata.shared),
        when=_condition(made),
        **_attributes(facts),
    )


def _kernel(facts: Facts, kernels: tuple[Kernel, ...]) -> Kernel:
    found = [kernel for kernel in kernels if kernel.name == facts.symbol]
    if not found:
        raise ValueError(f"{facts.function}: its image has no kernel {facts.symbol!r}")
    return found[0]


def _condition(made: Parameters) -> str | None:
    conditions = list(made.conditions)
    for name, multiple in made.multiple_of.items():
        read = f"{name}.data_ptr" if name in made.pointers else name
        conditions.append(f"{read} % {multiple} == 0")
    conditions += [f"{name} == {value}" for name, value in made.equal_to.items()]
    return " and ".join(conditions) or None


def _attributes(facts: Facts) -> dict[str, Any]:
    metadata, found = facts.metadata, {}
    if metadata.num_ctas > 1:
        found = {"cluster": int(metadata.num_ctas), "cluster_scheduling_policy": "spread"}
    if metadata.launch_pdl:
        found["programmatic_dependent_launch"] = True
    if metadata.launch_cooperative_grid:
        found["cooperative"] = True
    return found
