"""Functions bound to kernels: their rows of the plan, and what a manifest says of them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

from ..device.signature import KernelSignature
from ..launches.form import to_json
from ..launches.launch import Launch
from ..launches.tensor_map import TensorMap
from ..launches.values import Bound, Scratch, told
from .assembly import Layout
from .exported import Exported
from .launch import LAUNCH, LaunchBinder
from .plan import BOUND_TABLE, Plan

_INSTANCE = Layout("P P P P P i i i i i i ?")
Launches = Sequence[tuple[Launch, KernelSignature]]


class Instance(NamedTuple):
    """One way to launch under a name: all that does not depend on the names of its kernels.

    `rows` are those of its launches but for the kernel, `columns` end its own row, and `launches`
    are JSON values.
    """

    params: tuple[Exported, ...]
    rows: list[tuple[Any, ...]]
    columns: tuple[Any, ...]
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
    rows: list[str] = []
    facts: list[dict[str, Any]] = []
    for launches in instances:
        made = _instance(plan, name, launches)
        signature = f"{name}({made.declared})"
        if len(instances) > 1:
            signature = _described(launches, made)
        pairs = zip(launches, made.rows, strict=True)
        table = plan.table(LAUNCH.row(plan.kernel(kernel), *row) for (_, kernel), row in pairs)
        rows.append(_INSTANCE.row(plan.string(signature), table, *made.columns))
        found = []
        for (_, kernel), launch in zip(launches, made.launches, strict=True):
            own = {"kernel": kernel.kernel.name, "image": kernel.image}
            found.append(own | launch | own)
        params = [[x.name, x.type.text] for x in made.params]
        facts.append({"signature": signature, "params": params, "launches": found})
    function = facts[0]
    if len(facts) > 1:
        columns = zip_longest(*(x["params"] for x in facts), fillvalue=("", ""))
        function = {
            "signature": "\n".join(x["signature"] for x in facts),
            "params": [
                [" | ".join(filter(None, dict.fromkeys(x))) for x in zip(*column, strict=True)]
                for column in columns
            ],
            "instances": facts,
        }
    bound = [slot.facts for key, slot in plan.slots.items() if key[0] == name]
    plan.function(name, {"doc": doc, "bound": bound, **function}, rows)


def _instance(plan: Plan, name: str, launches: Launches) -> Instance:
    """Return an instance; of launches as before, of kernels that take the same, the one before."""
    values = [to_json(launch) for launch, _ in launches]
    # All that a launch depends on, but for names.
    takes = [(x.params, x.names_known, x.bound) for _, x in launches]
    key = json.dumps(values), *takes
    if (known := plan.instances.get(key)) is not None:
        return known
    exported: dict[str, Exported] = {}
    binders, rows, targets = [], [], set()
    places = [f"function {name!r}, kernel {x.name.display!r}" for _, x in launches]
    # All launches say what they export before any expression is read: one may use what another's
    # kernel takes.
    for (launch, kernel), place in zip(launches, places, strict=True):
        with told(place):
            binders.append(LaunchBinder(plan, name, launch, kernel, exported))
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
    columns = (
        *(plan.params(params), targets.pop(), BOUND_TABLE if kinds[Bound] else None),
        *(len(params), len(launches), sum(max(1, len(x.params)) for x in binders)),
        *(kinds[TensorMap], sum(x.num_attributes for x in binders), kinds[Scratch]),
        any(launch.when is not None for launch, _ in launches),
    )
    instance = Instance(params, rows, columns, values)
    if not kinds[Bound]:  # slots are a function's own
        plan.instances[key] = instance
    return instance


def _described(launches: Launches, instance: Instance) -> str:
    """Return what tells an instance from others: its kernels, its parameters, when it fits."""
    kernels = " + ".join(kernel.name.display for _, kernel in launches)
    conditions = [launch.when for launch, _ in launches if launch.when]
    if len(conditions) > 1:
        conditions = [f"({text})" for text in conditions]
    when = f" when {' and '.join(conditions)}" if conditions else ""
    return f"{kernels}({instance.declared}){when}"
