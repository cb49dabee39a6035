"""What kernels assume of arguments, noted with the parameters of the function."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from .exported import Exported
from .launch import Launch

__all__ = ["note_assumptions"]


def note_assumptions(exported: dict[str, Exported], launch: Launch, where: str) -> None:
    """Note a launch's `multiple_of` and `equal_to` with the function's parameters.

    Raises
    ------
    ValueError
        One names no parameter, or one that cannot be so; or no argument could be both this and
        what an earlier launch assumes.
    """
    multiples, values = launch.multiple_of or {}, launch.equal_to or {}
    for name, number in multiples.items():
        before = _named(exported, name, f"{where}: multiple_of", ("pointer", "int", "uint"))
        # Of two powers of two the larger is a multiple of the smaller.
        number = max(number, before.multiple_of)
        exported[name] = replace(before, multiple_of=number)
    for name, number in values.items():
        before = _named(exported, name, f"{where}: equal_to", ("int", "uint"))
        if before.equal_to not in (None, number):
            raise ValueError(
                f"{where}: equal_to[{name!r}] is {number}, an earlier launch says {before.equal_to}"
            )
        exported[name] = replace(before, equal_to=number)
    for name in {**multiples, **values}:
        known = exported[name]
        if known.equal_to is not None and known.equal_to % known.multiple_of:
            raise ValueError(
                f"{where}: {name!r} cannot be {known.equal_to} and a multiple of "
                f"{known.multiple_of}"
            )
        _check_value(known, f"{where}: equal_to[{name!r}]")


def _named(
    exported: Mapping[str, Exported], name: str, what: str, kinds: tuple[str, ...]
) -> Exported:
    if name not in exported:
        raise ValueError(
            f"{what} names {name!r}; the function's parameters are {', '.join(exported) or 'none'}"
        )
    type_ = exported[name].param.type
    if type_.kind not in kinds:
        wanted = "an integer" if "pointer" not in kinds else "a pointer or an integer"
        raise ValueError(f"{what} names {name!r}, which is '{type_.text}', not {wanted}")
    return exported[name]


def _check_value(known: Exported, what: str) -> None:
    if known.equal_to is None:
        return
    is_signed = known.param.type.kind == "int"
    values = 2 ** (8 * known.size)
    least = -values // 2 if is_signed else 0
    if not least <= known.equal_to < least + values:
        raise ValueError(f"{what} is {known.equal_to}, which '{known.param.type.text}' cannot hold")
