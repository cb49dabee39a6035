"""Expressions of one launch: from what users name to postfix code that the launcher evaluates."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from functools import cached_property
from typing import Any, NamedTuple

from ..kernels.types import CxxType
from ..launches.expression import Number, Read, Tree, failure, lone_name, parse
from .exported import Exported, is_integer
from .plan import Plan

# As `Op` in launcher/plan.h has them.
_END, _PUSH8, _PUSH64 = 0, 1, 2
_READS = {"": 3, "numel": 4, "shape": 5, "stride": 6, "data_ptr": 7}
_OF_DEVICE = {"num_sms": 8, "max_cooperative_blocks": 9}
_OPERATORS = {
    "+": 10, "-": 11, "*": 12, "//": 13, "%": 14, "ceil_div": 15, "min": 16, "max": 17,
    "==": 18, "!=": 19, "<": 20, "<=": 21, ">": 22, ">=": 23,
}  # fmt: skip
_NOT = b"\x18"
_BRANCHES = {"and": 25, "or": 26}
_MAX_STACK = 32

# What a launch's expressions may read of the device. How many blocks can be resident depends on the
# block, its shared memory and the cluster; where a launch goes says which device it is.
EVERYWHERE = ("num_sms",)
ONCE_SHAPED = ("num_sms", "max_cooperative_blocks")

# Code without its end, and how deep its stack becomes.
_Code = tuple[bytes, int]


class _Place(NamedTuple):
    """Where an expression stands, and what it may read."""

    what: str
    text: str
    reading: tuple[str, ...]  # the args whose expressions lead here, which may not be read again
    of_device: tuple[str, ...]

    def failure(self, read: Read, problem: str) -> ValueError:
        return failure(self.text, read.column, f"{self.what}: {problem}")


class Scope:
    """The function's parameters first, then what the launch's `args` give, then the device's.

    What expressions need of the former is noted in `exported`.
    """

    plan: Plan
    exported: dict[str, Exported]
    args: Mapping[str, Any]
    types: Mapping[str, CxxType]

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The numbers of the function's parameters, once all launches have said what they take."""
        return {name: number for number, name in enumerate(self.exported)}

    def figure(
        self,
        what: str,
        figure: int | str,
        *,
        reading: tuple[str, ...] = (),
        of_device: tuple[str, ...] = EVERYWHERE,
        is_bool: bool = False,
    ) -> tuple[str | None, str | None, int]:
        """Return a constant's or an expression's code, text and value, as a `Figure` has them."""
        if not isinstance(figure, str):
            return None, None, int(figure)
        code, depth = self._code(parse(figure), _Place(what, figure, reading, of_device))
        if depth > _MAX_STACK:
            raise ValueError(
                f"{what}: {figure!r} needs {depth} values at once, at most {_MAX_STACK}"
            )
        code = (_truth(code) if is_bool else code) + bytes([_END])
        return self.plan.data(code), self.plan.string(figure), 0

    def _code(self, tree: Tree, place: _Place) -> _Code:
        if isinstance(tree, Number):
            return _push(tree.value)
        if isinstance(tree, Read):
            return self._read(tree, place)
        parts = [self._code(part, place) for part in tree.parts]
        code, depth = parts[0]
        if tree.op == "not":
            return code + _NOT, depth
        if tree.op in _BRANCHES:
            return _joined(tree.op, [code for code, _ in parts]), max(depth for _, depth in parts)
        for right, of_right in parts[1:]:
            code += right + bytes([_OPERATORS[tree.op]])
            depth = max(depth, 1 + of_right)
        return code, depth

    def _read(self, read: Read, place: _Place) -> _Code:
        name = read.name
        if name in self.exported:
            try:
                self.exported[name] = self.exported[name].with_read(read)
            except ValueError as error:
                raise place.failure(read, str(error)) from None
            code = struct.pack("<BH", _READS[read.field], self.numbers[name])
            return code if read.dim is None else code + struct.pack("b", read.dim), 1
        if name in self.args:
            return self._read_arg(read, place)
        if read.field or name not in _OF_DEVICE:
            args = (arg for arg in self.args if arg not in place.reading)
            known = ", ".join([*self.exported, *args, *_OF_DEVICE])
            raise place.failure(read, f"unknown name {name!r}; there are {known}")
        if name not in place.of_device:
            raise place.failure(read, f"{name} is not known yet where this is worked out")
        return bytes([_OF_DEVICE[name]]), 1

    def _read_arg(self, read: Read, place: _Place) -> _Code:
        name, value = read.name, self.args[read.name]
        type_, inner = self.types[name], place._replace(reading=(*place.reading, name))
        other = lone_name(value) if read.field and type_.kind in ("pointer", "raw") else ""
        if name in place.reading:
            raise place.failure(read, f"{name!r} is what this expression gives")
        if other:
            return self._read(read._replace(name=other), inner)
        number = value if isinstance(value, int) and abs(value) < 2**63 else None
        if read.field or not is_integer(type_) or (number is None and not isinstance(value, str)):
            raise place.failure(
                read,
                f"{name!r} is '{type_.text}', given by args as {value!r}, which no expression "
                "can read",
            )
        if not isinstance(value, str):
            return _push(int(number or 0))
        inner = inner._replace(what=f"args[{name!r}]", text=value)
        code, depth = self._code(parse(value), inner)
        return _truth(code) if type_.kind == "bool" else code, depth


def _truth(code: bytes) -> bytes:
    return code + _NOT + _NOT  # what is not 0 becomes 1


def _push(value: int) -> _Code:
    is_short = -128 <= value < 128
    code = struct.pack("<Bb" if is_short else "<Bq", _PUSH8 if is_short else _PUSH64, value)
    return code, 1


def _joined(op: str, parts: list[bytes]) -> bytes:
    """Return parts of which the first that decides is the value, and the last is evaluated."""
    code = parts[-1]
    for part in reversed(parts[:-1]):
        code = part + struct.pack("<BH", _BRANCHES[op], len(code)) + code
    return code
