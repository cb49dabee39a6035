"""Kernels as the binder sees them, made from a declaration."""

from __future__ import annotations

from typing import Any

from tvmffi_cubin import Launch
from tvmffi_cubin.device.signature import KernelSignature, check
from tvmffi_cubin.functions.exports import bind
from tvmffi_cubin.functions.plan import Plan
from tvmffi_cubin.kernels.cubin import Kernel
from tvmffi_cubin.kernels.demangle import FunctionName
from tvmffi_cubin.kernels.types import parse_params

Launches = list[tuple[Launch, KernelSignature]]


def kernel_ref(
    declaration: str,
    *,
    sizes: dict[str, int] | None = None,
    names_known: bool = True,
) -> KernelSignature:
    """Return the kernel of a declaration such as ``"copy(const float* x, float* y)"``.

    Parameters
    ----------
    sizes : dict, optional
        Sizes of the parameters whose type does not say it.
    names_known : bool
        Whether a source tells the names.
    """
    name, _, inner = declaration.partition("(")
    params = parse_params(inner.removesuffix(")"))
    filled = tuple(param.type.size or (sizes or {})[param.name] for param in params)
    symbol = name.replace("::", "_")
    kernel = Kernel(symbol, filled, 16, 0, 0, 1024)
    spelled = FunctionName(name, symbol, None)
    made = KernelSignature(kernel, spelled, (), names_known, 1, image="kernels")
    return made._replace(params=check(params, made, name))


def launched(declaration: str, *, sizes: dict[str, int] | None = None, **options: Any) -> Launches:
    """Return one launch of the kernel of a declaration, in the shape 1, 1."""
    launch = Launch(**({"grid": 1, "block": 1} | options))
    return [(launch, kernel_ref(declaration, sizes=sizes))]


def facts(*instances: Launches) -> dict[str, Any]:
    """Return what a manifest says of the function ``f`` of some instances."""
    plan = Plan({}, "x86_64")
    bind(plan, "f", instances)
    return plan.functions["f"]


def taken(*launches: Launches) -> str:
    """Return what the function of some launches takes."""
    found = facts([x for launch in launches for x in launch])["signature"]
    return found.removeprefix("f(").removesuffix(")")
