"""The last parameters of kernels that the module binds, in the launches of its functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .bound_params import ModuleParam
from .exported import contradicts
from .function import KernelRef
from .kernels.cubin import Kernel
from .kernels.types import CxxType, Param, parse_params, sized_type
from .launch import Launch

__all__ = ["declared_type", "declared_with", "launch_with", "own_count", "with_declared"]


def own_count(kernel: Kernel, display: str, trailing: Sequence[ModuleParam]) -> int:
    """Return how many parameters of a kernel are its callers'.

    Raises
    ------
    ValueError
        It has fewer than are bound.
    """
    count = len(kernel.params)
    if count < len(trailing):
        names = ", ".join(param.name for param in trailing)
        raise ValueError(
            f"bound_params are the last parameters of every kernel, {names}, and kernel {display} "
            f"has {count} parameter{'' if count == 1 else 's'}"
        )
    return count - len(trailing)


def with_declared(where: str, ref: KernelRef, trailing: Sequence[ModuleParam]) -> KernelRef:
    """Return a kernel with those types of its last parameters that `bound_params` declares.

    Raises
    ------
    ValueError
        One does not go with the kernel; the message begins with `where`.
    """
    own = own_count(ref.kernel, ref.display, trailing)
    params = list(ref.params or ())
    _check_order(where, [param.name for param in params[own:]], trailing)
    for index, param in enumerate(trailing, own):
        declared, size = declared_type(param), ref.kernel.params[index].size
        if declared is None:
            continue
        if declared.size not in (None, size):
            raise ValueError(
                f"{where}: bound_params declares {param.declared!r} of {declared.size} bytes, in "
                f"the image that parameter has {size}"
            )
        if not params:
            continue
        real = params[index]
        if not ref.opaque and contradicts(declared, real.type):
            raise ValueError(
                f"{where}: bound_params declares {param.declared!r}, the kernel has "
                f"'{real.type.text} {real.name}'"
            )
        params[index] = replace(real, type=declared)
    return replace(ref, params=tuple(params)) if params else ref


def _check_order(where: str, names: Sequence[str], trailing: Sequence[ModuleParam]) -> None:
    """Refuse names in another order than the kernel has them; of one type, they would be mixed."""
    for name, param in zip(names, trailing, strict=False):
        if param.name != name and param.name in names:
            raise ValueError(
                f"{where}: bound_params names {param.name!r} where the kernel has {name!r}: give "
                f"them in the kernel's order, {', '.join(names)}"
            )


def declared_with(
    given: tuple[Param, ...], ref: KernelRef, trailing: Sequence[ModuleParam]
) -> tuple[Param, ...]:
    """Return a launch's declared parameters with those that are bound in their place.

    Those who declare what callers pass need not know of the others, but may.
    """
    own, count = own_count(ref.kernel, ref.display, trailing), len(ref.kernel.params)
    names = [param.name for param in trailing]
    if not names or [p.name for p in given[own:count]] == names:
        return given
    known = [param.type for param in ref.params or ()]
    known = known or [sized_type(parameter.size) for parameter in ref.kernel.params]
    types = (declared_type(param) or known[own + i] for i, param in enumerate(trailing))
    bound = (Param(name, type_) for name, type_ in zip(names, types, strict=True))
    return (*given[:own], *bound, *given[own:])


def launch_with(launch: Launch, params: Sequence[Param], trailing: Sequence[ModuleParam]) -> Launch:
    """Return a launch whose last parameters are bound, but for those that it gives itself."""
    if not trailing:
        return launch
    last = params[len(params) - len(trailing) :]
    args = {param.name: x.bound for param, x in zip(last, trailing, strict=True)}
    return replace(launch, args={**args, **launch.args})


def declared_type(param: ModuleParam) -> CxxType | None:
    """Return the type that a parameter is declared as; None where it is a name alone."""
    return parse_params(param.declared)[0].type if param.declared else None
