"""Kernels of an image that came without a source: what is known of their parameters."""

from __future__ import annotations

from collections.abc import Sequence

from .cubin import Cubin, Kernel, Parameter
from .cxx_type import CxxType, Param, parse_type, sized_type
from .demangle import FunctionName, function_name, spelled_types
from .kernel_signature import KernelSignature, resolve_declared

__all__ = ["opaque_signatures"]


def opaque_signatures(cubin: Cubin) -> tuple[KernelSignature, ...]:
    """Return the kernels of an image, as far as they are known.

    Names and types are those of the image's signatures. Where it has none for a kernel, the types
    are those that its symbol spells; what that leaves open is known by its size.

    Raises
    ------
    TypeError, ValueError
        The image's signatures do not fit it.
    """
    _check_signatures(cubin)
    return tuple(_signature(kernel, cubin.signatures.get(kernel.name)) for kernel in cubin.kernels)


def _check_signatures(cubin: Cubin) -> None:
    symbols = [kernel.name for kernel in cubin.kernels]
    for symbol, text in cubin.signatures.items():
        if not isinstance(symbol, str) or not isinstance(text, str):
            raise TypeError(
                "Cubin.signatures maps a kernel's symbol to its parameters, as str, got "
                f"{symbol!r}: {text!r}"
            )
        if symbol not in symbols:
            raise ValueError(
                f"Cubin.signatures has {symbol!r}, which is no kernel of the image; it has: "
                f"{', '.join(symbols) or 'none'}"
            )


def _signature(kernel: Kernel, declared: str | None) -> KernelSignature:
    name = function_name(kernel.name)
    if declared is None:
        types = _types(name, kernel.params)
        params = tuple(Param(f"arg{index}", type_) for index, type_ in enumerate(types))
    else:
        try:
            params = resolve_declared(declared, kernel)
        except ValueError as error:
            raise ValueError(f"Cubin.signatures[{kernel.name!r}]: {error}") from None
    return KernelSignature(
        symbol=kernel.name,
        name=name.qualified.rpartition("::")[2],
        qualified=name.qualified,
        display=name.display,
        params=params,
        # Where there is none, nothing is left to declare.
        names_known=declared is not None or not params,
        line=None,
        kernel=kernel,
        opaque=declared is None,
    )


def _types(name: FunctionName, slots: Sequence[Parameter]) -> list[CxxType]:
    """Return what a kernel takes: as its symbol has it, if that fits the image, else sizes."""
    spelled = spelled_types(name)
    if spelled is not None and len(spelled) == len(slots):
        types = [_type(text, slot.size) for text, slot in zip(spelled, slots, strict=True)]
        if all(type_.size == slot.size for type_, slot in zip(types, slots, strict=True)):
            return types
    return [sized_type(slot.size) for slot in slots]


def _type(text: str, size: int) -> CxxType:
    try:
        known = parse_type(text)
    except ValueError:
        return sized_type(size)
    # A class of somebody's own, or an enumeration: a number may do as well as bytes.
    return known if known.size is not None else CxxType(known.text, "raw", size)
