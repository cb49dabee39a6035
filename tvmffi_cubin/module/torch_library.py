"""A module's functions as torch operators: ``torch.ops.<namespace>.<function>``."""

from __future__ import annotations

import keyword
from typing import TYPE_CHECKING, Any

from ..kernels.types import parse_type

if TYPE_CHECKING:
    from .function import Function
    from .module import Module

_SCALARS = {"int": "SymInt", "uint": "SymInt", "bool": "bool", "float": "float", "bfloat": "float"}

# Keeps each operator registered.
_libraries: dict[str, Any] = {}


def register(module: Module, namespace: str) -> None:
    """Register the generated functions, replacing operators of the same name."""
    import torch

    for name in module.functions:
        function, operator = module.get_function(name), f"{namespace}::{name}"
        text = schema(function)
        if operator in _libraries:
            _libraries.pop(operator)._destroy()
        library = _libraries[operator] = torch.library.Library(namespace, "FRAGMENT")
        library.define(f"{name}{text}", tags=(torch.Tag.pt2_compliant_tag,))
        library.impl(name, function, "CompositeExplicitAutograd")
        torch.library.register_fake(operator, lambda *_: None, lib=library)


def schema(function: Function) -> str:
    """Return a function's signature in torch's schema language."""
    if any("grid" not in x for x in function._launches):
        raise TypeError(f"torch_library: {function.name} has no grid: pass a Launch with one")
    parameters = []
    for index, (name, text) in enumerate(function.params):
        types = [parse_type(x) for x in text.split(" | ")]
        kind = types[0].kind
        if kind == "pointer":
            is_read = all(x.text.startswith("const ") for x in types)
            declared = "Tensor?" if is_read else f"Tensor(a{index}!)?"
        elif kind in _SCALARS:
            declared = _SCALARS[kind]
        else:
            what = f"{function.name} takes {text} {name}, a type that torch operators do not have"
            raise TypeError(f"torch_library: {what}: set it with Launch(args=...)")
        parameters.append(f"{declared} {f'arg{index}' if keyword.iskeyword(name) else name}")
    return f"({', '.join(parameters)}) -> ()"
