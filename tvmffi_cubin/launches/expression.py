"""The expressions of launches: integer arithmetic and conditions over a call's arguments.

``ceil_div(n, 256)``, ``x.shape[0] * 2``, ``n % 4 == 0 and x.data_ptr % 16 == 0``: Python's own
syntax and meaning, over 64-bit integers. A comparison is 1 or 0, and whatever is not 0 is true.
"""

from __future__ import annotations

import ast
import keyword
import re
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

_ARITHMETIC = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Mod: "%"}
_COMPARISONS = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
}  # fmt: skip
_FUNCTIONS = {"ceil_div": "ceil_div", "cdiv": "ceil_div", "min": "min", "max": "max"}
_FIELDS = ("numel", "data_ptr")  # with or without parentheses, as torch has them
_INDEXED = {"shape": "shape", "size": "shape", "stride": "stride"}
_PYTHONS = {*keyword.kwlist} - {"and", "or", "not", "True", "False"}
_LANGUAGE = (
    "an expression has integers, parameters, x.shape[i], x.stride[i], x.numel, x.data_ptr, "
    "+ - * // %, ceil_div, min, max, comparisons, and, or, not"
)


class Number(NamedTuple):
    """An integer; ``True`` is 1, ``False`` is 0."""

    value: int


class Read(NamedTuple):
    """What is read: a parameter, a figure of the device, or a `field` of a tensor.

    ``shape`` and ``stride`` have a `dim`; `column` is where the name stands, from 0.
    """

    name: str
    column: int
    field: str = ""
    dim: int | None = None


class Op(NamedTuple):
    """An operation on one part or more.

    `op` is one of ``+ - * // %``, ``ceil_div``, ``min``, ``max``; of ``== != < <= > >=``; of
    ``not``, ``and``, ``or``.
    """

    op: str
    parts: tuple[Tree, ...]


Tree = Number | Read | Op


@lru_cache(maxsize=4096)
def parse(text: str) -> Tree:
    """Parse an expression; each text once."""
    if not isinstance(text, str):
        raise TypeError(f"an expression is a str, got {type(text).__name__}")
    try:
        return _tree(ast.parse(text.strip(), mode="eval").body, text)
    except SyntaxError as error:
        what = f"not an expression: {error.msg}"
        if words := [x for x in re.findall(r"\w+", text) if x in _PYTHONS]:
            what += f"; {words[0]!r} is a word of Python's: rename the parameter, by params="
        raise failure(text, max(0, (error.offset or 1) - 1), what) from None


def lone_name(value: object) -> str:
    """Return the name that an expression is, "" where it is anything else."""
    tree = parse(value) if isinstance(value, str) else None
    return tree.name if isinstance(tree, Read) and not tree.field else ""


def failure(text: str, column: int, what: str) -> ValueError:
    """Return the error that points at a character of an expression."""
    return ValueError(f"{what}\n  {text.strip()}\n  {' ' * column}^")


def _tree(node: ast.expr, text: str) -> Tree:
    """Turn Python's tree into ours, refusing what the language lacks."""
    match node:
        case ast.Constant(value=int() as value) if value < 2**63:
            return Number(int(value))
        case ast.Name(id=name):
            return Read(name, node.col_offset)
        case ast.Attribute(ast.Name(tensor), field) | ast.Call(
            ast.Attribute(ast.Name(tensor), field), [], []
        ) if field in _FIELDS:
            return Read(tensor, node.col_offset, field)
        case ast.Subscript(ast.Attribute(ast.Name(tensor), field), at) | ast.Call(
            ast.Attribute(ast.Name(tensor), field), [at], []
        ) if field in _INDEXED:
            index = _tree(at, text)
            if isinstance(index, Number) and -64 <= index.value < 64:
                return Read(tensor, node.col_offset, _INDEXED[field], index.value)
            raise failure(text, at.col_offset, "an index is an integer from -64 to 63")
        case ast.UnaryOp(op=ast.Not()):
            return Op("not", (_tree(node.operand, text),))
        case ast.UnaryOp(op=ast.UAdd()):
            return _tree(node.operand, text)
        case ast.UnaryOp(op=ast.USub()):
            part = _tree(node.operand, text)
            return Number(-part.value) if isinstance(part, Number) else Op("-", (Number(0), part))
        case ast.BinOp() if type(node.op) in _ARITHMETIC:
            return Op(_ARITHMETIC[type(node.op)], (_tree(node.left, text), _tree(node.right, text)))
        case ast.BinOp(op=ast.Div()):
            raise failure(text, node.right.col_offset, "use // or ceil_div(a, b) in place of /")
        case ast.BoolOp():
            op = "and" if isinstance(node.op, ast.And) else "or"
            return Op(op, tuple(_tree(part, text) for part in node.values))
        case ast.Compare() if all(type(op) in _COMPARISONS for op in node.ops):
            parts = [_tree(part, text) for part in (node.left, *node.comparators)]
            pairs = zip(node.ops, pairwise(parts), strict=True)
            found = tuple(Op(_COMPARISONS[type(op)], pair) for op, pair in pairs)
            return found[0] if len(found) == 1 else Op("and", found)
        case ast.Call(func=ast.Name(id=name), keywords=[]) if name in _FUNCTIONS:
            op = _FUNCTIONS[name]
            if len(node.args) < 2 or (op == "ceil_div" and len(node.args) > 2):
                raise failure(text, node.col_offset, f"{name} has {len(node.args)} arguments")
            return Op(op, tuple(_tree(part, text) for part in node.args))
    raise failure(text, node.col_offset, _LANGUAGE)
