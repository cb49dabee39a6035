"""Text of where a function's launches go."""

from __future__ import annotations

from collections.abc import Mapping

from . import expr
from .c_text import c_string
from .expression_text import expression_text
from .function import Formula, Target

__all__ = ["target_text"]


def target_text(label: str, target: Target, numbers: Mapping[str, int]) -> str:
    """Return the text that defines ``TargetPlan target_<label>``.

    Parameters
    ----------
    label : str
        What tells it from the other functions of the launcher.
    target : Target
        The stream and the device.
    numbers : mapping of str to int
        The position of each parameter of the function.
    """
    lines, cells = [], []
    for what in ("device", "stream"):
        figure = getattr(target, what)
        if figure is None:
            cells.append("nullptr")
            continue
        value = f"{figure}LL"
        if isinstance(figure, Formula):
            value = f"e->Done({c_string(figure.text)}, {expression_text(figure.tree, numbers)})"
        lines.append(f"int64_t {what}_{label}(Evaluation* e) {{ return {value}; }}\n")
        cells.append(f"{what}_{label}")
    cells.append(str(_pointer(target, numbers)))
    return f"{''.join(lines)}constexpr TargetPlan target_{label} = {{{', '.join(cells)}}};"


def _pointer(target: Target, numbers: Mapping[str, int]) -> int:
    """Return the position of the pointer that is the stream, -1 where none is."""
    tree = target.stream.tree if isinstance(target.stream, Formula) else None
    if isinstance(tree, expr.TensorField) and tree.field == "data_ptr":
        return numbers[tree.tensor]
    return -1
