"""Text of the statements that set the attributes of a launch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from . import condition, expr
from .c_text import c_string
from .expression_text import condition_text, expression_text
from .function import BoundLaunch, Carried, Formula, Requirement
from .launch_attributes import ATTRIBUTES

__all__ = ["attribute_reads", "attributes_text"]


def attributes_text(bound: BoundLaunch, numbers: Mapping[str, int]) -> Iterator[str]:
    """Yield the statements that set a launch's attributes, in C++ over ``Evaluation* e``.

    Parameters
    ----------
    bound : BoundLaunch
        The launch.
    numbers : mapping of str to int
        The position of each parameter of its function.
    """
    for carried in bound.attributes:
        number = ATTRIBUTES[carried.field].id
        yield f"if (e->Wants({number})) {_setter(carried, numbers)}"
    for number, data in (bound.launch.attributes or {}).items():
        listed = ", ".join(map(str, data))
        yield f"static constexpr unsigned char attribute_{number}[] = {{{listed}}};"
        yield f"if (e->Wants({number})) e->SetRaw({number}, attribute_{number}, {len(data)});"


def attribute_reads(bound: BoundLaunch) -> Iterator[expr.Name | expr.TensorField]:
    """Yield what the expressions and conditions of a launch's attributes read."""
    for carried in bound.attributes:
        for value in carried.values:
            if isinstance(value, Formula):
                yield from expr.names(value.tree)
            elif isinstance(value, Requirement):
                yield from condition.reads(value.tree)


def _setter(carried: Carried, numbers: Mapping[str, int]) -> str:
    attribute = ATTRIBUTES[carried.field]
    name = c_string(carried.field)
    values = [_value(value, numbers) for value in carried.values]
    if attribute.kind == "dimensions":
        values += ["1LL"] * (3 - len(values))
        return f"e->SetDimensions({attribute.id}, {name}, {', '.join(values)});"
    if attribute.kind == "event":
        return f"e->SetEvent({attribute.id}, {values[0]});"
    if attribute.kind == "flag":
        condition_ = carried.values[0]
        text = c_string(condition_.text) if isinstance(condition_, Requirement) else name
        return f"e->SetFlag({attribute.id}, {text}, {values[0]});"
    limits = f"{attribute.least}LL, {attribute.most}LL"
    return f"e->SetInteger({attribute.id}, {name}, {limits}, {values[0]});"


def _value(value: int | Formula | Requirement, numbers: Mapping[str, int]) -> str:
    if isinstance(value, Formula):
        return f"e->Done({c_string(value.text)}, {expression_text(value.tree, numbers)})"
    if isinstance(value, Requirement):
        return condition_text(value.tree, numbers)
    return f"{value}LL"
