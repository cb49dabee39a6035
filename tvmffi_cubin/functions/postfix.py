"""Expressions and conditions as the bytes that a launcher evaluates: postfix, over int64."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

from ..launches.expression import Field, Name, Number, Tree

# As `Op` in launcher/plan.h has them.
_END, _PUSH8, _PUSH64, _INTEGER = 0, 1, 2, 3
_FIELDS = {"numel": 4, "shape": 5, "stride": 6, "data_ptr": 7}
_OF_DEVICE = {"num_sms": 8, "max_cooperative_blocks": 9}
_BINARY = {
    "+": 10, "-": 11, "*": 12, "//": 13, "%": 14, "ceil_div": 15, "min": 16, "max": 17,
    "==": 18, "!=": 19, "<": 20, "<=": 21, ">": 22, ">=": 23,
}  # fmt: skip
_NOT = 24
_BRANCH = {"and": 25, "or": 26}
_MAX_STACK = 32


def postfix(tree: Tree, numbers: Mapping[str, int]) -> bytes:
    """Return the code of an expression or a condition."""
    code, deepest = _code(tree, numbers)
    if deepest > _MAX_STACK:
        raise ValueError(f"an expression needs {deepest} values at once, at most {_MAX_STACK}")
    return code + bytes([_END])


def _code(tree: Tree, numbers: Mapping[str, int]) -> tuple[bytes, int]:
    """Return the code without its end, and how deep its stack becomes."""
    if isinstance(tree, Number):
        return _push(tree.value), 1
    if isinstance(tree, Name):
        if tree.name in numbers:
            return struct.pack("<BH", _INTEGER, numbers[tree.name]), 1
        return bytes([_OF_DEVICE[tree.name]]), 1
    if isinstance(tree, Field):
        read = struct.pack("<BH", _FIELDS[tree.field], numbers[tree.tensor])
        return read if tree.dim is None else read + struct.pack("b", tree.dim), 1
    parts = [_code(part, numbers) for part in tree.parts]
    if tree.op == "not":
        ((code, deepest),) = parts
        return code + bytes([_NOT]), deepest
    if tree.op in _BRANCH:
        return _joined(_BRANCH[tree.op], parts)
    return _folded(_BINARY[tree.op], parts)


def _push(value: int) -> bytes:
    if -128 <= value < 128:
        return struct.pack("<Bb", _PUSH8, value)
    return struct.pack("<Bq", _PUSH64, value)


def _folded(op: int, parts: Sequence[tuple[bytes, int]]) -> tuple[bytes, int]:
    """Return an operation over two operands or more, from the left."""
    (code, deepest), *rest = parts
    for right, depth in rest:
        code += right + bytes([op])
        deepest = max(deepest, 1 + depth)
    return code, deepest


def _joined(branch: int, parts: Sequence[tuple[bytes, int]]) -> tuple[bytes, int]:
    """Return parts of which the first that decides is the value, and the last is evaluated."""
    code = b""
    for part, _ in reversed(parts):
        if len(code) > 0xFFFF:
            raise ValueError("a condition is too long")
        code = part + (struct.pack("<BH", branch, len(code)) + code if code else b"")
    return code, max(depth for _, depth in parts)
