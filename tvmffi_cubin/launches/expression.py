"""The expressions of launches: integer arithmetic, and conditions, over a call's arguments.

``ceil_div(n, 256)``, ``x.shape[0] * 2``, ``min(num_sms, x.numel // 4)``: integers, parameter
names, ``+ - * // %``, parentheses, ``ceil_div``, ``min``, ``max``, ``x.shape[i]``,
``x.stride[i]`` (in elements), ``x.numel``, ``num_sms`` and ``max_cooperative_blocks``. ``//`` and
``%`` round as Python's do.

``n % 4 == 0``, ``x.data_ptr % 16 == 0 and 0 < n <= 1024``, ``not causal``: a condition compares
expressions, in which a tensor's address can be read too. Parameters of type bool are conditions by
themselves, and so are ``True`` and ``False``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

_INT64_MAX = 2**63 - 1
_MAX_LENGTH = 4096
_OPERATORS: dict[type, str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.FloorDiv: "//",
    ast.Mod: "%",
}
# What compilers write, and people who come from C.
_INSTEAD: dict[type, str] = {
    ast.Div: "; use // (or ceil_div)",
    ast.RShift: "; use // and a power of two",
    ast.LShift: "; use * and a power of two",
}
_COMPARISONS: dict[type, str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
_FUNCTIONS = {"ceil_div": (2, 2), "min": (2, 16), "max": (2, 16)}
_INDEXED = ("shape", "stride")
_NOT_ARITHMETIC = "not part of the expression language (integer arithmetic)"
_WANTED = "wanted a condition: a comparison, a bool parameter, or several joined by and, or, not"


class Number(NamedTuple):
    """An integer; in a condition ``True`` is 1, ``False`` is 0."""

    value: int


class Name(NamedTuple):
    """A parameter, or a figure of the device; `column` is where it stands, from 0."""

    name: str
    column: int


class Field(NamedTuple):
    """``tensor.shape[dim]``, ``tensor.stride[dim]``; ``numel`` and ``data_ptr`` have no `dim`."""

    tensor: str
    field: str
    dim: int | None
    column: int


class Op(NamedTuple):
    """An operation on one part or more.

    `op` is one of ``+ - * // %``, ``ceil_div``, ``min``, ``max``; of ``== != < <= > >=``; of
    ``not``, ``and``, ``or``.
    """

    op: str
    parts: tuple[Tree, ...]


Tree = Number | Name | Field | Op

COMPARISONS = frozenset(_COMPARISONS.values())
JOINING = frozenset(("and", "or", "not"))


def parse(text: str, *, is_condition: bool = False) -> Tree:
    """Parse an expression or a condition of one line; each text once."""
    if not isinstance(text, str):
        raise TypeError(f"an expression is a str, got {type(text).__name__}")
    return _parse(text, is_condition)


def names(tree: Tree) -> Iterator[Name | Field]:
    """Yield what an expression or a condition reads, left to right."""
    if isinstance(tree, Op):
        for part in tree.parts:
            yield from names(part)
    elif not isinstance(tree, Number):
        yield tree


def failure(text: str, column: int, what: str) -> ValueError:
    """Return the error that points at a character of an expression."""
    return ValueError(f"{what}\n  {text}\n  {' ' * column}^")


@lru_cache(maxsize=4096)
def _parse(text: str, is_condition: bool) -> Tree:
    if not text.strip():
        raise ValueError("an expression is empty; wanted an integer, a parameter or arithmetic")
    if len(text.splitlines()) > 1 or len(text) > _MAX_LENGTH:
        raise ValueError(
            f"an expression is one line of at most {_MAX_LENGTH} characters: {text[:80]!r}"
        )
    for column, character in enumerate(text):
        # Python would take comments, and continued lines, and give up on some of the others.
        if character in "#\\" or not (character.isprintable() or character == "\t"):
            raise failure(text, column, f"not an expression: {character!r} is not part of any")
    reader = _Reader(text, is_condition)
    try:
        node = ast.parse(text.strip(), mode="eval").body
        return reader.condition(node) if is_condition else reader.expression(node)
    except SyntaxError as error:
        # Python gives 0 where the text ends too early.
        column = reader.lead + (error.offset - 1 if error.offset else len(text.strip()))
        raise failure(text, column, f"not an expression: {error.msg}") from None
    except (RecursionError, MemoryError):
        raise ValueError(f"an expression is nested too deeply: {text[:80]!r}") from None


class _Reader:
    """Turns Python's tree into ours, refusing all that the language lacks."""

    def __init__(self, text: str, is_condition: bool) -> None:
        self.text = text
        self.stripped = text.strip().encode()
        self.lead = len(text) - len(text.lstrip())
        self.is_condition = is_condition

    def column(self, byte: int) -> int:
        """Return the column of a byte: ast counts those of UTF-8, people count characters."""
        return self.lead + len(self.stripped[:byte].decode(errors="ignore"))

    def fail(self, node: ast.expr, what: str) -> ValueError:
        return failure(self.text, self.column(node.col_offset), what)

    def condition(self, node: ast.expr) -> Tree:
        if isinstance(node, ast.BoolOp):
            op = "and" if isinstance(node.op, ast.And) else "or"
            return Op(op, tuple(self.condition(value) for value in node.values))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return Op("not", (self.condition(node.operand),))
        if isinstance(node, ast.Compare):
            return self.comparison(node)
        if isinstance(node, ast.Name):
            return Name(node.id, self.column(node.col_offset))
        if isinstance(node, ast.Constant) and isinstance(node.value, bool):
            return Number(int(node.value))
        # What is not even arithmetic gets the reason why it is not.
        self.expression(node)
        raise self.fail(node, _WANTED)

    def comparison(self, node: ast.Compare) -> Tree:
        for op, right in zip(node.ops, node.comparators, strict=True):
            if type(op) not in _COMPARISONS:
                raise self.fail(right, f"wanted one of {' '.join(_COMPARISONS.values())}")
        operands = [self.expression(item) for item in (node.left, *node.comparators)]
        parts = tuple(
            Op(_COMPARISONS[type(op)], pair)
            for op, pair in zip(node.ops, pairwise(operands), strict=True)
        )
        return parts[0] if len(parts) == 1 else Op("and", parts)

    def expression(self, node: ast.expr) -> Tree:
        if isinstance(node, ast.Constant):
            return self.number(node)
        if isinstance(node, ast.Name):
            return Name(node.id, self.column(node.col_offset))
        if isinstance(node, ast.UnaryOp):
            return self.unary(node)
        if isinstance(node, ast.BinOp):
            return self.binary(node)
        if isinstance(node, ast.Call):
            return self.call(node)
        if isinstance(node, ast.Attribute | ast.Subscript):
            return self.field(node)
        if isinstance(node, ast.Compare | ast.BoolOp) and not self.is_condition:
            raise self.fail(node, f"{_NOT_ARITHMETIC}; a condition belongs in a Launch's when=")
        raise self.fail(node, _NOT_ARITHMETIC)

    def number(self, node: ast.Constant) -> Tree:
        if self.is_condition and isinstance(node.value, bool):
            return Number(int(node.value))
        if type(node.value) is not int:
            raise self.fail(node, f"{node.value!r} is not an integer")
        if node.value > _INT64_MAX:
            raise self.fail(node, "an integer beyond 64 bits signed")
        return Number(node.value)

    def unary(self, node: ast.UnaryOp) -> Tree:
        if isinstance(node.op, ast.UAdd):
            return self.expression(node.operand)
        if not isinstance(node.op, ast.USub):
            raise self.fail(node, _NOT_ARITHMETIC)
        operand = self.expression(node.operand)
        return (
            Number(-operand.value) if isinstance(operand, Number) else Op("-", (Number(0), operand))
        )

    def binary(self, node: ast.BinOp) -> Tree:
        op = _OPERATORS.get(type(node.op))
        if op is None:
            hint = _INSTEAD.get(type(node.op), "")
            between = self.stripped[node.left.end_col_offset :]
            skipped = len(between) - len(between.lstrip(b" \t)"))
            column = self.column((node.left.end_col_offset or 0) + skipped)
            raise failure(self.text, column, f"wanted one of + - * // %{hint}")
        return Op(op, (self.expression(node.left), self.expression(node.right)))

    def call(self, node: ast.Call) -> Tree:
        function = node.func.id if isinstance(node.func, ast.Name) else None
        if function not in _FUNCTIONS or function is None:
            raise self.fail(node, f"no such function; there are {', '.join(_FUNCTIONS)}")
        if node.keywords or any(isinstance(arg, ast.Starred) for arg in node.args):
            raise self.fail(node, f"{function} takes plain arguments only")
        least, most = _FUNCTIONS[function]
        if not least <= len(node.args) <= most:
            wanted = f"{least}" if least == most else f"{least} or more"
            raise self.fail(node, f"{function} takes {wanted} arguments, got {len(node.args)}")
        return Op(function, tuple(self.expression(arg) for arg in node.args))

    def field(self, node: ast.Attribute | ast.Subscript) -> Tree:
        attribute = node.value if isinstance(node, ast.Subscript) else node
        if not isinstance(attribute, ast.Attribute) or not isinstance(attribute.value, ast.Name):
            raise self.fail(node, "wanted x.shape[i], x.stride[i] or x.numel of a parameter x")
        tensor, name, column = attribute.value.id, attribute.attr, self.column(node.col_offset)
        if name == "data_ptr" and not self.is_condition:
            raise self.fail(node, "a tensor's address can be read in a Launch's when= alone")
        if name in ("numel", "data_ptr") and isinstance(node, ast.Attribute):
            return Field(tensor, name, None, column)
        if name not in _INDEXED or not isinstance(node, ast.Subscript):
            raise self.fail(node, "wanted x.shape[i], x.stride[i] or x.numel of a parameter x")
        index = self.expression(node.slice)
        if not isinstance(index, Number) or not -64 <= index.value < 64:
            raise self.fail(node.slice, "an index is a literal integer from -64 to 63")
        return Field(tensor, name, index.value, column)
