"""Expressions of one launch: from what users name to postfix code that the launcher evaluates."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import NamedTuple

from ..kernels.types import CxxType
from ..launches.expression import Number, Read, Tree, failure, lone_name, parse
from ..launches.values import Bound
from .exported import Exported, is_integer
from .plan import Plan

# As `Op` in launcher/plan.h has them.
_END, _PUSH8, _PUSH64 = 0, 1, 2
_READS = {"": 3, "numel": 4, "shape": 5, "stride": 6, "data_ptr": 7}
_OF_DEVICE = {"num_sms": 8, "max_cooperative_blocks": 9}
_BINARY = {
    "+": 10, "-": 11, "*": 12, "//": 13, "%": 14, "ceil_div": 15, "min": 16, "max": 17,
    "==": 18, "!=": 19, "<": 20, "<=": 21, ">": 22, ">=": 23,
}  # fmt: skip
_NOT = 24
_TRUTH = bytes([_NOT, _NOT])  # what is not 0 becomes 1
_BRANCH = {"and": 25, "or": 26}
_MAX_STACK = 32

# What a launch's expressions may read of the device. How many blocks can be resident depends on the
# block, its shared memory and the cluster; where a launch goes says which device it is.
EVERYWHERE = ("num_sms",)
ONCE_SHAPED = ("num_sms", "max_cooperative_blocks")

_Code = tuple[bytes, int]
"""Code without its end, and how deep its stack becomes."""


class _Place(NamedTuple):
    """Where an expression stands, and what it may read."""

    what: str
    text: str
    # The args whose expressions lead here; none of them may be read again.
    reading: tuple[str, ...]
    of_device: tuple[str, ...]


class Scope:
    """The function's parameters first, then what the launch's `args` give, then the device's.

    What expressions need of the former is noted in `exported`, and their names in `read`.
    """

    def __init__(
        self,
        plan: Plan,
        exported: dict[str, Exported],
        args: Mapping[str, object],
        types: Mapping[str, CxxType],
    ) -> None:
        self.plan = plan
        self.exported = exported
        self.args = args
        self.types = types
        self.numbers = {name: number for number, name in enumerate(exported)}
        self.read: set[str] = set()

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
        code += _TRUTH * is_bool + bytes([_END])
        return self.plan.data(code), self.plan.string(figure), 0

    def _code(self, tree: Tree, place: _Place) -> _Code:
        if isinstance(tree, Number):
            return _push(tree.value)
        if isinstance(tree, Read):
            return self._read(tree, place)
        parts = [self._code(part, place) for part in tree.parts]
        if tree.op == "not":
            return parts[0][0] + bytes([_NOT]), parts[0][1]
        return _joined(tree.op, parts) if tree.op in _BRANCH else _folded(tree.op, parts)

    def _read(self, read: Read, place: _Place) -> _Code:
        name = read.name
        if name in self.exported:
            self.read.add(name)
            try:
                self.exported[name] = self.exported[name].with_read(read)
            except ValueError as error:
                raise _wrong(read, place, str(error)) from None
            code = struct.pack("<BH", _READS[read.field], self.numbers[name])
            return code if read.dim is None else code + struct.pack("b", read.dim), 1
        if name in self.args:
            return self._read_arg(read, place)
        if read.field or name not in _OF_DEVICE:
            args = (arg for arg in self.args if arg not in place.reading)
            known = ", ".join([*self.exported, *args, *_OF_DEVICE])
            raise _wrong(read, place, f"unknown name {name!r}; there are {known}")
        if name not in place.of_device:
            raise _wrong(read, place, f"{name} is not known yet where this is worked out")
        return bytes([_OF_DEVICE[name]]), 1

    def _read_arg(self, read: Read, place: _Place) -> _Code:
        name = read.name
        value, type_ = self.args[name], self.types[name]
        inner = place._replace(reading=(*place.reading, name))
        if isinstance(value, Bound):
            problem = f"{name!r} is bound, and expressions are worked out without that"
        elif name in place.reading:
            problem = f"{name!r} is what this expression gives"
        elif read.field:
            other = lone_name(value)
            if other and type_.kind in ("pointer", "raw"):
                return self._read(read._replace(name=other), inner)
            problem = f"{name!r} is given by args as {value!r}, not as a tensor"
        elif is_integer(type_) and isinstance(value, int) and abs(value) < 2**63:
            return _push(int(value))
        elif is_integer(type_) and isinstance(value, str):
            inner = inner._replace(what=f"args[{name!r}]", text=value)
            code, depth = self._code(parse(value), inner)
            return code + _TRUTH * (type_.kind == "bool"), depth
        else:
            problem = (
                f"{name!r} is '{type_.text}', given by args as {value!r}; expressions are integer "
                "arithmetic"
            )
        raise _wrong(read, place, problem)


def _wrong(read: Read, place: _Place, problem: str) -> ValueError:
    return failure(place.text, read.column, f"{place.what}: {problem}")


def _push(value: int) -> _Code:
    short = -128 <= value < 128
    return struct.pack("<Bb" if short else "<Bq", _PUSH8 if short else _PUSH64, value), 1


def _folded(op: str, parts: list[_Code]) -> _Code:
    """Return an operation over two operands or more, from the left."""
    (code, deepest), *rest = parts
    for right, depth in rest:
        code += right + bytes([_BINARY[op]])
        deepest = max(deepest, 1 + depth)
    return code, deepest


def _joined(op: str, parts: list[_Code]) -> _Code:
    """Return parts of which the first that decides is the value, and the last is evaluated."""
    code = b""
    for part, _ in reversed(parts):
        code = part + (struct.pack("<BH", _BRANCH[op], len(code)) + code if code else b"")
    return code, max(depth for _, depth in parts)
