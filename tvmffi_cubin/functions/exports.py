"""Which exports are kernels and which are C++ functions; kernels bound to their launches."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence, Set
from typing import NamedTuple

from ..arguments import identifier
from ..export import Export
from ..image import Image
from ..kernels.demangle import demangle
from ..kernels.types import CxxType, Param, sized_type
from ..launches.launch import Launch
from ..launches.values import ModuleParam
from ..scan import scan
from ..source import DEVICE_IMAGE
from .bind import bind, dispatched
from .choice import Catalog, select
from .function import BoundParam, Exported, Function, Instance, KernelRef, contradicts
from .kernel_params import declared_kernel, declared_params, declared_type, own_count
from .signature import KernelSignature, signature_text

_MOST_LISTED = 20


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
    kernels = _Kernels(images, device_sources, image_files)
    known = {name for s in _signatures(images) for name in (s.name, s.symbol)}
    host: list[tuple[str, str]] = []
    bound = []
    for export in functions:
        own = exported_by_files is not None and _is_files_own(export, known, exported_by_files)
        if own or _is_host(export, known, host_functions, has_host):
            host.append((export.name, export.doc))
        else:
            bound.append(_bound(export, kernels, bound_params))
    slots = _trailing_slots(images, bound_params) if has_host else ()
    return Exports(tuple(host), tuple(bound), slots)


def _bound(export: Export, kernels: _Kernels, trailing: tuple[ModuleParam, ...]) -> Function:
    def one(launches: Sequence[Launch]) -> Instance:
        refs = [(launch, kernels.find(export.name, launch, launches)) for launch in launches]
        return bind(export.name, refs, trailing=trailing)

    if export.dispatch is not None:
        return dispatched(export.name, map(one, export.dispatch.instances), doc=export.doc)
    instance = one(export.launches or (Launch(),))
    return Function(export.name, (instance,), export.doc, instance.slots)


def _signatures(images: Sequence[Image]) -> Iterator[KernelSignature]:
    for image in images:
        yield from image.signatures


# C++ functions


def _is_files_own(export: Export, kernels: Set[str], exported: Sequence[str]) -> bool:
    """Whether files export a function themselves, as far as that can be seen."""
    if export.name in exported and export.launches is not None:
        raise ValueError(
            f"functions[{export.name!r}] is a Launch, and a file exports a function of that name "
            "itself: rename one"
        )
    own = export.name in exported or not (export.launches or export.name in kernels)
    if own and export.doc:
        raise ValueError(
            f"functions[{export.name!r}] has a docstring for a function that a file exports: write "
            f'TVM_FFI_DLL_EXPORT_TYPED_FUNC_DOC({export.name}, "..."); there'
        )
    return own


def _is_host(
    export: Export, kernels: Set[str], host_functions: Sequence[str], has_host: bool
) -> bool:
    in_host = export.name in host_functions
    if export.launches is not None:
        if in_host:
            raise ValueError(
                f"functions[{export.name!r}] is a Launch, and the C++ sources define a function of "
                "that name: rename one"
            )
        return False
    in_device = export.name in kernels
    if in_host and in_device:
        raise ValueError(
            f"functions names {export.name!r}, which is both a kernel and a C++ function: rename "
            "one, or give the kernel as a Launch under another name"
        )
    return has_host and not in_device


# The kernel of a launch


class _Kernels:
    """The kernels of all images, as launches name them.

    `device_sources` are the texts of the device sources; `image_files` the names of images that
    lie in files.
    """

    def __init__(
        self,
        images: Sequence[Image],
        device_sources: Sequence[str],
        image_files: Collection[str],
    ) -> None:
        self.images = images
        self.device_sources = device_sources
        self.image_files = image_files
        self._catalogs: dict[str | None, Catalog] = {}

    def find(self, function: str, launch: Launch, launches: Sequence[Launch]) -> KernelRef:
        """Return the kernel of a launch, one of those of its function."""
        alone = self.image_files and not self.images and len(self.image_files) == 1
        image = launch.image or (next(iter(self.image_files)) if alone else None)
        if isinstance(image, str) and image in self.image_files:
            return declared_kernel(function, image, launch, launches)
        return self._find(function, launch)

    def _find(self, function: str, launch: Launch) -> KernelRef:
        wanted = launch.kernel or function
        images = self._chosen(function, launch)
        catalog = self._catalog(launch.image, images)
        where = f"function {function!r}"
        declared = None if launch.params is None else declared_params(where, launch.params)
        # What cannot be read may have a kernel of that very name.
        parts = launch.kernel is not None and not any(image.problem for image in images)
        symbols = {x.symbol for x in catalog.find(wanted, parts=parts)}
        if len(symbols) == 1:
            _home(where, next(iter(symbols)), images)
        try:
            has_own = any(image.name == DEVICE_IMAGE for image in images)
            if parts and has_own and not catalog.find(wanted, parts=False):
                _refuse_absent(wanted.strip(), self.device_sources)
            found = select(catalog, wanted, declared=declared, parts=parts)
        except ValueError as error:
            unread = "".join(f"; image {i.name!r}: {i.problem}" for i in images if i.problem)
            raise ValueError(f"{where}: {error}{unread}") from None
        home = _home(where, found.symbol, images)
        return KernelRef(
            home.name,
            found.kernel,
            found.display,
            None if found.problem else found.params,
            found.names_known,
            home.archs_with(found.symbol),
            found.opaque,
        )

    def _chosen(self, function: str, launch: Launch) -> Sequence[Image]:
        """Return the images that may have a launch's kernel: the one that it names, else all."""
        if launch.image is None:
            return self.images
        chosen = [image for image in self.images if image.name == launch.image]
        if not chosen:
            known = ", ".join(repr(image.name) for image in self.images) or "none"
            raise ValueError(
                f"function {function!r}: there is no image {launch.image!r}; there are {known}"
            )
        return chosen

    def _catalog(self, name: str | None, images: Sequence[Image]) -> Catalog:
        if name not in self._catalogs:
            lowered = {key: x for image in images for key, x in image.cubin.lowered_names.items()}
            self._catalogs[name] = Catalog(_signatures(images), lowered)
        return self._catalogs[name]


def _home(where: str, symbol: str, images: Sequence[Image]) -> Image:
    """Return the image that has a kernel; of several none is chosen."""
    homes = [image for image in images if any(s.symbol == symbol for s in image.signatures)]
    if len(homes) > 1:
        names = ", ".join(repr(image.name) for image in homes)
        raise ValueError(
            f"{where}: kernel {demangle(symbol)} is in {len(homes)} images, {names}: say which is "
            f"meant, as in Launch(image={homes[0].name!r})"
        )
    return homes[0]


def _refuse_absent(wanted: str, sources: Sequence[str]) -> None:
    """Refuse a name that a kernel of the sources has which is not in the image.

    Else its name could be a part of another's, and that would be launched in its place.
    """
    if any(wanted in (k.name, k.qualified) for text in sources for k in scan(text).kernels):
        raise ValueError(
            f"the sources have a kernel {wanted!r}, which is not in the image: of a template name "
            f'an instance, such as kernel="{wanted}<float>"; else a condition (#if) leaves it out'
        )


# What is exported where nobody says what


def all_kernels(images: Sequence[Image], *, from_sources: bool) -> tuple[Export, ...]:
    """Return every kernel of the device sources or, where there are none, of all images."""
    if from_sources:
        own = [image for image in images if image.name == DEVICE_IMAGE]
        return _of_sources([s for image in own for s in image.signatures if not s.from_library])
    found = [(image.name, signature) for image in images for signature in image.signatures]
    if not found:
        problems = "; ".join(f"image {i.name!r}: {i.problem}" for i in images if i.problem)
        raise ValueError(problems or f"no kernel is in {', '.join(repr(i.name) for i in images)}")
    _refuse_shared(
        [(s.name, f"{signature_text(s)} in {image!r}") for image, s in found],
        'functions={"one": Launch(kernel="...", image="..."), ...}',
    )
    nameless = [signature for _, signature in found if not _is_name(signature.name)]
    if nameless:
        raise ValueError(
            "kernels have names that C cannot have:"
            + _listed(s.display for s in nameless)
            + '\nname what is to be exported: functions={"k": Launch(kernel="...")}'
        )
    return tuple(
        Export(s.name, launches=(Launch(kernel=s.symbol, image=image),)) for image, s in found
    )


def _of_sources(signatures: list[KernelSignature]) -> tuple[Export, ...]:
    if not signatures:
        raise ValueError(
            "the device sources define no kernel that is in the image: templates are instantiated "
            'by functions={"name": Launch(kernel="fill<float>", ...)}'
        )
    # The image has them in an order of its own; those of headers and macros come last.
    signatures.sort(key=lambda signature: (signature.line is None, signature.line or 0))
    _refuse_shared(
        [(signature.name, signature_text(signature)) for signature in signatures],
        'functions={"one": Launch(kernel="...", params="..."), ...}',
    )
    return tuple(Export(signature.name) for signature in signatures)


def _refuse_shared(kernels: Sequence[tuple[str, str]], remedy: str) -> None:
    """Refuse kernels that share a name; each comes with how it is shown."""
    shown: dict[str, list[str]] = {}
    for name, text in kernels:
        shown.setdefault(name, []).append(text)
    for name, several in shown.items():
        if len(several) > 1:
            raise ValueError(
                f"{len(several)} kernels are called {name!r}:{_listed(several)}\n"
                f"name each: {remedy}"
            )


def _listed(lines: Iterable[str]) -> str:
    every = [*lines]
    rest = [f"... and {len(every) - _MOST_LISTED} more"] if len(every) > _MOST_LISTED else []
    return "".join(f"\n  {line}" for line in (*every[:_MOST_LISTED], *rest))


def _is_name(name: str) -> bool:
    try:
        identifier("", name)
    except ValueError:
        return False
    return True


# What may be bound for the kernels that C++ functions launch


def _trailing_slots(
    images: Sequence[Image], trailing: Sequence[ModuleParam]
) -> tuple[BoundParam, ...]:
    found = [signature for signature in _signatures(images) if not signature.from_library]
    for signature in found:
        own_count(signature.kernel, signature.display, trailing)
    return tuple(_slot(param, index - len(trailing), found) for index, param in enumerate(trailing))


def _slot(param: ModuleParam, position: int, kernels: Sequence[KernelSignature]) -> BoundParam:
    declared = declared_type(param)
    if declared is not None and declared.size is None:
        raise ValueError(f"bound_params: {param.declared!r} is of a type of unknown size")
    sizes: dict[int, str] = {}
    if declared is not None:
        sizes[declared.size or 0] = "bound_params"
    for signature in kernels:
        sizes.setdefault(signature.kernel.params[position].size, signature.display)
    if len(sizes) > 1:
        (one, first), (other, second) = list(sizes.items())[:2]
        raise ValueError(
            f"bound_params: {param.name!r} has {one} bytes in {first} and {other} in {second}: it "
            "is one parameter of all kernels of the module"
        )
    if not sizes:
        raise ValueError(
            f"bound_params: no kernel is embedded that could tell the type of {param.name!r}: "
            f'declare it, as in "unsigned long long* {param.name}"'
        )
    size = next(iter(sizes))
    types = [s.params[position].type for s in kernels if s.params and not s.problem]
    if declared is not None and (other_type := _other(declared, types)) is not None:
        raise ValueError(
            f"bound_params declares {param.declared!r}, a kernel has '{other_type.text}'"
        )
    type_ = declared or _common(types, size)
    return BoundParam(Exported(Param(param.name, type_), size), param.bound.required)


def _other(declared: CxxType, types: Sequence[CxxType]) -> CxxType | None:
    return next((x for x in types if contradicts(declared, x)), None)


def _common(types: Sequence[CxxType], size: int) -> CxxType:
    """Return the type that does for all kernels; where none does, they agree in its size."""
    known = [type_ for type_ in types if type_.kind != "raw"]
    if not known:
        return sized_type(size)
    common = Exported(Param("", known[0]), size)
    for type_ in known[1:]:
        try:
            common = common.merged(Param("", type_), size)
        except ValueError:
            return sized_type(size)
    return common.param.type
