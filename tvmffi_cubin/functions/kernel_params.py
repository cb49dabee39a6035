"""A kernel's parameters as they hold in one launch: the source's, or those that are declared.

The last ones may be the module's, `bound_params`, which are bound, and not the callers' concern. Of
kernels of images in files all is known by declaration alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace
from typing import Any

from ..kernels.cubin import Kernel, Parameter
from ..kernels.types import CxxType, Param, parse_params, parse_type, sized_type
from ..launches.expression import Name, parse
from ..launches.form import to_json
from ..launches.launch import Launch
from ..launches.tensor_map import TensorMap
from ..launches.values import ModuleParam
from .function import KernelRef, contradicts

MAP = parse_type("CUtensorMap")
"""What a kernel takes a map as."""

# Of a launch, what names no parameter in an expression.
_NO_EXPRESSIONS = ("params", "kernel", "image", "meta", "strided")
_NAME = re.compile(r"[A-Za-z_]\w*")
_MOST_THREADS = 1024


def mapped_tensor(launch: Launch, name: str) -> str | None:
    """Return the tensor of which a kernel parameter is given the map; None where it is given none.

    What `args` say is another name for a parameter is followed.
    """
    value = launch.args.get(name)
    if not isinstance(value, TensorMap):
        return None
    tensor = value.tensor or name
    other = launch.args.get(tensor)
    if isinstance(other, str):
        tree = parse(other)
        tensor = tree.name if isinstance(tree, Name) else tensor
    return tensor


def _is_for_map(launch: Launch, param: Param) -> bool:
    """Whether a tensor is declared under the name of a kernel parameter that takes its map."""
    return param.type.kind == "pointer" and mapped_tensor(launch, param.name) == param.name


def declared_params(where: str, text: str) -> tuple[Param, ...]:
    """Parse what a launch declares; raises ValueError, whose message begins with `where`."""
    try:
        return parse_params(text)
    except ValueError as error:
        raise ValueError(f"{where}: params: {error}") from None


def kernel_params(
    where: str, launch: Launch, ref: KernelRef, trailing: tuple[ModuleParam, ...] = ()
) -> tuple[Param, ...]:
    """Return the kernel's parameters with the names and types that hold in a launch."""
    count = len(ref.kernel.params)
    own = own_count(ref.kernel, ref.display, trailing)
    ref = _with_declared(where, ref, trailing)
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
                p if _is_for_map(launch, x) else x for p, x in zip(ref.params, given, strict=True)
            )
            return _checked(where, params, ref)
    left_out = [name for name in launch.args if name not in by_name]
    declared = _with_bound(declared, ref, trailing)
    if len(declared) < count:
        raise ValueError(
            f"{where}: params declares {len(declared)} parameters, the kernel has "
            f"{count}{_known(ref, left_out)}"
        )
    params = tuple(
        Param(p.name, MAP) if slot.size == MAP.size and _is_for_map(launch, p) else p
        for p, slot in zip(declared, ref.kernel.params, strict=False)
    )
    return _checked(where, params, ref, left_out)


def _checked(
    where: str, params: tuple[Param, ...], ref: KernelRef, left_out: Sequence[str] = ()
) -> tuple[Param, ...]:
    for index, (param, slot) in enumerate(zip(params, ref.kernel.params, strict=True)):
        declared = f"{where}: params declares parameter {index + 1} as '{param.type.text}"
        if param.type.size is not None and param.type.size != slot.size:
            raise ValueError(
                f"{declared} {param.name}' of {param.type.size} bytes, in the image it has "
                f"{slot.size}{_known(ref, left_out)}"
            )
        known = None if ref.opaque else ref.params
        if known is not None and contradicts(param.type, known[index].type):
            raise ValueError(f"{declared} {param.name}', the source has '{known[index].type.text}'")
    return params


def _known(ref: KernelRef, left_out: Sequence[str]) -> str:
    """Return what the kernel has, and what is declared nowhere though `args` gives it."""
    end = f"; declare what args gives in its place, too: {', '.join(left_out)}" if left_out else ""
    if ref.params is None:
        return f", of {', '.join(str(p.size) for p in ref.kernel.params)} bytes{end}"
    return f": ({', '.join(f'{p.type.text} {p.name}' for p in ref.params)}){end}"


# The last parameters, which the module binds


def own_count(kernel: Kernel, display: str, trailing: Sequence[ModuleParam]) -> int:
    """Return how many parameters of a kernel are its callers'."""
    count = len(kernel.params)
    if count < len(trailing):
        names = ", ".join(param.name for param in trailing)
        raise ValueError(
            f"bound_params are the last parameters of every kernel, {names}, and kernel {display} "
            f"has {count} parameter{'' if count == 1 else 's'}"
        )
    return count - len(trailing)


def declared_type(param: ModuleParam) -> CxxType | None:
    """Return the type that a parameter is declared as; None where it is a name alone."""
    return parse_params(param.declared)[0].type if param.declared else None


def launch_with(launch: Launch, params: Sequence[Param], trailing: Sequence[ModuleParam]) -> Launch:
    """Return a launch whose last parameters are bound, but for those that it gives itself."""
    if not trailing:
        return launch
    last = params[len(params) - len(trailing) :]
    args = {param.name: x.bound for param, x in zip(last, trailing, strict=True)}
    return replace(launch, args={**args, **launch.args})


def _with_declared(where: str, ref: KernelRef, trailing: Sequence[ModuleParam]) -> KernelRef:
    """Return a kernel with those types of its last parameters that `bound_params` declares."""
    if not trailing:
        return ref
    own = own_count(ref.kernel, ref.display, trailing)
    params = list(ref.params or ())
    names = [param.name for param in params[own:]]
    for name, param in zip(names, trailing, strict=False):
        # Of one type, those in another order would be mixed up.
        if param.name != name and param.name in names:
            raise ValueError(
                f"{where}: bound_params names {param.name!r} where the kernel has {name!r}: give "
                f"them in the kernel's order, {', '.join(names)}"
            )
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
        params[index] = real._replace(type=declared)
    return ref._replace(params=tuple(params)) if params else ref


def _with_bound(
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


# Kernels of images in files


def declared_kernel(
    function: str, image: str, launch: Launch, launches: Sequence[Launch]
) -> KernelRef:
    """Return a kernel of an image in a file as its launch, one of its function's, declares it.

    What is declared last may be for expressions alone, as a stream is, or for the other launches:
    only the file tells. What comes before one for which neither holds is the kernel's, and so is
    what `args` give.
    """
    wanted = (launch.kernel or function).strip()
    where = f"function {function!r}, kernel {wanted!r}"
    if launch.params is None:
        raise ValueError(
            f"{where}: image {image!r} is a file of its own, which is seen only when it is loaded: "
            'declare all that the kernel takes, as in Launch(params="const float* x, int n")'
        )
    declared = declared_params(where, launch.params)
    params = tuple(Param(p.name, MAP) if _is_for_map(launch, p) else p for p in declared)
    for param in params:
        if param.type.size is None:
            raise ValueError(
                f"{where}: params declares '{param.type.text} {param.name}', a type of unknown "
                f"size, and image {image!r} is a file of its own, which does not tell it here"
            )
    missing = next((name for name in launch.args if name not in {p.name for p in params}), None)
    if missing is not None:
        raise ValueError(
            f"{where}: args gives {missing!r}, which params does not declare: image {image!r} is a "
            "file of its own, so params has all that the kernel takes, in order"
        )
    kernel = Kernel(
        name=wanted,
        params=tuple(Parameter(i, 0, param.type.size or 0) for i, param in enumerate(params)),
        registers=0,
        static_smem_bytes=0,
        local_bytes=0,
        max_threads=_MOST_THREADS,
    )
    others = {name for x in launches if x is not launch for name in _NAME.findall(x.params or "")}
    # As of images that are seen: a function's own name is the kernel's whole name.
    return KernelRef(
        image,
        kernel,
        wanted,
        params,
        opaque=True,
        least_params=_least(params, launch, others),
        by_part=launch.kernel is not None,
    )


def _least(params: tuple[Param, ...], launch: Launch, others: Set[str]) -> int:
    read = {
        name
        for field, value in to_json(launch).items()
        if field not in _NO_EXPRESSIONS
        for text in _texts(value)
        for name in _NAME.findall(text)
    }
    own = [i for i, p in enumerate(params) if p.name in launch.args or p.name not in read | others]
    return own[-1] + 1 if own else 0


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)
