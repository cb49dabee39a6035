"""The parameters of kernels in host code: those that launches pass, without what is bound."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .conditional_params import conditional_params
from .cuda_item import Item, Param
from .item_words import is_kernel
from .text_edits import Edit, blank

__all__ = ["bound_edits", "bound_types", "own_params"]


def own_params(item: Item, bound: Sequence[str]) -> tuple[Param, ...]:
    """Return the parameters of a kernel that launches pass.

    Parameters
    ----------
    item : Item
        The kernel.
    bound : sequence of str
        Names of the last parameters of all kernels, which the module binds.
    """
    params = item.params or ()
    return params[: max(0, len(params) - len(bound))]


def bound_edits(text: str, file: str, item: Item, bound: Sequence[str]) -> list[Edit]:
    """Return the edits that leave kernels without the parameters that are bound.

    Parameters
    ----------
    text : str
        The text that it is in.
    file : str
        What messages call that.
    item : Item
        A kernel, defined, declared or instantiated; or a class with such among its friends.
    bound : sequence of str
        As in `own_params`.

    Raises
    ------
    ValueError
        A kernel has too few parameters, or has the names in another order.
    """
    edits: list[Edit] = []
    for kernel in _kernels(item) if bound else ():
        _check(text, file, kernel, bound)
        params, own = kernel.params or (), own_params(kernel, bound)
        start = own[-1].span.end if own else params[0].span.start
        edits += blank(text, start, params[-1].span.end)
    return edits


def bound_types(text: str, item: Item, bound: Sequence[str]) -> tuple[str, ...]:
    """Return how the source writes the types of a kernel's parameters that are bound."""
    params = (item.params or ())[len(own_params(item, bound)) :]
    return tuple(map(_type_text, (text[x.span.start : x.span.end] for x in params), params))


def _type_text(text: str, param: Param) -> str:
    at = param.name_at - param.span.start
    # What follows the name may be an array's bounds; behind that, a default argument.
    return (text[:at] + text[at + len(param.name) :]).partition("=")[0].strip()


def _kernels(item: Item) -> Iterator[Item]:
    if is_kernel(item):
        if item.params is not None:
            yield item
    elif item.kind == "type":
        for child in item.children:
            yield from _kernels(child)


def _check(text: str, file: str, kernel: Item, bound: Sequence[str]) -> None:
    params, name = kernel.params or (), kernel.names[-1]
    if conditional_params(text, kernel):
        raise ValueError(
            f"{file}:{kernel.line}: the parameters of the kernel {name} depend on an #if, and "
            "bound_params are the last of them: put the whole kernel into each of its branches"
        )
    if len(params) < len(bound):
        raise ValueError(
            f"{file}:{kernel.line}: bound_params are the last parameters of every kernel, "
            f"{', '.join(bound)}, and kernel {name} has {len(params)} "
            f"parameter{'' if len(params) == 1 else 's'}"
        )
    last = [param.name for param in params[len(params) - len(bound) :]]
    for own, wanted in zip(last, bound, strict=True):
        if own != wanted and wanted in last:
            raise ValueError(
                f"{file}:{kernel.line}: bound_params names {wanted!r} where kernel {name} has "
                f"{own!r}: give them in the kernel's order, {', '.join(last)}"
            )
