"""Functions bound to kernels: their rows of the plan, and what a manifest says of them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

from ..launches.form import to_json
from ..launches.launch import Launch
from ..launches.tensor_map import TensorMap
from ..launches.values import Bound, Scratch, told
from .assembly import Layout
from .exported import Exported
from .launch import LAUNCH, LaunchBinder
from .plan import BOUND_TABLE, KernelRef, Plan

_INSTANCE = Layout("P P P P P i i i i i i ?")

Launches = Sequence[tuple[Launch, KernelRef]]


class Instance(NamedTuple):
    """One way to launch under a name: all that does not depend on the names of its kernels.

    `rows` are those of its launches but for the kernel, `counts` end the instance's own.
    """

    params: tuple[Exported, ...]
    table: str | None
    rows: list[tuple[Any, ...]]
    target: str | None
    bound: str | None
    counts: tuple[int, ...]
    launches: list[dict[str, Any]]

    @property
    def declared(self) -> str:
        """The parameters as C++ declares them."""
        return ", ".join(param.declaration for param in self.params)


def bind(plan: Plan, name: str, instances: Sequence[Launches], *, doc: str = "") -> None:
    """Bind a function of one instance or several, each the launches of a call, and write it.

    Raises
    ------
    TypeError, ValueError
        Something in a launch does not go with its kernel; the message names function and kernel.
    """
    made = [_bound(plan, name, launches) for launches in instances]
    if len(made) == 1:
        signatures = [f"{name}({made[0].declared})"]
    else:
        signatures = [_told(*x) for x in zip(instances, made, strict=True)]
    rows, facts = [], []
    for launches, instance, signature in zip(instances, made, signatures, strict=True):
        row, kernels = _rows(plan, launches, instance, signature)
        rows.append(row)
        params = [[param.name, param.type.text] for param in instance.params]
        facts.append({"signature": signature, "params": params, "launches": kernels})
    columns = zip_longest(*(x["params"] for x in facts), fillvalue=("", ""))
    said = {
        "doc": doc,
        "bound": [slot.facts for key, slot in plan.slots.items() if key[0] == name],
        "signature": "\n".join(signatures),
        "params": [
            [" | ".join(filter(None, dict.fromkeys(x))) for x in zip(*column, strict=True)]
            for column in columns
        ],
    }
    more = {"instances": facts} if len(facts) > 1 else {"launches": facts[0]["launches"]}
    plan.function(name, said | more, doc, rows)


def _bound(plan: Plan, name: str, launches: Launches) -> Instance:
    """Return an instance; of launches as before, of kernels that take the same, the one before."""
    shapes = tuple(ref.shape for _, ref in launches)
    # Many functions have the very same launches.
    same = *(id(launch) for launch, _ in launches), *shapes
    if (known := plan.instances.get(same)) is not None:
        return known
    values = [to_json(launch) for launch, _ in launches]
    key = json.dumps(values), *shapes
    if (known := plan.instances.get(key)) is not None:
        return known
    exported: dict[str, Exported] = {}
    # All launches say what they export before any expression is read: one may use what another's
    # kernel takes.
    binders, rows, targets = [], [], set()
    places = [f"function {name!r}, kernel {ref.signature.name.display!r}" for _, ref in launches]
    for (launch, ref), place in zip(launches, places, strict=True):
        with told(place):
            binders.append(LaunchBinder(plan, name, launch, ref, exported))
    for binder, place in zip(binders, places, strict=True):
        with told(place):
            rows.append(binder.row())
            targets.add(binder.target())
            if len(targets) > 1:
                raise ValueError(
                    "one call goes to one stream of one device: give all launches of a function "
                    "the same stream= and device="
                )
    # Tensors may have any strides that kernels know by their maps alone.
    args = [x for binder in binders for x in binder.args.items()]
    mapped = {x.tensor or given for given, x in args if isinstance(x, TensorMap)}
    mapped -= {x for binder in binders for x in binder.passed}
    params = tuple(x._replace(strided=x.strided or x.name in mapped) for x in exported.values())
    kinds = Counter(type(x) for _, x in args)
    instance = Instance(
        params,
        plan.params(params),
        rows,
        target=targets.pop(),
        bound=BOUND_TABLE if kinds[Bound] else None,
        counts=(
            *(len(params), len(launches), sum(max(1, len(x.params)) for x in binders)),
            kinds[TensorMap],
            sum(binder.num_attributes for binder in binders),
            kinds[Scratch],
            any(launch.when is not None for launch, _ in launches),
        ),
        launches=values,
    )
    if not kinds[Bound]:  # slots are a function's own
        plan.instances[key] = plan.instances[same] = instance
    return instance


def _rows(
    plan: Plan, launches: Launches, instance: Instance, signature: str
) -> tuple[str, list[dict[str, Any]]]:
    """Return an instance's row, and its launches as JSON values with their kernels."""
    rows, facts = [], []
    every = zip(launches, instance.rows, instance.launches, strict=True)
    for (_, ref), values, said in every:
        rows.append(LAUNCH.row(plan.kernel(ref), *values))
        found = {"kernel": ref.signature.kernel.name, "image": ref.image}
        facts.append({**found, **said, **found})
    row = _INSTANCE.row(
        *(plan.string(signature), instance.table, plan.table(rows)),
        *(instance.target, instance.bound, *instance.counts),
    )
    return row, facts


def _told(launches: Launches, instance: Instance) -> str:
    """Return what tells an instance from others: its kernels, its parameters, when it fits."""
    kernels = " + ".join(ref.signature.name.display for _, ref in launches)
    conditions = [launch.when for launch, _ in launches if launch.when]
    if len(conditions) > 1:
        conditions = [f"({text})" for text in conditions]
    when = f" when {' and '.join(conditions)}" if conditions else ""
    assumed = []
    for param in instance.params:
        if param.ndim is not None:
            assumed.append(f"{param.name} has rank {param.ndim}")
        if param.equal_to is not None:
            assumed.append(f"{param.name} is {param.equal_to}")
        elif param.multiple_of > 1:
            assumed.append(f"{param.name} is a multiple of {param.multiple_of}")
    where = f" where {', '.join(assumed)}" if assumed else ""
    return f"{kernels}({instance.declared}){where}{when}"
