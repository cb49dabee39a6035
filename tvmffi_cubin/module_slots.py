"""What may be bound for the kernels that C++ functions launch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .bound_params import ModuleParam
from .exported import Exported, contradicts
from .function import BoundParam
from .image import Image
from .kernel_signature import KernelSignature
from .kernels.types import CxxType, Param, sized_type
from .trailing import declared_type, own_count

__all__ = ["trailing_slots"]


def trailing_slots(
    images: Sequence[Image], trailing: Sequence[ModuleParam]
) -> tuple[BoundParam, ...]:
    """Return what may be bound for the kernels that C++ functions launch.

    Raises
    ------
    ValueError
        The embedded kernels differ in the sizes of their last parameters, or have too few; or no
        kernel tells the size of one that is not declared either.
    """
    found = list(_signatures(images))
    for signature in found:
        own_count(signature.kernel, signature.display, trailing)
    return tuple(_slot(param, index - len(trailing), found) for index, param in enumerate(trailing))


def _signatures(images: Sequence[Image]) -> Iterator[KernelSignature]:
    for image in images:
        yield from (signature for signature in image.signatures if not signature.from_library)


def _slot(param: ModuleParam, position: int, kernels: Sequence[KernelSignature]) -> BoundParam:
    declared = declared_type(param)
    if declared is not None and declared.size is None:
        raise ValueError(f"bound_params: {param.declared!r} is of a type of unknown size")
    sizes: dict[int, str] = {}
    for signature in kernels:
        sizes.setdefault(signature.kernel.params[position].size, signature.display)
    if declared is not None:
        sizes = {declared.size or 0: "bound_params", **sizes}
    if len(sizes) > 1:
        (one, first), (other, second) = list(sizes.items())[:2]
        raise ValueError(
            f"bound_params: {param.name!r} has {one} bytes in {first} and {other} in {second}: it "
            "is one parameter of all kernels of the module"
        )
    if not sizes:
        raise ValueError(
            f"bound_params: no kernel is embedded that could tell the type of {param.name!r}: "
            f'declare it, as in "unsigned long long* {param.name}"'
        )
    size = next(iter(sizes))
    types = [s.params[position].type for s in kernels if s.params and not s.problem]
    type_ = _checked(param, declared, types) if declared else _common(types, size)
    return BoundParam(Exported(Param(param.name, type_), size), param.bound.required)


def _checked(param: ModuleParam, declared: CxxType, types: Sequence[CxxType]) -> CxxType:
    other = next((x for x in types if contradicts(declared, x)), None)
    if other is not None:
        raise ValueError(f"bound_params declares {param.declared!r}, a kernel has '{other.text}'")
    return declared


def _common(types: Sequence[CxxType], size: int) -> CxxType:
    """Return the type that does for all kernels; where none does, they agree in its size."""
    known = [type_ for type_ in types if type_.kind != "raw"]
    if not known:
        return sized_type(size)
    common = Exported(Param("", known[0]), size)
    for type_ in known[1:]:
        try:
            common = common.merged(Param("", type_), size)
        except ValueError:
            return sized_type(size)
    return common.param.type
