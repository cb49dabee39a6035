"""A kernel's parameters as they hold in one launch: the source's, or those that it declares."""

from __future__ import annotations

from collections.abc import Sequence

from .bound_params import ModuleParam
from .exported import contradicts
from .function import KernelRef
from .kernels.types import Param, parse_params
from .launch import Launch
from .map_binding import MAP, is_for_map
from .trailing import declared_with, own_count, with_declared

__all__ = ["declared_params", "kernel_params"]


def kernel_params(
    where: str, launch: Launch, ref: KernelRef, trailing: tuple[ModuleParam, ...] = ()
) -> tuple[Param, ...]:
    """Return the kernel's parameters with the names and types that hold in a launch.

    Raises
    ------
    ValueError
        They are not known, or what is declared does not fit the kernel; the message begins with
        `where`.
    """
    count = len(ref.kernel.params)
    own = own_count(ref.kernel, ref.display, trailing)
    ref = with_declared(where, ref, trailing)
    if launch.params is None:
        if ref.params is None:
            sizes = ", ".join(f"{p.size}" for p in ref.kernel.params)
            raise ValueError(
                f"{where}: its parameters are not known from a source; declare them, "
                f'as in Launch(params="const float* x, int n"): there are {count}, of '
                f"{sizes or 'no'} bytes"
            )
        return ref.params
    declared = declared_params(where, launch.params)
    by_name = {p.name: p for p in declared}
    if ref.params is not None and ref.names_known:
        needed = [p for p in ref.params[:own] if p.name not in launch.args]
        if all(p.name in by_name for p in needed):
            given = (by_name.get(p.name, p) for p in ref.params)
            params = tuple(
                p if is_for_map(launch, x) else x for p, x in zip(ref.params, given, strict=True)
            )
            return _checked(where, params, ref)
    left_out = [name for name in launch.args if name not in by_name]
    declared = declared_with(declared, ref, trailing)
    if len(declared) < count:
        raise ValueError(
            f"{where}: params declares {len(declared)} parameters, the kernel has "
            f"{count}{_known(ref, left_out)}"
        )
    slots = zip(declared, ref.kernel.params, strict=False)
    params = tuple(
        Param(p.name, MAP) if slot.size == MAP.size and is_for_map(launch, p) else p
        for p, slot in slots
    )
    return _checked(where, params, ref, left_out)


def declared_params(where: str, text: str) -> tuple[Param, ...]:
    """Parse what a launch declares.

    Raises
    ------
    ValueError
        It cannot be parsed; the message begins with `where`.
    """
    try:
        return parse_params(text)
    except ValueError as error:
        raise ValueError(f"{where}: params: {error}") from None


def _known(ref: KernelRef, left_out: Sequence[str] = ()) -> str:
    """Return what the kernel has, and what is declared nowhere though `args` gives it."""
    end = f"; declare what args gives in its place, too: {', '.join(left_out)}" if left_out else ""
    if ref.params is None:
        return f", of {', '.join(str(p.size) for p in ref.kernel.params)} bytes{end}"
    return f": ({', '.join(f'{p.type.text} {p.name}' for p in ref.params)}){end}"


def _checked(
    where: str, params: tuple[Param, ...], ref: KernelRef, left_out: Sequence[str] = ()
) -> tuple[Param, ...]:
    for index, (param, slot) in enumerate(zip(params, ref.kernel.params, strict=True)):
        if param.type.size is not None and param.type.size != slot.size:
            raise ValueError(
                f"{where}: params declares parameter {index + 1} as "
                f"'{param.type.text} {param.name}' of {param.type.size} bytes, in the image it "
                f"has {slot.size}{_known(ref, left_out)}"
            )
        known = None if ref.opaque else ref.params
        real = known[index].type if known is not None else None
        if real and contradicts(param.type, real):
            raise ValueError(
                f"{where}: params declares parameter {index + 1} as "
                f"'{param.type.text} {param.name}', the source has '{real.text}'"
            )
    return params
