"""Stubs: what stands for kernels' bodies in host code."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .conditional_params import conditional_params
from .cuda_item import Item, Param
from .stub_params import own_params
from .text_edits import Edit, blank

__all__ = ["stub_edits"]

_ARGUMENTS = re.compile(r"\s*<")


def stub_edits(
    text: str, item: Item, scope: Sequence[str], bound: Sequence[str] = ()
) -> list[Edit]:
    """Return the edits that turn a kernel's definition into that of its stub.

    Parameters
    ----------
    text : str
        The text that it is in.
    item : Item
        The kernel; it has a body.
    scope : sequence of str
        The namespaces around it, those without a name left out.
    bound : sequence of str
        Names of its last parameters, which a stub has not.
    """
    assert item.body is not None
    conditional = conditional_params(text, item)
    names, edits = _named(own_params(item, bound), "p", conditional)
    arguments, more = _named(item.template or (), "t")
    types = ", ".join(f"decltype({name.removesuffix('...')}){_dots(name)}" for name in names)
    pointer = f"::tvmffi_cubin::KernelPointer<{types}>" if conditional else f"void (*)({types})"
    kernel = _kernel(text, item, scope, names) + (f"<{', '.join(arguments)}>" if arguments else "")
    words = (f"(static_cast<{pointer}>(&{kernel}))", *names)
    start, end = item.body
    stub = Edit(start, start + 1, f"TVMFFI_CUBIN_STUB({', '.join(words)})")
    return [*edits, *more, stub, *blank(text, start + 1, end)]


def _named(
    params: Sequence[Param], letter: str, conditional: Sequence[int] = ()
) -> tuple[list[str], list[Edit]]:
    """Return how parameters are named as arguments, and edits that name those without a name.

    Conditional ones are given names that mean something where they are not there, too.
    """
    names, edits = [], []
    for index, param in enumerate(params):
        name = param.name
        if index in conditional:
            name = f"tvmffi_cubin_c{conditional.index(index)}"
            end = param.name_at + len(param.name)
            edits.append(Edit(param.name_at, end, name if param.name else f" {name}"))
        elif not name:
            name = f"tvmffi_cubin_{letter}{index}"
            edits.append(Edit(param.name_at, param.name_at, f" {name}"))
        names.append(name + ("..." if param.is_pack else ""))
    return names, edits


def _dots(name: str) -> str:
    return "..." if name.endswith("...") else ""


def _kernel(text: str, item: Item, scope: Sequence[str], names: Sequence[str]) -> str:
    """Return how the kernel is named in its own body, but for the arguments of its template."""
    name = item.names[-1]
    if name in {word.removesuffix("...") for word in names}:
        # A parameter hides it.
        name = "::" + "::".join((*scope, *item.names))
    if item.template == ():
        name += _special_arguments(text, item)
    return name


def _special_arguments(text: str, item: Item) -> str:
    """Return what follows a specialisation's name, up to its parameters."""
    end = item.declarator_end
    for match in re.finditer(rf"\b{re.escape(item.names[-1])}\b", text[:end][item.span.start :]):
        start = item.span.start + match.end()
        if _ARGUMENTS.match(text, start):
            return " ".join(text[start : _closing(text, start)].split())
    return ""


def _closing(text: str, at: int) -> int:
    """Return the offset behind the angle bracket that closes the first one from an offset on."""
    depth = 0
    for match in re.compile(r"[<>()]").finditer(text, at):
        depth += 1 if match[0] in "<(" else -1
        if depth == 0:
            return match.end()
    return at
