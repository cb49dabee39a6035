"""`Expression`: one of a launch, as the postfix code that the launcher evaluates."""

from __future__ import annotations

import struct
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from ..launches.expression import Code, Read, failure, parse
from .plan import is_integer

if TYPE_CHECKING:
    from .launch import LaunchBinder

# In the order of `Op` in launcher/plan.h.
_OPS = (
    "end push8 push64 word numel shape stride num_sms max_cooperative_blocks "
    "+ - * // % ceil_div min max == != < <= > >= not and or"
)
_OPCODES = {name: number for number, name in enumerate(_OPS.split())}
_MAX_STACK = 32

Names = tuple[str, ...]

# What a launch's expressions may read of the device. How many blocks can be resident depends on the
# block, its shared memory and the cluster; where a launch goes says which device it is.
EVERYWHERE = ("num_sms",)
ONCE_SHAPED = ("num_sms", "max_cooperative_blocks")

# Pieces of code, each with what it adds to the height of the stack.
_Pieces = list[tuple[bytes, int]]


class Expression(NamedTuple):
    """An expression, where it stands, and what it may read.

    That is what the function takes, where what it needs of it is noted; what the launch's `args`
    give; and what is known of the device by then.
    """

    binder: LaunchBinder
    what: str
    text: str
    of_device: Names
    reading: Names  # the args whose expressions lead here, which may not be read again

    def code(self) -> bytes:
        """Return the launcher's code."""
        pieces = self._all()
        depth = max(accumulate(height for _, height in pieces))
        if depth > _MAX_STACK:
            raise ValueError(f"{self.what}: {self.text!r} holds more than {_MAX_STACK} values")
        return b"".join(code for code, _ in pieces) + _op("end")

    def _all(self) -> _Pieces:
        pieces = self._pieces(parse(self.text))
        # A bool is 0 or 1.
        is_bool = self.reading and self.binder.types[self.reading[-1]].kind == "bool"
        return pieces + 2 * [(_op("not"), 0)] if is_bool else pieces

    def _pieces(self, tokens: Code) -> _Pieces:
        pieces: _Pieces = []
        for token in tokens:
            if isinstance(token, str):
                pieces.append((_op(token), 0 if token == "not" else -1))
            elif isinstance(token, int):
                pieces.append(_push(token))
            elif isinstance(token, Read):
                pieces += self._read(token)
            else:
                op, second = token
                skipped = self._pieces(second)
                size = sum(len(code) for code, _ in skipped)
                pieces += [(_op(op) + struct.pack("<H", size), -1), *skipped]
        return pieces

    def _read(self, read: Read) -> _Pieces:
        name, exported = read.name, self.binder.exported
        if name in exported:
            try:
                exported[name] = exported[name].with_read(read)
            except ValueError as error:
                raise self._failure(read, str(error)) from None
            op = read.field if read.field in ("numel", "shape", "stride") else "word"
            code = _op(op) + struct.pack("<H", self.binder.number(name))
            return [(code if read.dim is None else code + struct.pack("b", read.dim), 1)]
        if name in self.binder.args:
            return self._read_arg(read)
        if read.field or name not in ONCE_SHAPED:
            known = ", ".join([*exported, *self.binder.args, *ONCE_SHAPED])
            raise self._failure(read, f"unknown name {name!r}; there are {known}")
        if name not in self.of_device:
            raise self._failure(read, f"{name} is not known yet where this is worked out")
        return [(_op(name), 1)]

    def _read_arg(self, read: Read) -> _Pieces:
        name = read.name
        value, type_ = self.binder.args[name], self.binder.types[name]
        if name in self.reading:
            raise self._failure(read, f"{name!r} is what this expression gives")
        if is_integer(type_) and not read.field:
            if isinstance(value, str):
                reading = (*self.reading, name)
                inner = self._replace(what=f"args[{name!r}]", text=value, reading=reading)
                return inner._all()
            if isinstance(value, int) and abs(value) < 2**63:
                return [_push(int(value))]
        problem = f"{name!r} is '{type_.text}', given by args as {value!r}"
        raise self._failure(read, f"{problem}, which no expression can read")

    def _failure(self, read: Read, problem: str) -> ValueError:
        return failure(self.text, read.column, f"{self.what}: {problem}")


def _push(value: int) -> tuple[bytes, int]:
    if -128 <= value < 128:
        return _op("push8") + struct.pack("b", value), 1
    return _op("push64") + struct.pack("<q", value), 1


def _op(name: str) -> bytes:
    return bytes([_OPCODES[name]])
