"""Text of the rows and evaluations of scratch memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from . import expr
from .c_text import c_string
from .expression_text import expression_text
from .function import BoundLaunch, Formula, Scratched

__all__ = ["scratch_reads", "scratch_text"]


def scratch_text(label: str, scratched: Scratched, numbers: Mapping[str, int]) -> str:
    """Return the text that defines ``ScratchPlan scratch_<label>``.

    Parameters
    ----------
    label : str
        What tells it from the other scratch memory of the launcher.
    scratched : Scratched
        The kernel parameter.
    numbers : mapping of str to int
        The position of each parameter of its function.
    """
    evaluate, text = "nullptr", ""
    if scratched.formulas:
        evaluate = f"evaluate_scratch_{label}"
        lines = "".join(
            f"  *{what} = e->Done({c_string(formula.text)}, "
            f"{expression_text(formula.tree, numbers)});\n"
            for what, formula in scratched.formulas.items()
        )
        parameters = "Evaluation* e, int64_t* bytes, int64_t* bytes_per_block"
        unused = "  (void)bytes, (void)bytes_per_block;\n"
        text = f"void {evaluate}({parameters}) {{\n{unused}{lines}}}\n"
    figures = (
        "0" if isinstance(figure, Formula) else str(figure) for figure in scratched.figures.values()
    )
    cells = (c_string(scratched.name), f"{scratched.align}u", *figures, evaluate)
    return f"{text}constexpr ScratchPlan scratch_{label} = {{{', '.join(cells)}}};"


def scratch_reads(bound: BoundLaunch) -> Iterator[expr.Name | expr.TensorField]:
    """Yield what the expressions of a launch's scratch memory read."""
    for scratched in bound.scratch:
        for formula in scratched.formulas.values():
            yield from expr.names(formula.tree)
