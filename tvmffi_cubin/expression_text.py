"""Text of expressions in C++, over the launcher's ``Evaluation* e``."""

from __future__ import annotations

from collections.abc import Mapping

from . import condition, expr

__all__ = ["condition_text", "expression_text"]

_METHODS = {"+": "Add", "-": "Sub", "*": "Mul", "//": "FloorDiv", "%": "Mod"}
_FIELDS = {"shape": "Shape", "stride": "Stride", "numel": "Numel", "data_ptr": "DataPtr"}
_OF_DEVICE = {"num_sms": "e->num_sms", "max_cooperative_blocks": "e->MaxCooperativeBlocks()"}
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
        if tree.name in numbers:
            return f"e->Integer({numbers[tree.name]})"
        return _OF_DEVICE[tree.name]
    if isinstance(tree, expr.TensorField):
        method = _FIELDS[tree.field]
        index = "" if tree.index is None else f", {tree.index}"
        return f"e->{method}({numbers[tree.tensor]}{index})"
    if isinstance(tree, expr.Binary):
        left, right = expression_text(tree.left, numbers), expression_text(tree.right, numbers)
        return f"e->{_METHODS[tree.op]}({left}, {right})"
    text = expression_text(tree.args[0], numbers)
    for arg in tree.args[1:]:
        text = f"e->{_CALLS[tree.function]}({text}, {expression_text(arg, numbers)})"
    return text


def condition_text(tree: condition.Condition, numbers: Mapping[str, int]) -> str:
    """Return the C++ text of a condition; for the parameters see `expression_text`."""
    if isinstance(tree, condition.Compare):
        left, right = expression_text(tree.left, numbers), expression_text(tree.right, numbers)
        return f"({left} {tree.op} {right})"
    if isinstance(tree, condition.Flag):
        return f"({expression_text(tree.name, numbers)} != 0)"
    if isinstance(tree, condition.Truth):
        return "true" if tree.value else "false"
    if isinstance(tree, condition.Not):
        return f"!{condition_text(tree.part, numbers)}"
    sign = {"and": " && ", "or": " || "}[tree.op]
    return f"({sign.join(condition_text(part, numbers) for part in tree.parts)})"
