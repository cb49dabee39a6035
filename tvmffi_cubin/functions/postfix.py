"""`Expression`: an expression of a launch, as postfix code that the launcher evaluates."""

from __future__ import annotations

import struct
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from ..launches.expression import Code, Read, failure, parse
from .plan import is_integer

if TYPE_CHECKING:
    from .launch import LaunchBinder

# In the order of `Op` in launcher/plan.h; everything before the operators pushes a value.
_OPS = (
    "end push word numel shape stride num_sms max_cooperative_blocks "
    "+ - * // % ceil_div min max == != < <= > >= not and or"
)
_OPCODES = {name: bytes([number]) for number, name in enumerate(_OPS.split())}
_MAX_STACK = 32

Names = tuple[str, ...]

# The device properties that a launch's expressions may read. The number of resident blocks depends
# on the block, its shared memory and the cluster, and the device on the launch's target.
EVERYWHERE = ("num_sms",)
ONCE_SHAPED = ("num_sms", "max_cooperative_blocks")

_Pieces = list[tuple[str, bytes]]  # operations, each with its operand


class Expression(NamedTuple):
    """An expression, its place in the launch, and what it may read."""

    binder: LaunchBinder  # has the function's parameters, which reads update, and the launch's args
    what: str
    text: str
    of_device: Names  # the device properties known at that point
    reading: Names  # the args whose expressions lead here, which must not be read again

    def code(self) -> bytes:
        """Return the postfix code for the launcher."""
        pieces = self._all()
        growth = [1 if _OPCODES[x] < _OPCODES["+"] else -(x != "not") for x, _ in pieces]
        if max(accumulate(growth)) > _MAX_STACK:
            raise ValueError(f"{self.what}: {self.text!r} needs over {_MAX_STACK} values at once")
        return b"".join(_OPCODES[op] + operand for op, operand in [*pieces, ("end", b"")])

    def _all(self) -> _Pieces:
        pieces = self._pieces(parse(self.text))
        # Normalize a bool to 0 or 1.
        is_bool = self.reading and self.binder.types[self.reading[-1]].kind == "bool"
        return [*pieces, ("not", b""), ("not", b"")] if is_bool else pieces

    def _pieces(self, tokens: Code) -> _Pieces:
        pieces: _Pieces = []
        for token in tokens:
            if isinstance(token, str):
                pieces.append((token, b""))
            elif isinstance(token, int):
                pieces.append(("push", struct.pack("<q", token)))
            elif isinstance(token, Read):
                pieces += self._read(token)
            else:
                op, second = token
                skipped = self._pieces(second)
                size = sum(1 + len(operand) for _, operand in skipped)
                pieces += [(op, struct.pack("<H", size)), *skipped]
        return pieces

    def _read(self, read: Read) -> _Pieces:
        name, exported, args = read.name, self.binder.exported, self.binder.args
        if name in exported:
            try:
                exported[name] = exported[name].with_read(read)
            except ValueError as error:
                raise self._failure(read, str(error)) from None
            op = read.field if read.field in ("numel", "shape", "stride") else "word"
            operand = struct.pack("<H", self.binder.number(name))
            return [(op, operand if read.dim is None else operand + struct.pack("b", read.dim))]
        if name in self.reading:
            raise self._failure(read, f"{name!r} depends on itself")
        if name in args:
            value, type_ = args[name], self.binder.types[name]
            if is_integer(type_) and not read.field:
                if isinstance(value, str):
                    reading = (*self.reading, name)
                    inner = self._replace(what=f"args[{name!r}]", text=value, reading=reading)
                    return inner._all()
                if isinstance(value, int) and abs(value) < 2**63:
                    return self._pieces((int(value),))
            problem = f"{name!r} is '{type_.text}', set by args to {value!r}"
            raise self._failure(read, f"{problem}, which expressions cannot read")
        if read.field or name not in self.of_device:
            known = ", ".join([*exported, *args, *self.of_device]) or "none"
            raise self._failure(read, f"unknown name {name!r}; available: {known}")
        return [(name, b"")]

    def _failure(self, read: Read, problem: str) -> ValueError:
        return failure(self.text, read.column, f"{self.what}: {problem}")
