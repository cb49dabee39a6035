"""Launches bound to kernels: what a function takes, and its rows of the plan."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

from ..launches.launch import Launch
from ..launches.values import told
from .assembly import Layout
from .exported import Exported
from .launch import LaunchBinder
from .plan import BOUND_TABLE, KernelRef, Plan

_INSTANCE = Layout("P P P P P i i i i i i")


def bind(
    plan: Plan,
    name: str,
    instances: Sequence[Sequence[tuple[Launch, KernelRef]]],
    *,
    doc: str = "",
) -> None:
    """Bind a function of one instance or several, each the launches of a call, and write it.

    Raises
    ------
    TypeError, ValueError
        Something in a launch does not go with its kernel; the message names function and kernel.
    """
    rows, facts = [], []
    for launches in instances:
        row, found = _instance(plan, name, launches, is_lone=len(instances) == 1)
        rows.append(row)
        facts.append(found)
    every = [launch for launches in instances for launch, _ in launches]
    columns = zip_longest(*(x["params"] for x in facts), fillvalue=("", ""))
    said = {
        "doc": doc,
        "bound": [slot.facts for key, slot in plan.slots.items() if key[0] == name],
        "fixes_block": all(launch.block is not None for launch in every),
        "callers_grid": _callers_grid([launches[0][0] for launches in instances]),
        "signature": "\n".join(x["signature"] for x in facts),
        "params": [
            [" | ".join(filter(None, dict.fromkeys(x))) for x in zip(*column, strict=True)]
            for column in columns
        ],
    }
    more = {"instances": facts} if len(facts) > 1 else {"launches": facts[0]["launches"]}
    plan.function(name, said | more, doc, rows)


def _instance(
    plan: Plan, name: str, launches: Sequence[tuple[Launch, KernelRef]], *, is_lone: bool
) -> tuple[str, dict[str, Any]]:
    """Return one way to launch under a name, as its row, and what a manifest says of it."""
    exported: dict[str, Exported] = {}
    places = [f"function {name!r}, kernel {ref.signature.display!r}" for _, ref in launches]
    # All launches say what they export before any expression is read: one may use what another's
    # kernel takes.
    binders, rows, targets = [], [], set()
    for (launch, ref), place in zip(launches, places, strict=True):
        with told(place):
            binders.append(LaunchBinder(plan, name, launch, ref, exported))
    for binder, place in zip(binders, places, strict=True):
        others = {x.name for other in binders if other is not binder for x in other.declared}
        with told(place):
            rows.append(binder.row(others))
            targets.add(binder.target())
            if len(targets) > 1:
                raise ValueError(
                    "one call goes to one stream of one device: give all launches of a function "
                    "the same stream= and device="
                )
    # Tensors may have any strides that kernels know by their maps alone.
    mapped = {x for binder in binders for x in binder.mapped}
    mapped -= {x for binder in binders for x in binder.passed}
    params = [x._replace(strided=x.strided or x.name in mapped) for x in exported.values()]
    declared = ", ".join(param.declaration for param in params)
    signature = f"{name}({declared})" if is_lone else _told(launches, params, declared)
    row = _INSTANCE.row(
        *(plan.string(signature), plan.params(params), plan.table(rows), targets.pop()),
        BOUND_TABLE if any(binder.num_bound for binder in binders) else None,
        *(len(params), len(launches), sum(max(1, len(binder.params)) for binder in binders)),
        sum(binder.num_maps for binder in binders),
        sum(binder.num_attributes for binder in binders),
        sum(binder.num_scratch for binder in binders),
    )
    return row, {
        "signature": signature,
        "params": [[param.name, param.type.text] for param in params],
        "launches": [binder.facts for binder in binders],
    }


def _told(
    launches: Sequence[tuple[Launch, KernelRef]], params: Sequence[Exported], declared: str
) -> str:
    """Return what tells an instance from others: its kernels, its parameters, when it fits."""
    kernels = " + ".join(ref.signature.display for _, ref in launches)
    conditions = [launch.when for launch, _ in launches if launch.when]
    if len(conditions) > 1:
        conditions = [f"({text})" for text in conditions]
    when = f" when {' and '.join(conditions)}" if conditions else ""
    assumed = ", ".join(text for param in params for text in param.assumptions)
    where = f" where {assumed}" if assumed else ""
    return f"{kernels}({declared}){where}{when}"


def _callers_grid(firsts: Sequence[Launch]) -> dict[str, Any] | None:
    """Return what a caller's grid means for all instances; None where it is not all theirs.

    ``"meta"`` is None where they differ in it: which instance a call takes is not known before.
    """
    grids = [launch.callers_grid for launch in firsts]
    first = grids[0]
    if first is None or any(x is None or x["unit"] != first["unit"] for x in grids):
        return None
    return first if all(x == first for x in grids) else {**first, "meta": None}
