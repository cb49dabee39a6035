"""Which exports are kernels and which are C++ functions; kernels bound to their launches."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import reduce
from typing import NamedTuple

from ..arguments import identifier
from ..export import Export
from ..image import Image
from ..kernels.types import sized_type
from ..launches.launch import Launch
from ..launches.values import ModuleParam
from ..source import DEVICE_IMAGE
from .bind import bind, declared_params, declared_type, dispatched, in_file, own_count
from .choice import Kernels, listed
from .function import BoundParam, Exported, Function, Instance, contradicts
from .signature import KernelSignature, signature_text


class Exports(NamedTuple):
    """What the module exports: C++ functions by name, with docstrings, and generated functions.

    `slots` is what may be bound for the kernels that C++ functions launch.
    """

    host: tuple[tuple[str, str], ...]
    functions: tuple[Function, ...]
    slots: tuple[BoundParam, ...] = ()


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
        functions = () if has_host else all_kernels(images, from_sources=bool(device_sources))
    elif not functions and not has_host:
        raise ValueError(
            "functions is empty, so that nothing would be exported: leave it out to export all "
            "kernels of the sources, or name some"
        )
    kernels = Kernels(images, device_sources)
    names = {name for _, s in kernels.every for name in (s.name, s.symbol)}
    host: list[tuple[str, str]] = []
    bound = []
    for export in functions:
        if _is_host(export, names, host_functions, exported_by_files or (), has_host):
            host.append((export.name, export.doc))
        else:
            bound.append(_bound(export, kernels, image_files, bound_params))
    slots = _slots(kernels, bound_params) if has_host else ()
    return Exports(tuple(host), tuple(bound), slots)


def _is_host(
    export: Export,
    kernels: Collection[str],
    host_functions: Collection[str],
    exported_by_files: Collection[str],
    has_host: bool,
) -> bool:
    name, in_file = export.name, export.name in exported_by_files
    if export.launches is not None:
        if in_file or name in host_functions:
            raise ValueError(
                f"functions[{name!r}] is a Launch, and the C++ sources have a function of that "
                "name: rename one"
            )
        return False
    if in_file and export.doc:
        raise ValueError(
            f"functions[{name!r}] has a docstring for a function that a file exports: write "
            f'TVM_FFI_DLL_EXPORT_TYPED_FUNC_DOC({name}, "..."); there'
        )
    if name in host_functions and name in kernels and not in_file:
        raise ValueError(
            f"functions names {name!r}, which is both a kernel and a C++ function: rename one, or "
            "give the kernel as a Launch under another name"
        )
    return in_file or (has_host and name not in kernels)


def _bound(
    export: Export, kernels: Kernels, files: Collection[str], trailing: Sequence[ModuleParam]
) -> Function:
    def instance(launches: Sequence[Launch]) -> Instance:
        pairs = []
        for launch in launches:
            alone = next(iter(files)) if len(files) == 1 and not kernels.images else ""
            image = launch.image or alone
            if image in files:
                pairs.append((launch, in_file(export.name, image, launch)))
                continue
            where = f"function {export.name!r}"
            declared = None if launch.params is None else declared_params(where, launch.params)
            try:
                pairs.append((launch, kernels.choose(export.name, launch, declared)))
            except ValueError as error:
                raise ValueError(f"{where}: {error}") from None
        return bind(export.name, pairs, trailing=trailing)

    if export.dispatch is not None:
        return dispatched(export.name, map(instance, export.dispatch.instances), doc=export.doc)
    one = instance(export.launches or (Launch(),))
    return Function(export.name, (one,), export.doc, one.slots)


def all_kernels(images: Sequence[Image], *, from_sources: bool) -> tuple[Export, ...]:
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
        Export(s.name, launches=(Launch(kernel=s.symbol, image=image),)) for image, s in found
    )


# What may be bound for the kernels that C++ functions launch


def _slots(kernels: Kernels, trailing: Sequence[ModuleParam]) -> tuple[BoundParam, ...]:
    found = [signature for _, signature in kernels.every if not signature.from_library]
    for signature in found:
        own_count(signature, trailing)
    return tuple(_slot(param, index - len(trailing), found) for index, param in enumerate(trailing))


def _slot(param: ModuleParam, position: int, kernels: Sequence[KernelSignature]) -> BoundParam:
    """Return a parameter of a type that does for all kernels, or of their size."""
    types = {s.display: sized_type(s.kernel.params[position].size) for s in kernels}
    types |= {s.display: s.params[position].type for s in kernels if s.params}
    declared = declared_type(param)
    if declared is not None:
        types = {"bound_params": declared, **types}
        for type_ in types.values():
            if contradicts(declared, type_):
                raise ValueError(
                    f"bound_params declares {param.declared!r}, a kernel has '{type_.text}'"
                )
    if not kernels and (declared is None or declared.size is None):
        raise ValueError(
            f"bound_params: no kernel is embedded that could tell the type of {param.name!r}: "
            f'declare it, as in "unsigned long long* {param.name}"'
        )
    sizes = {type_.size: name for name, type_ in reversed(types.items()) if type_.size}
    if len(sizes) > 1:
        (one, first), (other, second) = list(sizes.items())[:2]
        raise ValueError(
            f"bound_params: {param.name!r} has {one} bytes in {first} and {other} in {second}: it "
            "is one parameter of all kernels of the module"
        )
    (size,) = sizes
    try:
        merged = reduce(Exported.merged, (Exported(param.name, x) for x in types.values()))
        type_ = declared or merged.type
    except ValueError:
        type_ = declared or sized_type(size)
    return BoundParam(Exported(param.name, type_), param.bound.required)
