"""The specialisation of a function to be compiled: types with hints, examples and constexprs."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from .kernel import DIVISIBILITY, Path
from .types import descriptor, kernel_type


class Specialisation(NamedTuple):
    """What Triton's compiler takes besides the function and its options."""

    signature: dict[str, Any]  # Triton's types by argument, of tuples a tuple of them
    constexprs: dict[Path, Any]  # the values of those whose type is "constexpr"
    attrs: dict[Path, Any]  # what Triton may rely on
    fixed: set[Path]  # those of `constexprs` that are no arguments of a launch
    padding: dict[str, str]  # of tensor descriptors that were given as examples
    rounded: set[str]  # those of them that are read as tf32


def specialise(
    triton: Any, fn: Any, backend: Any, given: Any, constexprs: Mapping[str, Any]
) -> Specialisation:
    """Return the specialisation that a signature and constexprs ask for."""
    made = Specialisation({}, {}, {}, set(), {}, set())
    where = f"{fn.__name__}({', '.join(fn.arg_names)})"
    entries = _entries(where, fn, given, constexprs)
    if unknown := {*entries, *constexprs}.difference(fn.arg_names):
        raise TypeError(f"{where} has no argument {min(unknown)!r}")
    binder = triton.runtime.jit.create_function_from_signature(fn.signature, fn.params, backend)
    defaults = {param.name: param.default for param in fn.params if param.has_default}
    values = {**defaults, **entries, **constexprs}
    for index, param in enumerate(fn.params):
        path, name, type_ = (index,), param.name, None
        value, is_fixed = values.get(name), name in constexprs or param.is_constexpr
        if name not in constexprs and isinstance(entries.get(name), str):
            value, type_ = _literal(entries[name].strip())
            is_fixed = type_ is None
        if name not in values or (param.is_constexpr and type_):
            remedy = f"signature={{{name!r}: '*fp32'}}"
            if param.is_constexpr:
                remedy = f"constexprs={{{name!r}: ...}}"
            raise TypeError(f"{where}: {name!r} is not given, as in {remedy}")
        if is_fixed:
            made.signature[name] = "constexpr"
            made.constexprs[path] = value
            made.fixed.add(path)
        elif type_:
            _take_type(made, path, name, type_, f"{where}: argument {name!r}")
        else:
            example = _example(triton, value)
            try:
                _, found, _ = binder(**{**dict.fromkeys(fn.arg_names), name: example})
            except Exception as error:
                raise TypeError(
                    f"{where}: argument {name!r}: Triton takes no {type(example).__name__}: {error}"
                ) from error
            made.signature[name] = found[index][0]
            _take_leaves(made, path, name, found[index], example, backend)
    return made


def _entries(where: str, fn: Any, given: Any, constexprs: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a signature gives for each argument."""
    if isinstance(given, str):
        # Brackets may have commas, too: tensordesc<fp16[64,64]>.
        given = re.findall(r"(?:[^,<]|<[^>]*>)+", given)
    if not isinstance(given, Mapping):
        params = [x for x in fn.params if not x.is_constexpr and x.name not in constexprs]
        params = fn.params if len(given) == len(fn.params) else params
        if len(given) > len(params):
            raise TypeError(f"{where}: signature has {len(given)} entries, wanted {len(params)}")
        given = {param.name: x for param, x in zip(params, given, strict=False)}
    return {
        name: x
        for name, x in given.items()
        if not (isinstance(x, str) and x.strip() == "constexpr")
    }


def _literal(text: str) -> tuple[Any, str | None]:
    """Return the value that a text is, or the type."""
    try:
        return ast.literal_eval(text), None
    except (ValueError, SyntaxError):
        return None, text


def _take_type(made: Specialisation, path: Path, name: str, text: str, what: str) -> None:
    """Take a type with a hint, as Triton's ahead-of-time tool writes them."""
    type_, colon, hint = (part.strip() for part in text.partition(":"))
    try:
        takes_hint = not descriptor(type_) and bool(kernel_type(type_)) and type_[0] in "*iu"
    except ValueError as error:
        raise ValueError(f"{what}: {error}") from None
    hints = ("16",) if type_[0] == "*" else ("1", "16")
    if colon and not (takes_hint and hint in hints):
        raise ValueError(f"{what}: {text!r}: hints are :16, and of integers :1")
    made.signature[name] = "constexpr" if hint == "1" else type_
    if hint == "1":
        made.constexprs[path] = 1
    elif hint == "16":
        made.attrs[path] = [[DIVISIBILITY, 16]]


def _example(triton: Any, value: Any) -> Any:
    """Return an example that Triton takes; arrays without an address it does not."""
    if isinstance(value, tuple):
        made = [_example(triton, item) for item in value]
        return type(value)(*made) if hasattr(value, "_fields") else tuple(made)
    if type(value).__module__ == "numpy" and hasattr(value, "item") and not value.shape:
        return value.item()
    if hasattr(value, "dtype") and hasattr(value, "shape") and not hasattr(value, "data_ptr"):
        return triton.runtime.jit.MockTensor(value.dtype)
    return triton.runtime.jit.MockTensor.wrap_dtype(value)


def _take_leaves(
    made: Specialisation, path: Path, name: str, found: Any, example: Any, backend: Any
) -> None:
    """Take what Triton made of an example: a type and a key, of a tuple tuples of them."""
    type_, key = found
    if isinstance(type_, tuple):
        keys = key if isinstance(key, tuple) else [None] * len(type_)
        for index, leaf in enumerate(zip(type_, keys, strict=True)):
            inner, value = f"{name}_{index}", example[index]
            _take_leaves(made, (*path, index), inner, leaf, value, backend)
    elif type_ == "constexpr":
        made.constexprs[path] = example
    else:
        if isinstance(key, str) and (attributes := backend.parse_attr(key)):
            made.attrs[path] = attributes
        if type_.startswith("tensordesc"):
            made.padding[name] = getattr(example, "padding", "zero")
            if getattr(example, "round_f32_to_tf32", False):
                made.rounded.add(name)
