"""Which exports are kernels and which are C++ functions; kernels bound to their launches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ..device.signature import KernelSignature
from ..launches.launch import Launch
from ..launches.values import bound_param, told
from .bind import bind
from .exported import Exported
from .kernels import Kernels, listed
from .plan import Plan

if TYPE_CHECKING:
    from ..device.image import Image
    from ..launches.export import Export

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
    bound = [Exported(x.name, x.type) for x in map(bound_param, bound_params)]
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
            or "no kernel is in the image: templates are instantiated by "
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
                plan.slot(None, param._replace(type=type_))
