"""Specialization of a Triton function: types with hints, examples and constexprs."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Mapping, Set
from contextlib import suppress
from typing import Any

from ..launches.values import told
from .launch import descriptor, kernel_type


def specialise(
    triton: Any, fn: Any, backend: Any, given: Any, constexprs: Mapping[str, Any]
) -> tuple[Any, Set[str], dict[str, Any]]:
    """Return the source for Triton's compiler, from a signature and constexprs.

    Also return the arguments with a fixed value, and examples of tensor descriptors by name.
    """
    where = f"{fn.__name__}({', '.join(fn.arg_names)})"
    entries, constexprs = _entries(where, fn, given, constexprs), dict(constexprs)
    for name, entry in entries.items():
        if isinstance(entry, str):
            with suppress(ValueError, SyntaxError):  # a type, not a value
                constexprs.setdefault(name, ast.literal_eval(entry.strip()))
    if unknown := {*entries, *constexprs}.difference(fn.arg_names):
        raise TypeError(f"{where} has no argument {min(unknown)!r}")
    defaults = {param.name: param.default for param in fn.params if param.has_default}
    values = {**defaults, **entries, **constexprs}
    # As Triton's binder returns them: a type, with the key of what may be assumed.
    types: dict[str, tuple[Any, Any]] = {}
    texts = {x: y for x, y in entries.items() if isinstance(y, str) and x not in constexprs}
    for param in fn.params:
        name = param.name
        if name not in values or (param.is_constexpr and name in texts):
            kind, wanted = ("constexprs", "...") if param.is_constexpr else ("signature", "'*fp32'")
            remedy = f"{kind}={{{name!r}: {wanted}}}"
            raise TypeError(f"{where}: {name!r} is missing; pass it as in {remedy}")
        if param.is_constexpr or name in constexprs:
            types[name] = "constexpr", None
        elif name in texts:
            types[name] = _typed(texts[name], f"{where}: argument {name!r}")
            values[name] = 1  # used only for ":1"
    bound = {x: values[x] if x in types else _example(triton, values[x]) for x in fn.arg_names}
    binder = triton.runtime.jit.create_function_from_signature(fn.signature, fn.params, backend)
    _, found, _ = binder(**bound | dict.fromkeys(types))
    chosen = [types.get(name, made) for name, made in zip(fn.arg_names, found, strict=True)]
    _, signature, constants, attrs = fn._pack_args(backend, {}, bound, chosen, None)
    descriptors = {}
    find, look_up = triton._utils.find_paths_if, triton._utils.get_iterable_path
    for path in find([*signature.values()], lambda _, type_: type_.startswith("tensordesc")):
        name = "_".join((fn.arg_names[path[0]], *map(str, path[1:])))
        descriptors[name] = look_up([*bound.values()], path)
    source = triton.compiler.ASTSource
    if fn.is_gluon():
        source = importlib.import_module("triton.experimental.gluon._runtime").GluonASTSource
    return source(fn, signature, constants, attrs), constexprs.keys(), descriptors


def _entries(where: str, fn: Any, given: Any, constexprs: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a signature's entries by argument."""
    if isinstance(given, Mapping):
        return given
    if isinstance(given, str):
        # Brackets may contain commas: tensordesc<fp16[64,64]>.
        given = re.findall(r"(?:[^,<]|<[^>]*>)+", given)
    names = [x.name for x in fn.params if not x.is_constexpr and x.name not in constexprs]
    names = fn.arg_names if len(given) == len(fn.params) else names
    if len(given) > len(names):
        raise TypeError(f"{where}: signature has {len(given)} entries, expected {len(names)}")
    return dict(zip(names, given, strict=False))


def _typed(text: str, what: str) -> tuple[str, str | None]:
    """Parse a type with a hint, in the syntax of Triton's ahead-of-time compiler."""
    type_, colon, hint = (part.strip() for part in text.partition(":"))
    with told(what):
        if not descriptor(type_):
            kernel_type(type_)
    hints = {"*": ("16",), "i": ("1", "16"), "u": ("1", "16")}.get(type_[0], ())
    if colon and hint not in hints:
        raise ValueError(f"{what}: {text!r}: hints are :16 and, for integers, :1")
    return ("constexpr", None) if hint == "1" else (type_, "D" if hint else None)


def _example(triton: Any, value: Any) -> Any:
    """Return an example in a form that Triton accepts."""
    if isinstance(value, tuple):
        items = [_example(triton, item) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if hasattr(value, "dtype") and hasattr(value, "shape") and not hasattr(value, "data_ptr"):
        return triton.runtime.jit.MockTensor(value.dtype)
    return value
