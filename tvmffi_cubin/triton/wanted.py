"""`Wanted`: the specialisation of a function to be compiled, from types or from examples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .hints import Hinted, parse_hinted, split
from .installed import Installed

__all__ = ["DIVISIBILITY", "PLAIN", "Options", "Path", "Wanted", "specialise"]

DIVISIBILITY = "tt.divisibility"
_ALIGNED = 16

Path = tuple[int, ...]
"""Where an argument is: its position, and in tuples the positions there."""


@dataclass(frozen=True)
class Options:
    """What a tensor descriptor's caller chooses of its map."""

    padding: str = "zero"
    tf32: bool = False


PLAIN = Options()


@dataclass
class Wanted:
    """What Triton's compiler takes besides the function and its options.

    Attributes
    ----------
    signature : dict of str to object
        Triton's names of the arguments' types, of tuples a tuple of them.
    constexprs : dict of tuple to object
        The values of those whose type is ``"constexpr"``, by path.
    attrs : dict of tuple to list
        What Triton may rely on, by path.
    fixed : set of tuple
        Those of `constexprs` that are no arguments of a launch.
    descriptors : dict of tuple to Options
        Of tensor descriptors that were given as examples.
    """

    signature: dict[str, Any] = field(default_factory=dict)
    constexprs: dict[Path, Any] = field(default_factory=dict)
    attrs: dict[Path, Any] = field(default_factory=dict)
    fixed: set[Path] = field(default_factory=set)
    descriptors: dict[Path, Options] = field(default_factory=dict)


def specialise(
    triton: Installed, fn: Any, backend: Any, given: Any, constexprs: Mapping[str, Any]
) -> Wanted:
    """Return the specialisation that a signature and constexprs ask for.

    Parameters
    ----------
    triton : Installed
        The Triton that specialises examples, by its own rules.
    fn : triton.JITFunction
        The function.
    backend : object
        Triton's, for the architecture.
    given : str, mapping or sequence
        The types or examples of the arguments.
    constexprs : mapping of str to object
        Arguments with a fixed value.

    Raises
    ------
    TypeError, ValueError
        An argument is unknown, missing, given twice, or of no type that can be; the message names
        it.
    """
    made = Wanted()
    for index, name in enumerate(constexprs):
        if name not in fn.arg_names:
            raise TypeError(f"{_where(fn)} has no argument {name!r} (constexprs[{index}])")
    entries = _entries(fn, given, constexprs)
    binder = triton.jit.create_function_from_signature(fn.signature, fn.params, backend)
    for index, param in enumerate(fn.params):
        path, name = (index,), param.name
        entry = entries.get(name, _MISSING)
        if entry is _MISSING and param.has_default:
            entry = (
                Hinted("constexpr", value=param.default) if param.is_constexpr else param.default
            )
        if name in constexprs:
            entry = Hinted("constexpr", value=constexprs[name])
        elif entry is _MISSING or (isinstance(entry, Hinted) and entry == Hinted("constexpr")):
            raise _missing(fn, param)
        if isinstance(entry, Hinted):
            _take_hinted(made, path, name, entry)
        else:
            example = _example(triton, entry)
            _take_example(
                made, path, name, example, _specialised(binder, fn, index, example), backend
            )
    return made


class _Missing:
    pass


_MISSING = _Missing()


def _where(fn: Any) -> str:
    return f"{fn.__name__}({', '.join(fn.arg_names)})"


def _missing(fn: Any, param: Any) -> TypeError:
    if param.is_constexpr:
        return TypeError(
            f"{_where(fn)}: the constexpr {param.name!r} has no value; give it, as in "
            f'constexprs={{"{param.name}": ...}}'
        )
    return TypeError(
        f"{_where(fn)}: argument {param.name!r} has no type; give it, as in "
        f'signature={{"{param.name}": "*fp32", ...}}'
    )


def _entries(fn: Any, given: Any, constexprs: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was given for each argument: types with hints parsed, examples as they are."""
    if isinstance(given, Mapping):
        entries = dict(given)
    elif isinstance(given, str):
        texts = split(given)
        entries = _positional(fn, texts if any(texts) else [], constexprs)
    elif isinstance(given, Sequence) and not isinstance(given, bytes | bytearray):
        entries = _positional(fn, given, constexprs)
    else:
        raise TypeError(
            f"signature maps argument names to types or examples, is a str of types or a sequence "
            f"of examples, got {type(given).__name__}"
        )
    constant = {param.name for param in fn.params if param.is_constexpr}
    for name, entry in entries.items():
        if name not in fn.arg_names:
            raise TypeError(f"{_where(fn)} has no argument {name!r}")
        if name not in constant and isinstance(entry, tuple) and str in map(type, entry):
            raise TypeError(
                f"{_where(fn)}: argument {name!r}: a tuple is an example, of numbers, tensors, "
                "None or tuples: no types"
            )
        if name in constant or isinstance(entry, str):
            entry = _hinted(fn, name, entry, is_constexpr=name in constant)
            entries[name] = entry
        is_named = isinstance(entry, Hinted) and entry == Hinted("constexpr")
        if name in constexprs and not is_named:
            raise TypeError(f"{_where(fn)}: {name!r} is in signature and in constexprs: give one")
    return entries


def _hinted(fn: Any, name: str, entry: Any, *, is_constexpr: bool) -> Hinted:
    if not isinstance(entry, str):
        return Hinted("constexpr", value=entry)
    parsed = parse_hinted(f"{_where(fn)}: argument {name!r}", entry)
    if is_constexpr and parsed.type != "constexpr":
        raise TypeError(
            f"{_where(fn)}: {name!r} is a constexpr, got the type {entry!r}; give its value, as in "
            f'constexprs={{"{name}": ...}}'
        )
    return parsed


def _positional(fn: Any, given: Sequence[Any], constexprs: Mapping[str, Any]) -> dict[str, Any]:
    at_run_time = [p.name for p in fn.params if not p.is_constexpr and p.name not in constexprs]
    for names in (fn.arg_names, at_run_time):
        if len(given) == len(names):
            return dict(zip(names, given, strict=True))
    # As in a call, those with a default may be left out at the end.
    if len(given) < len(at_run_time) and all(
        param.has_default for param in fn.params if param.name in at_run_time[len(given) :]
    ):
        return dict(zip(at_run_time, given, strict=False))
    raise TypeError(
        f"{_where(fn)}: signature has {len(given)} entries, wanted {len(at_run_time)}, for "
        f"{', '.join(at_run_time) or 'none'}"
    )


def _take_hinted(made: Wanted, path: Path, name: str, entry: Hinted) -> None:
    made.signature[name] = "constexpr" if entry.is_one else entry.type
    if entry.is_one or entry.type == "constexpr":
        made.constexprs[path] = 1 if entry.is_one else entry.value
    if entry.type == "constexpr":
        made.fixed.add(path)
    if entry.divisible:
        made.attrs[path] = [[DIVISIBILITY, _ALIGNED]]


def _example(triton: Installed, value: Any) -> Any:
    """Return an example that Triton takes; arrays without an address it does not."""
    if isinstance(value, tuple):
        made = [_example(triton, item) for item in value]
        return type(value)(*made) if hasattr(value, "_fields") else tuple(made)
    if type(value).__module__ == "numpy" and hasattr(value, "item") and not value.shape:
        return value.item()
    if hasattr(value, "dtype") and hasattr(value, "shape") and not hasattr(value, "data_ptr"):
        return triton.jit.MockTensor(value.dtype)
    return triton.jit.MockTensor.wrap_dtype(value)


def _specialised(binder: Any, fn: Any, index: int, example: Any) -> tuple[Any, Any]:
    arguments = dict.fromkeys(fn.arg_names)
    arguments[fn.arg_names[index]] = example
    try:
        _, specialization, _ = binder(**arguments)
    except Exception as error:
        raise TypeError(
            f"{_where(fn)}: argument {fn.arg_names[index]!r}: Triton takes no "
            f"{type(example).__name__}: {error}"
        ) from error
    type_, key = specialization[index]
    return type_, key


def _take_example(
    made: Wanted,
    path: Path,
    name: str,
    example: Any,
    specialised: tuple[Any, Any],
    backend: Any,
) -> None:
    type_, key = specialised
    made.signature[name] = type_
    for inner, leaf, hint, value in _leaves(path, type_, key, example):
        if leaf == "constexpr":
            made.constexprs[inner] = value
        elif isinstance(hint, str) and (attributes := backend.parse_attr(hint)):
            made.attrs[inner] = attributes
        if isinstance(leaf, str) and leaf.startswith("tensordesc"):
            tf32 = bool(getattr(value, "round_f32_to_tf32", False))
            made.descriptors[inner] = Options(getattr(value, "padding", "zero"), tf32)


def _leaves(path: Path, type_: Any, key: Any, value: Any) -> Iterator[tuple[Path, Any, Any, Any]]:
    if not isinstance(type_, tuple):
        yield path, type_, key, value
        return
    keys: Iterable[Any] = key if isinstance(key, tuple) else [None] * len(type_)
    for index, (inner, hint) in enumerate(zip(type_, keys, strict=True)):
        yield from _leaves((*path, index), inner, hint, value[index])
