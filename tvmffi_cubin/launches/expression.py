"""Launch expressions: integer arithmetic and conditions over a call's arguments.

``ceil_div(n, 256)``, ``x.shape[0] * 2``, ``n % 4 == 0 and x.data_ptr % 16 == 0``: Python's syntax
and semantics, over 64-bit integers. A comparison is 1 or 0, and any nonzero value is true.
"""

from __future__ import annotations

import ast
import keyword
import re
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

_OPERATORS = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Mod: "%",
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
}  # fmt: skip
_FIELDS = ("numel", "data_ptr")  # with or without parentheses, as in torch
_INDEXED = {"shape": "shape", "size": "shape", "stride": "stride"}
_LANGUAGE = (
    "an expression can use integers, parameters, x.shape[i], x.stride[i], x.numel, x.data_ptr, "
    "+ - * // %, ceil_div, min, max, comparisons, and, or, not"
)


class Read(NamedTuple):
    """A value to read: a parameter, a device property, or a `field` of a tensor.

    ``shape`` and ``stride`` have a `dim`; `column` is the position of the name, from 0.
    """

    name: str
    column: int
    field: str = ""
    dim: int | None = None


Code = tuple["int | Read | str | tuple[str, Code]", ...]
"""An expression in postfix order: integers, reads, and operations on the preceding values.

Operations are ``+ - * // %``, ``ceil_div``, ``min``, ``max``, ``== != < <= > >=`` and ``not``, and
``("and", code)`` and ``("or", code)`` with the code of their second operand.
"""


@lru_cache(maxsize=4096)
def parse(text: str) -> Code:
    """Parse an expression; results are cached."""
    if not isinstance(text, str):
        raise TypeError(f"an expression must be a str, got {type(text).__name__}")
    try:
        return _code(ast.parse(text.strip(), mode="eval").body, text)
    except SyntaxError as error:
        what = f"invalid expression: {error.msg}"
        if any(map(keyword.iskeyword, {*re.findall(r"\w+", text)} - {"and", "or", "not"})):
            what += "; a Python keyword cannot be a name: rename the parameter with params="
        raise failure(text, max(0, (error.offset or 1) - 1), what) from None


def lone_name(value: object) -> str:
    """Return the name if an expression is just a name, else ""."""
    first, *rest = parse(value) if isinstance(value, str) else ("",)
    return first.name if isinstance(first, Read) and not first.field and not rest else ""


def failure(text: str, column: int, what: str) -> ValueError:
    """Return an error that points at a character of an expression."""
    return ValueError(f"{what}\n  {text.strip()}\n  {' ' * column}^")


def _code(node: ast.expr, text: str) -> Code:
    """Convert a Python AST node to postfix order, rejecting what the language lacks."""
    match node:
        case ast.Constant(value=int() as value) if value < 2**63:
            return (int(value),)
        case ast.Name(id=name):
            return (Read(name, node.col_offset),)
        case ast.Attribute(ast.Name(tensor), field) | ast.Call(
            ast.Attribute(ast.Name(tensor), field), [], []
        ) if field in _FIELDS:
            return (Read(tensor, node.col_offset, field),)
        case ast.Subscript(ast.Attribute(ast.Name(tensor), field), at) | ast.Call(
            ast.Attribute(ast.Name(tensor), field), [at], []
        ) if field in _INDEXED:
            dim, *rest = _code(at, text)
            if isinstance(dim, int) and not rest and -64 <= dim < 64:
                return (Read(tensor, node.col_offset, _INDEXED[field], dim),)
            raise failure(text, at.col_offset, "an index must be an integer from -64 to 63")
        case ast.UnaryOp(op=ast.Not()):
            return (*_code(node.operand, text), "not")
        case ast.UnaryOp(op=ast.USub()):
            first, *rest = _code(node.operand, text)
            return (-first,) if isinstance(first, int) and not rest else (0, first, *rest, "-")
        case ast.BinOp() if type(node.op) in _OPERATORS:
            return (*_code(node.left, text), *_code(node.right, text), _OPERATORS[type(node.op)])
        case ast.BinOp(op=ast.Div()):
            raise failure(text, node.right.col_offset, "use // or ceil_div(a, b) instead of /")
        case ast.BoolOp():
            op = "and" if isinstance(node.op, ast.And) else "or"
            return _chained(op, [_code(part, text) for part in node.values])
        case ast.Compare() if all(type(op) in _OPERATORS for op in node.ops):
            parts = [_code(part, text) for part in (node.left, *node.comparators)]
            pairs = zip(node.ops, pairwise(parts), strict=True)
            return _chained("and", [(*a, *b, _OPERATORS[type(op)]) for op, (a, b) in pairs])
        case ast.Call(ast.Name("ceil_div" | "cdiv"), [a, b], []):
            return (*_code(a, text), *_code(b, text), "ceil_div")
        case ast.Call(ast.Name("min" | "max" as name), [first, *others], []):
            parts = [_code(part, text) for part in others]
            return (*_code(first, text), *(x for part in parts for x in (*part, name)))
    raise failure(text, node.col_offset, _LANGUAGE)


def _chained(op: str, parts: list[Code]) -> Code:
    """Join parts that short-circuit: the first that decides is the value and skips the rest."""
    code = parts.pop()
    for part in reversed(parts):
        code = (*part, (op, code))
    return code
