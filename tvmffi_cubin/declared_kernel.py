"""Kernels of images in files, which are not seen before they are loaded: known by declaration."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any

from .function import KernelRef
from .kernels.cubin import Kernel, Parameter
from .kernels.types import Param, parse_params
from .launch import Launch
from .launch_json import launch_value
from .map_binding import MAP, is_for_map

__all__ = ["declared_kernel"]

_NAME = re.compile(r"[A-Za-z_]\w*")
# Of a launch, what names no parameter in an expression.
_NO_EXPRESSIONS = ("params", "kernel", "image", "meta", "strided")
_SMALL_SMEM = 48 * 1024
_MOST_THREADS = 1024


def declared_kernel(
    function: str, image: str, launch: Launch, launches: Sequence[Launch]
) -> KernelRef:
    """Return a kernel as its launch declares it, one of those of its function.

    What is declared last may be for expressions alone, as a stream is, or for the other launches:
    only the file tells. What comes before one for which neither holds is the kernel's, and so is
    what `args` give.

    Raises
    ------
    ValueError
        It declares nothing, or something of which the size is not known.
    """
    wanted = (launch.kernel or function).strip()
    where = f"function {function!r}, kernel {wanted!r}"
    if launch.params is None:
        raise ValueError(
            f"{where}: image {image!r} is a file of its own, which is seen only when it is loaded: "
            'declare all that the kernel takes, as in Launch(params="const float* x, int n")'
        )
    try:
        declared = parse_params(launch.params)
    except ValueError as error:
        raise ValueError(f"{where}: params: {error}") from None
    params = tuple(Param(p.name, MAP) if is_for_map(launch, p) else p for p in declared)
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
    sizes = tuple(param.type.size or 0 for param in params)
    kernel = Kernel(
        name=wanted,
        params=tuple(Parameter(i, 0, size) for i, size in enumerate(sizes)),
        registers=0,
        # Of none it is known what it leaves to dynamic shared memory: each is asked for.
        static_smem_bytes=_SMALL_SMEM,
        local_bytes=0,
        max_threads=_MOST_THREADS,
    )
    others = {name for x in launches if x is not launch for name in _NAME.findall(x.params or "")}
    least = _least(params, launch, others)
    # As of images that are seen: a function's own name is the kernel's whole name.
    by_part = launch.kernel is not None
    return KernelRef(
        image, kernel, wanted, params, opaque=True, least_params=least, by_part=by_part
    )


def _least(params: tuple[Param, ...], launch: Launch, others: Set[str]) -> int:
    fields = launch_value(launch)
    read = {
        name
        for field, value in fields.items()
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
