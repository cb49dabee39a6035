"""Conditions of launches: comparisons of integer expressions, joined by ``and``, ``or``, ``not``.

``n % 4 == 0``, ``x.data_ptr % 16 == 0 and 0 < n <= 1024``, ``not causal``. What is compared are
expressions (see `tvmffi_cubin.expr`), in which a tensor's address can be read too; a parameter of
type bool is a condition by itself, and may be compared, as are ``True`` and ``False``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from . import expr

__all__ = ["Compare", "Condition", "Flag", "Joined", "Not", "Truth", "parse", "reads"]

_COMPARISONS: dict[type, str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
_WANTED = "wanted a condition: a comparison, a bool parameter, or several joined by and, or, not"


@dataclass(frozen=True)
class Compare:
    """``left op right``; op is one of ``== != < <= > >=``."""

    op: str
    left: expr.Expr
    right: expr.Expr


@dataclass(frozen=True)
class Flag:
    """A parameter of type bool."""

    name: expr.Name


@dataclass(frozen=True)
class Truth:
    """``True`` or ``False``, which `Launch.over` puts in the place of a name."""

    value: bool


@dataclass(frozen=True)
class Not:
    """What holds where `part` does not."""

    part: Condition


@dataclass(frozen=True)
class Joined:
    """All of the parts where `op` is ``and``, any of them where it is ``or``."""

    op: str
    parts: tuple[Condition, ...]


Condition = Compare | Flag | Truth | Not | Joined


def parse(text: str) -> Condition:
    """Parse a condition.

    Raises
    ------
    TypeError
        `text` is not a str.
    ValueError
        It is no condition; the message points at the character.
    """
    return expr.read(text, _Reader)


def reads(condition: Condition) -> Iterator[expr.Name | expr.TensorField]:
    """Yield what a condition reads, left to right."""
    if isinstance(condition, Compare):
        yield from expr.names(condition.left)
        yield from expr.names(condition.right)
    elif isinstance(condition, Flag):
        yield condition.name
    elif not isinstance(condition, Truth):
        for part in (condition.part,) if isinstance(condition, Not) else condition.parts:
            yield from reads(part)


class _Reader:
    def __init__(self, text: str, lead: int) -> None:
        self.operand = expr.Reader(text, lead, is_condition=True)

    def __call__(self, node: ast.expr) -> Condition:
        if isinstance(node, ast.BoolOp):
            op = "and" if isinstance(node.op, ast.And) else "or"
            return Joined(op, tuple(self(value) for value in node.values))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return Not(self(node.operand))
        if isinstance(node, ast.Compare):
            return self.comparison(node)
        if isinstance(node, ast.Name):
            return Flag(expr.Name(node.id, self.operand.column(node)))
        if isinstance(node, ast.Constant) and isinstance(node.value, bool):
            return Truth(node.value)
        # What is not even arithmetic gets the reason why it is not.
        self.operand(node)
        raise self.operand.fail(node, _WANTED)

    def comparison(self, node: ast.Compare) -> Condition:
        for op, right in zip(node.ops, node.comparators, strict=True):
            if type(op) not in _COMPARISONS:
                raise self.operand.fail(right, f"wanted one of {' '.join(_COMPARISONS.values())}")
        operands = [self.operand(item) for item in (node.left, *node.comparators)]
        pairs = zip(node.ops, pairwise(operands), strict=True)
        parts = tuple(Compare(_COMPARISONS[type(op)], *pair) for op, pair in pairs)
        return parts[0] if len(parts) == 1 else Joined("and", parts)
