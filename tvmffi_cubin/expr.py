"""The expression language of launches: integer arithmetic over a call's arguments.

``ceil_div(n, 256)``, ``x.shape[0] * 2``, ``min(num_sms, x.numel // 4)``. Integers, parameter
names, ``+ - * // %``, parentheses, ``ceil_div``, ``min``, ``max``, ``x.shape[i]``,
``x.stride[i]`` (in elements), ``x.numel`` and ``num_sms``. ``//`` and ``%`` round as Python's do.
Comparisons are for conditions alone: see `tvmffi_cubin.condition`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

__all__ = [
    "Binary",
    "Call",
    "Expr",
    "Name",
    "Number",
    "Reader",
    "TensorField",
    "failure",
    "is_larger",
    "names",
    "parse",
    "read",
]

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
_FUNCTIONS = {"ceil_div": (2, 2), "min": (2, 16), "max": (2, 16)}
_INDEXED = ("shape", "stride")
_NOT_ARITHMETIC = "not part of the expression language (integer arithmetic)"


@dataclass(frozen=True)
class Number:
    """An integer literal."""

    value: int


@dataclass(frozen=True)
class Name:
    """A parameter, or ``num_sms``; `column` is where it stands, from 0."""

    name: str
    column: int


@dataclass(frozen=True)
class TensorField:
    """``tensor.shape[index]``, ``tensor.stride[index]``, or, with index None, ``tensor.numel``.

    In conditions also ``tensor.data_ptr``, the address of its first element.
    """

    tensor: str
    field: str
    index: int | None
    column: int


@dataclass(frozen=True)
class Binary:
    """``left op right``; op is one of ``+ - * // %``."""

    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True)
class Call:
    """``ceil_div``, ``min`` or ``max`` of its arguments."""

    function: str
    args: tuple[Expr, ...]


Expr = Number | Name | TensorField | Binary | Call


def failure(text: str, column: int, what: str) -> ValueError:
    """Return the error that points at a character of an expression."""
    return ValueError(f"{what}\n  {text}\n  {' ' * column}^")


def parse(text: str) -> Expr:
    """Parse an expression.

    Parameters
    ----------
    text : str
        One line.

    Returns
    -------
    Expr
        Its tree.

    Raises
    ------
    TypeError
        `text` is not a str.
    ValueError
        It is not of the language; the message points at the character.
    """
    return read(text, Reader)


Tree = TypeVar("Tree")


def read(text: str, reader: Callable[[str, int], Callable[[ast.expr], Tree]]) -> Tree:
    """Read a line with a reader, which is made from the text and the width of its indentation.

    Raises
    ------
    TypeError, ValueError
        See `parse`.
    """
    if not isinstance(text, str):
        raise TypeError(f"an expression is a str, got {type(text).__name__}")
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
    lead = len(text) - len(text.lstrip())
    try:
        tree = ast.parse(text.strip(), mode="eval")
        return reader(text, lead)(tree.body)
    except SyntaxError as error:
        # Python gives 0 where the text ends too early.
        column = lead + (error.offset - 1 if error.offset else len(text.strip()))
        raise failure(text, column, f"not an expression: {error.msg}") from None
    except (RecursionError, MemoryError):
        raise ValueError(f"an expression is nested too deeply: {text[:80]!r}") from None


def is_larger(expr: Expr, limit: int) -> bool:
    """Whether an expression has more than `limit` parts, counting shared ones each time."""
    return next(islice(_parts(expr), limit, None), None) is not None


def _parts(expr: Expr) -> Iterator[Expr]:
    yield expr
    inner = (expr.left, expr.right) if isinstance(expr, Binary) else ()
    for part in expr.args if isinstance(expr, Call) else inner:
        yield from _parts(part)


def names(expr: Expr) -> Iterator[Name | TensorField]:
    """Yield what an expression reads, left to right."""
    if isinstance(expr, Name | TensorField):
        yield expr
    elif isinstance(expr, Binary):
        yield from names(expr.left)
        yield from names(expr.right)
    elif isinstance(expr, Call):
        for arg in expr.args:
            yield from names(arg)


class Reader:
    """Turns Python's tree into ours, refusing all that the language lacks."""

    def __init__(self, text: str, lead: int, *, is_condition: bool = False) -> None:
        self.text = text
        self.lead = lead
        self.is_condition = is_condition

    def column(self, node: ast.expr) -> int:
        """Return where in the text a node begins, from 0."""
        # ast counts UTF-8 bytes, people count characters.
        stripped = self.text.strip().encode()
        return self.lead + len(stripped[: node.col_offset].decode(errors="ignore"))

    def _operator(self, node: ast.BinOp) -> int:
        between = self.text.strip().encode()[node.left.end_col_offset :]
        skipped = len(between) - len(between.lstrip(b" \t)"))
        before = self.text.strip().encode()[: (node.left.end_col_offset or 0) + skipped]
        return self.lead + len(before.decode(errors="ignore"))

    def fail(self, node: ast.expr, what: str) -> ValueError:
        """Return the error that points at a node."""
        return failure(self.text, self.column(node), what)

    def __call__(self, node: ast.expr) -> Expr:
        """Return a tree of this language."""
        if isinstance(node, ast.Constant):
            return self._number(node)
        if isinstance(node, ast.Name):
            return Name(node.id, self.column(node))
        if isinstance(node, ast.UnaryOp):
            return self._unary(node)
        if isinstance(node, ast.BinOp):
            return self._binary(node)
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, ast.Attribute | ast.Subscript):
            return self._field(node)
        if isinstance(node, ast.Compare | ast.BoolOp) and not self.is_condition:
            raise self.fail(node, f"{_NOT_ARITHMETIC}; a condition belongs in a Launch's when=")
        raise self.fail(node, _NOT_ARITHMETIC)

    def _number(self, node: ast.Constant) -> Expr:
        if self.is_condition and isinstance(node.value, bool):
            return Number(int(node.value))
        if type(node.value) is not int:
            raise self.fail(node, f"{node.value!r} is not an integer")
        if node.value > _INT64_MAX:
            raise self.fail(node, "an integer beyond 64 bits signed")
        return Number(node.value)

    def _unary(self, node: ast.UnaryOp) -> Expr:
        if isinstance(node.op, ast.UAdd):
            return self(node.operand)
        if not isinstance(node.op, ast.USub):
            raise self.fail(node, _NOT_ARITHMETIC)
        operand = self(node.operand)
        if isinstance(operand, Number):
            return Number(-operand.value)
        return Binary("-", Number(0), operand)

    def _binary(self, node: ast.BinOp) -> Expr:
        op = _OPERATORS.get(type(node.op))
        if op is None:
            hint = _INSTEAD.get(type(node.op), "")
            raise failure(self.text, self._operator(node), f"wanted one of + - * // %{hint}")
        return Binary(op, self(node.left), self(node.right))

    def _call(self, node: ast.Call) -> Expr:
        function = node.func.id if isinstance(node.func, ast.Name) else None
        if function not in _FUNCTIONS or function is None:
            raise self.fail(node, f"no such function; there are {', '.join(_FUNCTIONS)}")
        if node.keywords or any(isinstance(arg, ast.Starred) for arg in node.args):
            raise self.fail(node, f"{function} takes plain arguments only")
        least, most = _FUNCTIONS[function]
        if not least <= len(node.args) <= most:
            wanted = f"{least}" if least == most else f"{least} or more"
            raise self.fail(node, f"{function} takes {wanted} arguments, got {len(node.args)}")
        return Call(function, tuple(self(arg) for arg in node.args))

    def _field(self, node: ast.Attribute | ast.Subscript) -> Expr:
        attribute = node.value if isinstance(node, ast.Subscript) else node
        if not isinstance(attribute, ast.Attribute) or not isinstance(attribute.value, ast.Name):
            raise self.fail(node, "wanted x.shape[i], x.stride[i] or x.numel of a parameter x")
        tensor, name = attribute.value.id, attribute.attr
        if name == "data_ptr" and not self.is_condition:
            raise self.fail(node, "a tensor's address can be read in a Launch's when= alone")
        if name in ("numel", "data_ptr") and isinstance(node, ast.Attribute):
            return TensorField(tensor, name, None, self.column(node))
        if name not in _INDEXED or not isinstance(node, ast.Subscript):
            raise self.fail(node, "wanted x.shape[i], x.stride[i] or x.numel of a parameter x")
        index = self(node.slice)
        if not isinstance(index, Number) or not -64 <= index.value < 64:
            raise self.fail(node.slice, "an index is a literal integer from -64 to 63")
        return TensorField(tensor, name, index.value, self.column(node))
