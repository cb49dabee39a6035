"""Which exports are kernels and which are C++ functions; kernels bound to their launches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple

from ..device.signature import KernelSignature
from ..launches.form import to_json
from ..launches.launch import Launch
from ..launches.tensor_map import TensorMap
from ..launches.values import Bound, Scratch, bound_param, told
from .assembly import Layout
from .kernels import Kernels, listed
from .launch import LAUNCH, LaunchBinder
from .plan import BOUND_TABLE, Exported, Plan

if TYPE_CHECKING:
    from ..device.image import Image
    from ..launches.form import Export

_INSTANCE = Layout("P P P P P i i i i i i ?")
Launches = Sequence[tuple[Launch, KernelSignature]]

# Grid and block are the caller's, and all parameters.
_AS_CALLED = Launch()


def resolve(
    functions: Sequence[Export] | None,
    images: Sequence[Image],
    *,
    host_functions: Sequence[str],
    has_host: bool,
    exported_by_files: Sequence[str] | None = None,
    has_device_sources: bool = False,
    bound_params: Sequence[str] = (),
    image_files: Mapping[str, str],
) -> tuple[tuple[tuple[str, str], ...], Plan]:
    """Return the C++ functions to export, with docstrings, and the plan of all others.

    Raises
    ------
    TypeError, ValueError
        A function is neither, or a launch does not go with its kernel.
    """
    bound = [bound_param(text) for text in bound_params]
    kernels = Kernels(images, has_sources=has_device_sources, files=image_files, bound=bound)
    host: list[tuple[str, str]] = []
    plan = Plan(image_files)
    if functions is None and not has_host:
        for kernel in _all_kernels(kernels, has_sources=has_device_sources):
            bind(plan, kernel.name.short, [[(_AS_CALLED, kernel)]])
    elif not functions and not has_host:
        raise ValueError(
            "functions is empty, so that nothing would be exported: leave it out to export all "
            "kernels of the sources, or name some"
        )
    names = {name for x in kernels.every for name in (x.name.short, x.kernel.name)}
    for name, doc, instances in functions or ():
        if instances is None:
            if name in host_functions and name in names:
                raise ValueError(
                    f"functions names {name!r}, which is both a kernel and a C++ function: rename "
                    "one, or give the kernel as a Launch under another name"
                )
            if name in (exported_by_files or ()) or (has_host and name not in names):
                host.append((name, doc))
                continue
        with told(f"function {name!r}"):
            found = [
                [(launch, kernels.find(name, launch)) for launch in launches]
                for launches in instances or [(_AS_CALLED,)]
            ]
        bind(plan, name, found, doc=doc)
    if has_host:
        _add_slots(plan, kernels)
    return tuple(host), plan


def _all_kernels(kernels: Kernels, *, has_sources: bool) -> list[KernelSignature]:
    """Return every kernel of the device sources or, where there are none, of all images."""
    found = kernels.given
    if has_sources:
        found = [x for x in kernels.own if not x.from_library]
    if not found:
        problems = [f"image {i.name!r}: {i.problem}" for i in kernels.images if i.problem]
        raise ValueError(
            "; ".join(problems)
            or "the image has no kernel: templates are instantiated by "
            'functions={"name": Launch(kernel="fill<float>", ...)}'
        )
    by_name: dict[str, list[KernelSignature]] = {}
    for x in found:
        by_name.setdefault(x.name.short, []).append(x)
    for name, several in by_name.items():
        if len(several) > 1 or not name.isidentifier():
            raise ValueError(
                f"kernels that cannot be exported as {name!r}, which has to be the name of one:\n"
                f"  {listed(several)}\nname each: "
                'functions={"one": Launch(kernel="...", image="...", params="..."), ...}'
            )
    # The image has them in an order of its own; those of headers and macros come last.
    return sorted(found, key=lambda x: (x.line is None, x.line or 0))


def _add_slots(plan: Plan, kernels: Kernels) -> None:
    """Add what may be bound for kernels that C++ launches: of a type that does for all."""
    known = [x for x in kernels.every if x.bound]
    for number, param in enumerate(kernels.bound, -len(kernels.bound)):
        types = [x.params[number].type for x in known] or [param.type]
        if types[0].size is None:
            raise ValueError(
                f"bound_params: no kernel is embedded that could tell the type of {param.name!r}: "
                f'declare it, as in "unsigned long long* {param.name}"'
            )
        with told("bound_params"):
            for type_ in types:
                plan.slot(None, Exported(param.name, type_, param.ndim))


# One function


class Instance(NamedTuple):
    """One way to launch under a name: all that does not depend on the names of its kernels.

    `rows` are those of its launches but for the kernel, `columns` end its own row, and `launches`
    are JSON values.
    """

    params: tuple[Exported, ...]
    rows: list[tuple[Any, ...]]
    columns: tuple[Any, ...]
    launches: list[dict[str, Any]]


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
        kernels = [kernel for _, kernel in launches]
        declared = ", ".join(param.declaration for param in made.params)
        signature = f"{name}({declared})"
        if len(instances) > 1:
            signature = _described(launches, declared)
        pairs = zip(kernels, made.rows, strict=True)
        table = plan.table(LAUNCH.row(plan.kernel(kernel), *row) for kernel, row in pairs)
        rows.append(_INSTANCE.row(plan.string(signature), table, *made.columns))
        names = [{"kernel": x.kernel.name, "image": x.image} for x in kernels]
        facts.append(
            {
                "signature": signature,
                "params": [[x.name, x.type.text] for x in made.params],
                "launches": [x | y | x for x, y in zip(names, made.launches, strict=True)],
            }
        )
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
    # All that an instance depends on, but for names; the texts of 1 and True differ.
    key = tuple((repr(x), y.params, y.names_known, y.line is None, y.bound) for x, y in launches)
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
    instance = Instance(params, rows, columns, [to_json(launch) for launch, _ in launches])
    if not kinds[Bound]:  # slots are a function's own
        plan.instances[key] = instance
    return instance


def _described(launches: Launches, declared: str) -> str:
    """Return what tells an instance from others: its kernels, its parameters, when it fits."""
    kernels = " + ".join(kernel.name.display for _, kernel in launches)
    conditions = [launch.when for launch, _ in launches if launch.when]
    if len(conditions) > 1:
        conditions = [f"({text})" for text in conditions]
    when = f" when {' and '.join(conditions)}" if conditions else ""
    return f"{kernels}({declared}){when}"
