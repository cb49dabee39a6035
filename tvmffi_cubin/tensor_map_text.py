"""Text of the rows and evaluations of tensor maps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from . import expr
from .c_text import c_string
from .expression_text import expression_text
from .function import BoundLaunch, Formula, Mapped
from .tensor_map_modes import DATA_TYPES, INTERLEAVES, L2_PROMOTIONS, OOB_FILLS, SWIZZLES

__all__ = ["map_reads", "map_text"]

# The places of a `TensorMapSpec`, in its own order.
_ARRAYS = ("box_dim", "element_strides", "lower_corner", "upper_corner")
_NUMBERS = ("channels_per_pixel", "pixels_per_column")
_EXTENTS = ("global_dim", "global_strides")


def map_text(label: str, mapped: Mapped, numbers: Mapping[str, int]) -> str:
    """Return the text that defines ``TensorMapPlan map_<label>``.

    Parameters
    ----------
    label : str
        What tells it from the other maps of the launcher.
    mapped : Mapped
        The map.
    numbers : mapping of str to int
        The position of each parameter of its function.
    """
    evaluate, text = "nullptr", ""
    if mapped.formulas:
        evaluate = f"evaluate_map_{label}"
        lines = "".join(
            f"  spec->{what} = e->Done({c_string(formula.text)}, "
            f"{expression_text(formula.tree, numbers)});\n"
            for what, formula in mapped.formulas.items()
        )
        text = f"void {evaluate}(Evaluation* e, TensorMapSpec* spec) {{\n{lines}}}\n"
    cells = (c_string(mapped.name), str(numbers[mapped.tensor]), _spec(mapped), evaluate)
    return f"{text}constexpr TensorMapPlan map_{label} = {{{', '.join(cells)}}};"


def map_reads(bound: BoundLaunch) -> Iterator[expr.Name | expr.TensorField]:
    """Yield what the expressions of a launch's maps read."""
    for mapped in bound.maps:
        for formula in mapped.formulas.values():
            yield from expr.names(formula.tree)


def _spec(mapped: Mapped) -> str:
    map_ = mapped.map
    cells = [
        f"TensorMapMode::{'kIm2col' if map_.is_im2col else 'kTiled'}",
        f"TensorMapType({-1 if map_.dtype is None else list(DATA_TYPES).index(map_.dtype)})",
        f"TensorMapSwizzle({list(SWIZZLES).index(map_.swizzle)})",
        f"TensorMapInterleave({INTERLEAVES.index(map_.interleave)})",
        f"TensorMapL2Promotion({L2_PROMOTIONS.index(map_.l2_promotion)})",
        f"TensorMapOobFill({OOB_FILLS.index(map_.oob_fill)})",
        str(map_.rank),
        str(len(map_.element_strides or ())),
    ]
    cells += [_array(mapped, name) for name in _ARRAYS]
    cells += [_constant(mapped, name) if map_.is_im2col else "0" for name in _NUMBERS]
    if map_.global_dim is not None:
        cells += [str(len(getattr(map_, name) or ())) for name in _EXTENTS]
        cells += [_array(mapped, name) for name in _EXTENTS]
    return f"{{{', '.join(cells)}}}"


def _array(mapped: Mapped, name: str) -> str:
    count = len(getattr(mapped.map, name) or ())
    return f"{{{', '.join(_constant(mapped, f'{name}[{i}]') for i in range(count))}}}"


def _constant(mapped: Mapped, what: str) -> str:
    figure = mapped.figures[what]
    return "0" if isinstance(figure, Formula) else str(figure)
