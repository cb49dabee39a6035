"""Items that go where what they name is: assertions, instantiations, namespaces made visible."""

from __future__ import annotations

import re

from .cuda_item import Item
from .item_words import is_device_function, is_kernel

__all__ = ["is_follower", "opened_namespace"]

_USING_NAMESPACE = re.compile(r"\s*using\s+namespace\s+(?:::\s*)?(\w+)")


def opened_namespace(text: str, item: Item) -> str:
    """Return the outermost namespace that a ``using namespace`` names; empty for other items."""
    if item.kind != "using":
        return ""
    match = _USING_NAMESPACE.match(text, item.span.start, item.span.end)
    return match[1] if match else ""


def is_follower(text: str, item: Item) -> bool:
    """Whether it goes where what it names is."""
    if item.kind == "instantiation":
        return not is_kernel(item) and not is_device_function(item)
    return item.kind == "assert" or bool(opened_namespace(text, item))
