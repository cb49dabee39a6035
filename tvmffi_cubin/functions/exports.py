"""Which exports are kernels and which are C++ functions; kernels bound to their launches."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import reduce
from typing import NamedTuple

from ..device.image import Image
from ..device.signature import signature_text
from ..kernels.types import parse_params, sized_type
from ..launches.export import Export, identifier
from ..launches.launch import Launch
from ..launches.values import ModuleParam
from ..sources.source import DEVICE_IMAGE
from .bind import bind, function, told
from .choice import Found, Kernels, kernel_ref, listed
from .exported import Exported
from .function import Function

# Grid and block are the caller's, and all parameters.
_AS_CALLED = Launch()


class Exports(NamedTuple):
    """What the module exports: C++ functions by name, with docstrings, and generated functions.

    `slots` is what may be bound for the kernels that C++ functions launch.
    """

    host: tuple[tuple[str, str], ...]
    functions: tuple[Function, ...]
    slots: tuple[Exported, ...] = ()


def resolve(
    functions: Sequence[Export] | None,
    images: Sequence[Image],
    *,
    host_functions: Sequence[str],
    has_host: bool,
    exported_by_files: Sequence[str] | None = None,
    device_sources: Sequence[str] = (),
    bound_params: tuple[ModuleParam, ...] = (),
    image_files: Collection[str] = (),
) -> Exports:
    """Tell kernels from C++ functions and bind the former."""
    kernels = Kernels(images, sources=device_sources, files=image_files, trailing=bound_params)
    host: list[tuple[str, str]] = []
    made: list[Function] = []
    if functions is None and not has_host:
        for image, s in _all_kernels(kernels, from_sources=bool(device_sources)):
            instance = bind(s.name, [(_AS_CALLED, kernel_ref(image, s))], trailing=bound_params)
            made.append(function(s.name, [instance]))
    elif not functions and not has_host:
        raise ValueError(
            "functions is empty, so that nothing would be exported: leave it out to export all "
            "kernels of the sources, or name some"
        )
    names = {name for _, s in kernels.every for name in (s.name, s.symbol)}
    for name, doc, instances in functions or ():
        is_kernel = name in names
        if instances is None and name in host_functions and is_kernel:
            raise ValueError(
                f"functions names {name!r}, which is both a kernel and a C++ function: rename one, "
                "or give the kernel as a Launch under another name"
            )
        by_files = name in (exported_by_files or ())
        if instances is None and (by_files or (has_host and not is_kernel)):
            host.append((name, doc))
            continue
        bound = []
        for launches in instances or [(_AS_CALLED,)]:
            with told(f"function {name!r}"):
                pairs = [(launch, kernels.choose(name, launch)) for launch in launches]
            bound.append(bind(name, pairs, trailing=bound_params))
        made.append(function(name, bound, doc=doc))
    slots = [_slot(x, n - len(bound_params), kernels) for n, x in enumerate(bound_params)]
    return Exports(tuple(host), tuple(made), tuple(slots) if has_host else ())


def _all_kernels(kernels: Kernels, *, from_sources: bool) -> list[Found]:
    """Return every kernel of the device sources or, where there are none, of all images."""
    found = kernels.every
    if from_sources:
        found = [x for x in found if x[0].name == DEVICE_IMAGE and not x[1].from_library]
    if not found and from_sources:
        raise ValueError(
            "the device sources define no kernel that is in the image: templates are instantiated "
            'by functions={"name": Launch(kernel="fill<float>", ...)}'
        )
    if not found:
        problems = "; ".join(f"image {i.name!r}: {i.problem}" for i in kernels.images if i.problem)
        names = ", ".join(repr(image.name) for image in kernels.images)
        raise ValueError(problems or f"no kernel is in {names}")
    by_name: dict[str, list[str]] = {}
    for image, s in found:
        by_name.setdefault(s.name, []).append(f"{signature_text(s)} in {image.name!r}")
    for name, texts in by_name.items():
        if len(texts) > 1:
            raise ValueError(
                f"{len(texts)} kernels are called {name!r}:\n  {listed(texts)}\nname each: "
                'functions={"one": Launch(kernel="...", image="...", params="..."), ...}'
            )
        identifier('a kernel\'s own name; functions={"k": Launch(kernel="...")} gives it one', name)
    # The image has them in an order of its own; those of headers and macros come last.
    return sorted(found, key=lambda x: (x[1].line is None, x[1].line or 0))


def _slot(param: ModuleParam, position: int, kernels: Kernels) -> Exported:
    """Return what may be bound for kernels that C++ launches: of a type that does for all."""
    found = [s for _, s in kernels.every if not s.from_library]
    types = [
        s.params[position].type if s.params else sized_type(s.kernel.params[position].size)
        for s in found
    ]
    if not types and param.declared:
        types = [parse_params(param.declared)[0].type]
    kernel_of = {type_.size: s.display for type_, s in zip(types, found, strict=False)}
    if len(kernel_of) > 1:
        sizes = ", ".join(f"{size} bytes in {kernel}" for size, kernel in kernel_of.items())
        raise ValueError(f"bound_params: {param.name!r} is one parameter of all kernels: {sizes}")
    if not types or types[0].size is None:
        raise ValueError(
            f"bound_params: no kernel is embedded that could tell the type of {param.name!r}: "
            f'declare it, as in "unsigned long long* {param.name}"'
        )
    try:
        slot = reduce(Exported.merged, (Exported(param.name, type_) for type_ in types))
    except ValueError:
        slot = Exported(param.name, sized_type(types[0].size))
    return slot._replace(required=param.bound.required)
