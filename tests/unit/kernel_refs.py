"""Kernels as the binder sees them, made from a declaration."""

from __future__ import annotations

from typing import Any

from tvmffi_cubin import Launch, Parameter
from tvmffi_cubin.device.signature import KernelSignature, check
from tvmffi_cubin.functions import bind as binding
from tvmffi_cubin.functions.bind import bind
from tvmffi_cubin.functions.function import (
    COMPUTED,
    FROM_ARGUMENT,
    FROM_COMPUTED,
    BoundLaunch,
    Figure,
    Function,
    Instance,
    KernelRef,
)
from tvmffi_cubin.kernels.cubin import Kernel
from tvmffi_cubin.kernels.types import parse_params


def kernel_ref(
    declaration: str,
    *,
    sizes: dict[str, int] | None = None,
    known: bool = True,
    names_known: bool = True,
    static_smem_bytes: int = 0,
    image: str = "kernels",
) -> KernelRef:
    """Return the kernel of a declaration such as ``"copy(const float* x, float* y)"``.

    Parameters
    ----------
    sizes : dict, optional
        Sizes of the parameters whose type does not say it.
    known : bool
        Whether its parameters are known from a source.
    """
    name, _, inner = declaration.partition("(")
    params = parse_params(inner.removesuffix(")"))
    slots, offset = [], 0
    for ordinal, param in enumerate(params):
        size = param.type.size or (sizes or {})[param.name]
        offset = -(-offset // min(size, 16)) * min(size, 16)
        slots.append(Parameter(ordinal, offset, size))
        offset += size
    kernel = Kernel(name.replace("::", "_"), tuple(slots), 16, static_smem_bytes, 0, 1024)
    found = check(params, kernel, name) if known else ()
    problem = "" if known else "declare its parameters"
    symbol = kernel.name
    signature = KernelSignature(
        *(symbol, symbol, symbol, name), found, names_known, 1, kernel, problem
    )
    return KernelRef(image, signature)


def bound(*launches: tuple[Launch, KernelRef] | str, name: str = "f") -> Instance:
    """Return launches, bound; a str is a declaration, launched in the shape 1, 1."""
    pairs = [
        (Launch(grid=1, block=1), kernel_ref(item)) if isinstance(item, str) else item
        for item in launches
    ]
    return bind(name, pairs)


def function(instance: Instance, name: str = "f", doc: str = "") -> Function:
    """Return the function of one instance."""
    return binding.function(name, [instance], doc=doc)


def passed(instance: Instance, launch: int = 0) -> list[str]:
    """Return which of its arguments a kernel is passed, if it is passed nothing else."""
    sources = instance.launches[launch].sources
    assert all(source.kind == FROM_ARGUMENT for source in sources)
    return [instance.params[source.number].name for source in sources]


def computed(launch: BoundLaunch, parameter: int = -1) -> Figure | bytes:
    """Return what gives a kernel parameter."""
    source = launch.sources[parameter]
    assert source.kind == FROM_COMPUTED
    return next(x.figure for x in launch.steps if (x.target, x.number) == (COMPUTED, source.number))


def figure(launch: BoundLaunch, target: int, axis: int = 0) -> Figure | bytes:
    """Return what a launch's step towards a target evaluates."""
    return next(x.figure for x in launch.steps if (x.target, x.axis) == (target, axis))


def instance(declaration: str, when: str | None = None, **options: Any) -> Instance:
    """Return one launch of the kernel of a declaration, in the shape 1, 1."""
    launch = Launch(**({"grid": 1, "block": 1} | options), when=when)
    return bound((launch, kernel_ref(declaration)))
