"""Tells kernels from C++ functions among the exports, and binds kernels to their launches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from ..device.image import Image, KernelSignature
from ..launches.form import to_json
from ..launches.launch import Launch
from ..launches.tensor_map import TensorMap
from ..launches.values import Bound, Scratch, bound_param, told
from .assembly import Layout
from .kernels import Kernels
from .launch import LAUNCH, LaunchBinder
from .plan import BOUND_TABLE, Exported, Plan

if TYPE_CHECKING:
    from ..inline.request import Request
    from ..sources.sort import Sources

_INSTANCE = Layout("P P P P P i i i i i i ?")
Launches = Sequence[tuple[Launch, KernelSignature]]
# Its parameters' names and types, the other columns of its row, and each launch's row and JSON.
_Instance = tuple[list[tuple[str, str]], tuple[Any, ...], list[tuple[Any, Any]]]
_AS_CALLED = Launch()  # callers give the grid, the block and all arguments


def resolve(
    request: Request, sources: Sources, images: Sequence[Image]
) -> tuple[tuple[tuple[str, str], ...], Plan]:
    """Return the C++ functions to export, with docstrings, and the plan of all others."""
    files = {name: str(x.file) for name, x in request.image_files.items()}
    bound = [bound_param(text) for text in request.bound_params]
    kernels = Kernels(images, files, bound)
    host: list[tuple[str, str]] = []
    plan = Plan(files)
    if request.functions is None and not sources.has_host:
        for kernel in kernels.exported():
            bind(plan, kernel.name.short, [[(_AS_CALLED, kernel)]])
    names = {name for x in kernels.every for name in (x.name.short, x.kernel.name)}
    for name, doc, instances in request.functions or ():
        if instances is None:
            if name in sources.host_functions and name in names:
                raise ValueError(f"{name!r} is both a kernel and a C++ function: rename one")
            is_host = sources.has_host and name not in names
            if is_host or name in (sources.exported_by_files or ()):
                host.append((name, doc))
                continue
        with told(f"function {name!r}"):
            found = [
                [(launch, kernels.find(name, launch)) for launch in launches]
                for launches in instances or [(_AS_CALLED,)]
            ]
        bind(plan, name, found, doc=doc)
    if sources.has_host:
        # For kernels that C++ launches, a bound parameter's type must fit all of them.
        for number, param in enumerate(bound):
            for type_ in [x.bound[number].type for x in kernels.every] or [param.type]:
                with told("bound_params"):
                    if type_.size is None:
                        raise ValueError(f"no kernel gives the type of {param.name!r}: declare it")
                    plan.slot(None, Exported(param.name, type_, param.ndim))
    return tuple(host), plan


def bind(plan: Plan, name: str, instances: Sequence[Launches], *, doc: str = "") -> None:
    """Bind and write a function; each of its instances is the launches of one call."""
    is_one = len(instances) == 1
    rows, facts = list[str](), list[dict[str, Any]]()
    for launches in instances:
        params, columns, made = _instance(plan, name, launches)
        called = name if is_one else " + ".join(kernel.name.display for _, kernel in launches)
        signature = f"{called}({', '.join(f'{type_} {x}' for x, type_ in params)})"
        conditions = " and ".join(launch.when for launch, _ in launches if launch.when)
        if conditions and not is_one:
            signature += f" when {conditions}"
        launch_rows, said = [], []
        for (_, kernel), (row, fields) in zip(launches, made, strict=True):
            launch_rows.append(LAUNCH.row(plan.kernel(kernel), *row))
            said.append(fields | {"kernel": kernel.kernel.name, "image": kernel.image})
        rows.append(_INSTANCE.row(plan.string(signature), plan.table(launch_rows), *columns))
        facts.append({"signature": signature, "params": params, "launches": said})
    merged = zip_longest(*(said["params"] for said in facts), fillvalue=("", ""))
    function = {
        "doc": doc,
        "bound": plan.bound(name),
        "signature": "\n".join(said["signature"] for said in facts),
        "params": [
            [" | ".join(filter(None, dict.fromkeys(x))) for x in zip(*param, strict=True)]
            for param in merged
        ],
        **({"launches": facts[0]["launches"]} if is_one else {"instances": facts}),
    }
    plan.function(name, function, rows)


def _instance(plan: Plan, name: str, launches: Launches) -> _Instance:
    """Return what does not depend on the kernels' names; equal instances are bound once."""
    # Everything that it depends on; repr tells 1 from True.
    key = tuple((repr(x), y.params, y.bound, y.is_own, y.place is None) for x, y in launches)
    known: _Instance | None = plan.instances.get(key)
    if known is not None:
        return known
    exported: dict[str, Exported] = {}
    binders, rows, targets = [], [], set()
    places = [f"function {name!r}, kernel {x.name.display!r}" for _, x in launches]
    # Collect what all launches export before reading any expression, which may use a parameter of
    # another launch's kernel.
    for (launch, kernel), place in zip(launches, places, strict=True):
        with told(place):
            binders.append(LaunchBinder(plan, name, launch, kernel, exported))
    for binder, place in zip(binders, places, strict=True):
        with told(place):
            rows.append((binder.row(), to_json(binder.launch)))
            targets.add(binder.target())
            if len(targets) > 1:
                raise ValueError("all launches of a function must use the same stream= and device=")
    kinds = Counter(type(x) for binder in binders for x in binder.args.values())
    columns = (
        *(plan.table(map(plan.param, exported.values())), targets.pop()),
        *(BOUND_TABLE if kinds[Bound] else None, len(exported), len(launches)),
        sum(max(1, len(x.params)) for x in binders),
        *(kinds[TensorMap], sum(x.num_attributes for x in binders), kinds[Scratch]),
        any(launch.when is not None for launch, _ in launches),
    )
    made = [(x.name, x.type.text) for x in exported.values()], columns, rows
    if not kinds[Bound]:  # slots belong to one function
        plan.instances[key] = made
    return made
