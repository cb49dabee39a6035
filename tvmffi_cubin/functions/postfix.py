"""Expressions of a launch as the postfix code that the launcher evaluates."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any, NamedTuple

from ..kernels.types import CxxType
from ..launches.expression import Code, Read, failure, lone_name, parse
from .plan import Exported, Plan, is_integer

# In the order of `Op` in launcher/plan.h.
_OPS = (
    "end push8 push64 word numel shape stride num_sms max_cooperative_blocks "
    "+ - * // % ceil_div min max == != < <= > >= not and or"
)
_OPCODES = {name: number for number, name in enumerate(_OPS.split())}
_MAX_STACK = 32

# What a launch's expressions may read of the device. How many blocks can be resident depends on the
# block, its shared memory and the cluster; where a launch goes says which device it is.
EVERYWHERE = ("num_sms",)
ONCE_SHAPED = ("num_sms", "max_cooperative_blocks")

# The launcher's code without its end, and how deep its stack becomes.
_Bytes = tuple[bytes, int]


class Scope:
    """What expressions of a launch may read.

    First what the function takes, `exported`, where what they need of it is noted; then what the
    launch's `args` give, which have the `types` of the kernel's parameters; then the device's.
    """

    plan: Plan
    exported: dict[str, Exported]
    args: Mapping[str, Any]
    types: Mapping[str, CxxType]

    def number(self, name: str) -> int:
        """Return the number of one of the function's parameters."""
        return [*self.exported].index(name)

    def figure(
        self,
        what: str,
        value: int | str | bytes,
        of_device: tuple[str, ...] = EVERYWHERE,
        arg: str = "",
    ) -> tuple[str | None, str | None, int]:
        """Return the members of a `Figure`; `arg` is the one of `args` whose expression it is."""
        if isinstance(value, bytes):
            return None, self.plan.data(value, align=8), len(value)
        if not isinstance(value, str):
            return None, None, int(value)
        reading = (arg,) if arg else ()
        code, depth = _Expression(self, what, value, reading, of_device).code()
        if depth > _MAX_STACK:
            raise ValueError(
                f"{what}: {value!r} needs {depth} values at once, at most {_MAX_STACK}"
            )
        return self.plan.data(code + _op("end")), self.plan.string(value), 0


class _Expression(NamedTuple):
    """An expression, where it stands, and what it may read."""

    scope: Scope
    what: str
    text: str
    reading: tuple[str, ...]  # the args whose expressions lead here, which may not be read again
    of_device: tuple[str, ...]

    def code(self) -> _Bytes:
        """Return the code; that of an argument that is a bool gives 0 or 1."""
        code, depth = self._code(parse(self.text))
        is_bool = self.reading and self.scope.types[self.reading[-1]].kind == "bool"
        return code + 2 * _op("not") if is_bool else code, depth

    def _code(self, tokens: Code) -> _Bytes:
        code, depth, deepest = b"", 0, 0
        for token in tokens:
            if isinstance(token, str):
                code += _op(token)
                depth -= token != "not"
                continue
            if isinstance(token, int | Read):
                part, needs = self._read(token) if isinstance(token, Read) else _push(token)
            else:
                op, second = token
                part, needs = self._code(second)
                part = _op(op) + struct.pack("<H", len(part)) + part
                depth -= 1
            code += part
            deepest = max(deepest, depth + needs)
            depth += 1
        return code, deepest

    def _read(self, read: Read) -> _Bytes:
        name, exported = read.name, self.scope.exported
        if name in exported:
            try:
                exported[name] = exported[name].with_read(read)
            except ValueError as error:
                raise self._failure(read, str(error)) from None
            op = read.field if read.field in ("numel", "shape", "stride") else "word"
            code = _op(op) + struct.pack("<H", self.scope.number(name))
            return code if read.dim is None else code + struct.pack("b", read.dim), 1
        if name in self.scope.args:
            return self._read_arg(read)
        if read.field or name not in ONCE_SHAPED:
            args = (arg for arg in self.scope.args if arg not in self.reading)
            known = ", ".join([*exported, *args, *ONCE_SHAPED])
            raise self._failure(read, f"unknown name {name!r}; there are {known}")
        if name not in self.of_device:
            raise self._failure(read, f"{name} is not known yet where this is worked out")
        return _op(name), 1

    def _read_arg(self, read: Read) -> _Bytes:
        name = read.name
        value, type_ = self.scope.args[name], self.scope.types[name]
        if name in self.reading:
            raise self._failure(read, f"{name!r} is what this expression gives")
        inner = self._replace(reading=(*self.reading, name))
        if read.field and type_.kind in ("pointer", "raw") and (other := lone_name(value)):
            return inner._read(read._replace(name=other))
        if is_integer(type_) and not read.field:
            if isinstance(value, str):
                return inner._replace(what=f"args[{name!r}]", text=value).code()
            if isinstance(value, int) and abs(value) < 2**63:
                return _push(int(value))
        problem = f"{name!r} is '{type_.text}', given by args as {value!r}"
        raise self._failure(read, f"{problem}, which no expression can read")

    def _failure(self, read: Read, problem: str) -> ValueError:
        return failure(self.text, read.column, f"{self.what}: {problem}")


def _push(value: int) -> _Bytes:
    if -128 <= value < 128:
        return _op("push8") + struct.pack("b", value), 1
    return _op("push64") + struct.pack("<q", value), 1


def _op(name: str) -> bytes:
    return bytes([_OPCODES[name]])
