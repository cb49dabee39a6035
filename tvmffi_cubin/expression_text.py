"""Text of expressions in C++, over the launcher's ``Evaluation* e``."""

from __future__ import annotations

from collections.abc import Mapping

from . import expr

__all__ = ["expression_text"]

_METHODS = {"+": "Add", "-": "Sub", "*": "Mul", "//": "FloorDiv", "%": "Mod"}
_CALLS = {"ceil_div": "CeilDiv", "min": "Min", "max": "Max"}


def expression_text(tree: expr.Expr, numbers: Mapping[str, int]) -> str:
    """Return the C++ text of an expression.

    Parameters
    ----------
    tree : expr.Expr
        The expression.
    numbers : mapping of str to int
        The position of each parameter that it may read.
    """
    if isinstance(tree, expr.Number):
        return f"{tree.value}LL"
    if isinstance(tree, expr.Name):
        return f"e->Integer({numbers[tree.name]})" if tree.name in numbers else "e->num_sms"
    if isinstance(tree, expr.TensorField):
        method = tree.field.capitalize()
        index = "" if tree.index is None else f", {tree.index}"
        return f"e->{method}({numbers[tree.tensor]}{index})"
    if isinstance(tree, expr.Binary):
        left, right = expression_text(tree.left, numbers), expression_text(tree.right, numbers)
        return f"e->{_METHODS[tree.op]}({left}, {right})"
    text = expression_text(tree.args[0], numbers)
    for arg in tree.args[1:]:
        text = f"e->{_CALLS[tree.function]}({text}, {expression_text(arg, numbers)})"
    return text
