"""Which exports are kernels and which are C++ functions; kernels bound to their launches."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import reduce
from typing import NamedTuple

from ..arguments import identifier
from ..export import Export
from ..image import Image
from ..kernels.types import parse_params, sized_type
from ..launches.launch import Launch
from ..launches.values import ModuleParam
from ..source import DEVICE_IMAGE
from .bind import bind, function, told
from .choice import Kernels, listed
from .exported import Exported
from .function import Function, Instance
from .signature import signature_text


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
    if functions is None:
        functions = () if has_host else _all_kernels(images, from_sources=bool(device_sources))
    elif not functions and not has_host:
        raise ValueError(
            "functions is empty, so that nothing would be exported: leave it out to export all "
            "kernels of the sources, or name some"
        )
    kernels = Kernels(images, sources=device_sources, files=image_files, trailing=bound_params)
    names = {name for _, s in kernels.every for name in (s.name, s.symbol)}
    host: list[tuple[str, str]] = []
    bound = []
    for export in functions:
        if _is_host(export, names, host_functions, exported_by_files or (), has_host):
            host.append((export.name, export.doc))
        else:
            bound.append(_bound(export, kernels, bound_params))
    slots = [_slot(x, n - len(bound_params), kernels) for n, x in enumerate(bound_params)]
    return Exports(tuple(host), tuple(bound), tuple(slots) if has_host else ())


def _is_host(
    export: Export,
    kernels: Collection[str],
    host_functions: Collection[str],
    exported_by_files: Collection[str],
    has_host: bool,
) -> bool:
    name = export.name
    if export.instances is not None:
        return False
    if name in exported_by_files:
        return True
    if name in host_functions and name in kernels:
        raise ValueError(
            f"functions names {name!r}, which is both a kernel and a C++ function: rename one, or "
            "give the kernel as a Launch under another name"
        )
    return has_host and name not in kernels


def _bound(export: Export, kernels: Kernels, trailing: Sequence[ModuleParam]) -> Function:
    def instance(launches: Sequence[Launch]) -> Instance:
        with told(f"function {export.name!r}"):
            pairs = [(launch, kernels.choose(export.name, launch)) for launch in launches]
        return bind(export.name, pairs, trailing=trailing)

    instances = [instance(launches) for launches in export.instances or [(Launch(),)]]
    return function(export.name, instances, doc=export.doc)


def _all_kernels(images: Sequence[Image], *, from_sources: bool) -> tuple[Export, ...]:
    """Return every kernel of the device sources or, where there are none, of all images."""
    found = [(image.name, s) for image in images for s in image.signatures]
    if from_sources:
        found = [x for x in found if x[0] == DEVICE_IMAGE and not x[1].from_library]
    if not found and from_sources:
        raise ValueError(
            "the device sources define no kernel that is in the image: templates are instantiated "
            'by functions={"name": Launch(kernel="fill<float>", ...)}'
        )
    if not found:
        problems = "; ".join(f"image {i.name!r}: {i.problem}" for i in images if i.problem)
        raise ValueError(problems or f"no kernel is in {', '.join(repr(i.name) for i in images)}")
    # The image has them in an order of its own; those of headers and macros come last.
    found.sort(key=lambda x: (x[1].line is None, x[1].line or 0))
    by_name: dict[str, list[str]] = {}
    for image, s in found:
        by_name.setdefault(s.name, []).append(f"{signature_text(s)} in {image!r}")
    for name, texts in by_name.items():
        if len(texts) > 1:
            raise ValueError(
                f"{len(texts)} kernels are called {name!r}:\n  {listed(texts)}\nname each: "
                'functions={"one": Launch(kernel="...", image="...", params="..."), ...}'
            )
        identifier('a kernel\'s own name; functions={"k": Launch(kernel="...")} gives it one', name)
    return tuple(
        Export(s.name, instances=((Launch(kernel=s.symbol, image=image),),)) for image, s in found
    )


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
