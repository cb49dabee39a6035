"""Text of the tables of a function of several instances."""

from __future__ import annotations

from collections.abc import Mapping

from . import condition
from .c_text import c_string, template
from .dispatched import Dispatched
from .function import Function
from .function_text import plan_text, positions, reads_num_sms, requirement_text, tables_text

__all__ = ["dispatch_text"]


def dispatch_text(
    index: int,
    function: Dispatched,
    kernels: Mapping[tuple[str, str, str], int],
    slots: Mapping[str, int],
) -> str:
    """Return the C++ text of a function's tables; for the parameters see `function_text`."""
    tables, rows = [], []
    for number, (instance, signature) in enumerate(
        zip(function.instances, function.signatures, strict=True)
    ):
        label = f"{index}_{number}"
        tables.append(f"// {signature}")
        tables.append(tables_text(label, instance, kernels, slots, requires=False))
        when = "nullptr"
        if body := _requirements(instance):
            when = f"when_{label}"
            tables.append(f"void {when}(Evaluation* e) {{\n{body}}}")
        reads = "true" if _reads_num_sms(instance) else "false"
        plan = plan_text(label, instance)
        rows.append(f"    {{{plan}, {c_string(signature)}, {reads}, {when}}},")
    return template("launcher_dispatch.cc.in").substitute(
        tables="\n".join(tables),
        index=index,
        name=function.name,
        rows="\n".join(rows),
        num_instances=len(function.instances),
        most_params=max(len(instance.params) for instance in function.instances),
    )


def _requirements(instance: Function) -> str:
    numbers = positions(instance)
    return "".join(requirement_text(bound, numbers) for bound in instance.launches)


def _reads_num_sms(instance: Function) -> bool:
    conditions = [bound.when.tree for bound in instance.launches if bound.when is not None]
    return any(reads_num_sms(read) for tree in conditions for read in condition.reads(tree))
