"""Looks at what was read of a CUDA source text."""

from __future__ import annotations

from collections.abc import Iterator

from tvmffi_cubin.cuda_item import Item, Span
from tvmffi_cubin.cuda_text import read


def items(text: str) -> tuple[Item, ...]:
    return read(text).items


def only(text: str) -> Item:
    """Return the one item of a text, which is all of it."""
    (item,) = read(text).items
    assert text[slice(*item.span)] == text.strip()
    return item


def everything(items: tuple[Item, ...]) -> Iterator[Item]:
    for item in items:
        yield item
        yield from everything(item.children)


def cut(text: str, span: Span | None) -> str:
    return "" if span is None else text[slice(*span)]


def params(text: str) -> list[str]:
    """Return the names of the only item's parameters; of one without, where it would be put."""
    item = only(text)
    assert item.params is not None
    return [
        ("..." if param.is_pack else "")
        + (param.name or text[param.span.start : param.name_at] + " _")
        for param in item.params
    ]
