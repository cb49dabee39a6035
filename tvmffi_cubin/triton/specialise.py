"""The specialisation of a function to be compiled: types with hints, examples and constexprs."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
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
    binder = triton.runtime.jit.create_function_from_signature(fn.signature, fn.params, backend)
    for index, param in enumerate(fn.params):
        path, name = (index,), param.name
        if name in constexprs:
            _fix(made, path, name, constexprs[name])
        elif name in entries and isinstance(entries[name], str):
            _take_text(made, path, name, entries[name], f"{where}: argument {name!r}", param)
        elif param.is_constexpr and (name in entries or param.has_default):
            _fix(made, path, name, entries.get(name, param.default))
        elif name in entries or param.has_default:
            example = _example(triton, entries.get(name, param.default))
            try:
                _, found, _ = binder(**{**dict.fromkeys(fn.arg_names), name: example})
            except Exception as error:
                raise TypeError(
                    f"{where}: argument {name!r}: Triton takes no {type(example).__name__}: {error}"
                ) from error
            made.signature[name] = found[index][0]
            _take_leaves(made, path, name, found[index], example, backend)
        elif param.is_constexpr:
            raise TypeError(
                f"{where}: the constexpr {name!r} has no value; give it, as in "
                f'constexprs={{"{name}": ...}}'
            )
        else:
            raise TypeError(
                f"{where}: argument {name!r} has no type; give it, as in "
                f'signature={{"{name}": "*fp32", ...}}'
            )
    return made


def _entries(where: str, fn: Any, given: Any, constexprs: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a signature gives for each argument."""
    if isinstance(given, str):
        # Brackets may have commas, too: tensordesc<fp16[64,64]>.
        given = re.findall(r"(?:[^,<]|<[^>]*>)+", given)
    if isinstance(given, Mapping):
        entries = dict(given)
    elif isinstance(given, Sequence) and not isinstance(given, bytes | bytearray):
        entries = _positional(where, fn, given, constexprs)
    else:
        raise TypeError(
            "signature maps argument names to types or examples, is a str of types or a sequence "
            f"of examples, got {type(given).__name__}"
        )
    entries = {name: x for name, x in entries.items() if not _says_constexpr(x)}
    for name in (*entries, *constexprs):
        if name not in fn.arg_names:
            raise TypeError(f"{where} has no argument {name!r}")
        if name in entries and name in constexprs:
            raise TypeError(f"{where}: {name!r} is in signature and in constexprs: give one")
    return entries


def _says_constexpr(entry: Any) -> bool:
    return isinstance(entry, str) and entry.strip() == "constexpr"


def _positional(
    where: str, fn: Any, given: Sequence[Any], constexprs: Mapping[str, Any]
) -> dict[str, Any]:
    params = [x for x in fn.params if not x.is_constexpr and x.name not in constexprs]
    names = [x.name for x in params]
    if len(given) == len(fn.arg_names):
        return dict(zip(fn.arg_names, given, strict=True))
    # As in a call, those with a default may be left out at the end.
    if len(given) <= len(names) and all(x.has_default for x in params[len(given) :]):
        return dict(zip(names, given, strict=False))
    raise TypeError(
        f"{where}: signature has {len(given)} entries, wanted {len(names)}, for "
        f"{', '.join(names) or 'none'}"
    )


def _fix(made: Specialisation, path: Path, name: str, value: Any) -> None:
    made.signature[name] = "constexpr"
    made.constexprs[path] = value
    made.fixed.add(path)


def _take_text(
    made: Specialisation, path: Path, name: str, text: str, what: str, param: Any
) -> None:
    """Take a type with a hint, as Triton's ahead-of-time tool writes them, or a value."""
    text = text.strip()
    if re.match(r"[+-]?\d|True\Z|False\Z|None\Z|['\"]", text):
        try:
            return _fix(made, path, name, ast.literal_eval(text))
        except (ValueError, SyntaxError):
            raise ValueError(f"{what}: {text!r} is no type and no value") from None
    if param.is_constexpr:
        raise TypeError(
            f"{what}: it is a constexpr, got the type {text!r}; give its value, as in "
            f'constexprs={{"{name}": ...}}'
        )
    type_, colon, hint = (part.strip() for part in text.partition(":"))
    if colon and hint not in ("1", "16"):
        raise ValueError(f"{what}: {text!r}: the hint after the colon is 1 or 16, got {hint!r}")
    try:
        is_descriptor = descriptor(type_) is not None or not kernel_type(type_)
    except ValueError as error:
        raise ValueError(f"{what}: {error}") from None
    if colon and (is_descriptor or type_[0] not in "*iu" or (hint == "1" and type_[0] == "*")):
        raise ValueError(f"{what}: {text!r}: an argument of this type has no such hint")
    made.signature[name] = "constexpr" if hint == "1" else type_
    if hint == "1":
        made.constexprs[path] = 1
    elif hint == "16":
        made.attrs[path] = [[DIVISIBILITY, 16]]
    return None


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
    made: Specialisation,
    path: Path,
    name: str,
    found: tuple[Any, Any],
    example: Any,
    backend: Any,
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
