"""Which exports are kernels and which are C++ functions; kernels bound to their launches."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from .bind import bind
from .bound_params import ModuleParam
from .declared_kernel import declared_kernel
from .dispatched import Dispatched, dispatched
from .every_kernel import all_kernels
from .export import Export
from .function import BoundParam, Function, KernelRef
from .image import Image
from .kernel_choice import is_exact, select
from .kernel_signature import KernelSignature
from .kernels.demangle import demangle
from .kernels.types import parse_params
from .launch import Launch
from .module_slots import trailing_slots
from .scan import scan
from .source import DEVICE_IMAGE

__all__ = ["Exports", "resolve"]


@dataclass(frozen=True)
class Exports:
    """What the module exports: C++ functions by name, with docstrings, and generated functions.

    `slots` is what may be bound for the kernels that C++ functions launch.
    """

    host: tuple[tuple[str, str], ...]
    functions: tuple[Function | Dispatched, ...]
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
    """Tell kernels from C++ functions and bind the former.

    Parameters
    ----------
    functions : sequence of Export or None
        None: every kernel of the device sources, or of the images where there are none, unless
        there is host code.
    images : sequence of Image
        What is embedded.
    host_functions : sequence of str
        Names that the host sources declare.
    has_host : bool
        Whether there are host sources at all: names that are no kernels are theirs.
    exported_by_files : sequence of str, optional
        Where the host sources are files, which export by themselves: what they are seen to export.
    device_sources : sequence of str
        The device sources' texts.
    bound_params : tuple of ModuleParam
        The last parameters of all kernels, which the module binds.
    image_files : collection of str
        Names of images that lie in files, and are not seen here.

    Raises
    ------
    TypeError, ValueError
        A name is on both sides or on neither, or a launch does not fit its kernel.
    """
    if functions is None:
        functions = () if has_host else all_kernels(images, from_sources=bool(device_sources))
    elif not functions and not has_host:
        raise ValueError(
            "functions is empty, so that nothing would be exported: leave it out to export all "
            "kernels of the sources, or name some"
        )
    host: list[tuple[str, str]] = []
    bound = []
    for export in functions:
        own = exported_by_files is not None and _is_files_own(export, images, exported_by_files)
        if own or _is_host(export, images, host_functions, has_host):
            host.append((export.name, export.doc))
        else:
            bound.append(_bound(export, images, device_sources, bound_params, image_files))
    slots = trailing_slots(images, bound_params) if has_host else ()
    return Exports(tuple(host), tuple(bound), slots)


def _bound(
    export: Export,
    images: Sequence[Image],
    device_sources: Sequence[str],
    bound_params: tuple[ModuleParam, ...],
    image_files: Collection[str],
) -> Function | Dispatched:
    def find(launch: Launch, launches: Sequence[Launch]) -> KernelRef:
        alone = None if images or len(image_files) != 1 else next(iter(image_files))
        image = launch.image or alone
        if isinstance(image, str) and image in image_files:
            return declared_kernel(export.name, image, launch, launches)
        return _find(export, launch, images, device_sources)

    def one(launches: Sequence[Launch]) -> Function:
        refs = [(launch, find(launch, launches)) for launch in launches]
        return bind(export.name, refs, doc=export.doc, trailing=bound_params)

    if export.dispatch is None:
        return one(export.launches or (Launch(),))
    return dispatched(export.name, map(one, export.dispatch.instances), doc=export.doc)


def _is_files_own(export: Export, images: Sequence[Image], exported: Sequence[str]) -> bool:
    """Whether files export a function themselves, as far as that can be seen."""
    if export.name in exported and export.launches is not None:
        raise ValueError(
            f"functions[{export.name!r}] is a Launch, and a file exports a function of that name "
            "itself: rename one"
        )
    own = export.name in exported or not (export.launches or _is_kernel(export.name, images))
    if own and export.doc:
        raise ValueError(
            f"functions[{export.name!r}] has a docstring for a function that a file exports: write "
            f'TVM_FFI_DLL_EXPORT_TYPED_FUNC_DOC({export.name}, "..."); there'
        )
    return own


def _is_kernel(name: str, images: Sequence[Image]) -> bool:
    return any(name in (s.name, s.symbol) for s in _signatures(images))


def _is_host(
    export: Export, images: Sequence[Image], host_functions: Sequence[str], has_host: bool
) -> bool:
    in_host = export.name in host_functions
    if export.launches is not None:
        if in_host:
            raise ValueError(
                f"functions[{export.name!r}] is a Launch, and the C++ sources define a function of "
                "that name: rename one"
            )
        return False
    in_device = _is_kernel(export.name, images)
    if in_host and in_device:
        raise ValueError(
            f"functions names {export.name!r}, which is both a kernel and a C++ function: rename "
            "one, or give the kernel as a Launch under another name"
        )
    return has_host and not in_device


def _signatures(images: Sequence[Image]) -> Iterator[KernelSignature]:
    for image in images:
        yield from image.signatures


def _refuse_twins(
    name: str,
    wanted: str,
    images: Sequence[Image],
    lowered_names: Mapping[str, str],
    parts: bool,
) -> None:
    """Refuse a kernel that several images have: no way of writing its name tells them apart."""
    if len(images) < 2:
        return
    # Whether its parameters are known does not matter here.
    by_symbol = {s.symbol: replace(s, problem="") for s in _signatures(images)}
    try:
        found = select(by_symbol.values(), wanted, lowered_names=lowered_names, parts=parts)
    except ValueError:
        return
    homes = [i.name for i in images if any(s.symbol == found.symbol for s in i.signatures)]
    if len(homes) > 1:
        raise ValueError(
            f"function {name!r}: kernel {demangle(found.symbol)} is in {len(homes)} images, "
            f"{', '.join(map(repr, homes))}: say which is meant, as in Launch(image={homes[0]!r})"
        )


def _refuse_absent(wanted: str, sources: Sequence[str]) -> None:
    """Refuse a name that a kernel of the sources has which is not in the image.

    Else its name could be a part of another's, and that would be launched in its place.
    """
    if any(wanted in (k.name, k.qualified) for text in sources for k in scan(text).kernels):
        raise ValueError(
            f"the sources have a kernel {wanted!r}, which is not in the image: of a template name "
            f'an instance, such as kernel="{wanted}<float>"; else a condition (#if) leaves it out'
        )


def _find(
    export: Export, launch: Launch, images: Sequence[Image], device_sources: Sequence[str]
) -> KernelRef:
    wanted = launch.kernel or export.name
    images = _chosen(export.name, launch, images)
    everything = tuple(_signatures(images))
    lowered: dict[str, str] = {}
    for image in images:
        lowered.update(image.cubin.lowered_names)
    declared = None
    if launch.params is not None:
        try:
            declared = parse_params(launch.params)
        except ValueError as error:
            raise ValueError(f"function {export.name!r}: params: {error}") from None
    # What cannot be read may have a kernel of that very name.
    parts = launch.kernel is not None and not any(image.problem for image in images)
    try:
        is_own = any(image.name == DEVICE_IMAGE for image in images)
        if parts and is_own and not is_exact(everything, wanted, lowered):
            _refuse_absent(wanted.strip(), device_sources)
        found = select(
            everything,
            wanted,
            declared=declared,
            lowered_names=lowered,
            checked=False,
            parts=parts,
            foreign=_foreign(images),
        )
    except ValueError as error:
        _refuse_twins(export.name, wanted, images, lowered, parts)
        unread = "".join(f"; image {i.name!r}: {i.problem}" for i in images if i.problem)
        raise ValueError(f"function {export.name!r}: {error}{unread}") from None
    # Types may have chosen one of two kernels of the same symbol; that is no choice of an image.
    _refuse_twins(export.name, found.symbol, images, lowered, parts)
    home = next(image for image in images if found in image.signatures)
    return KernelRef(
        home.name,
        found.kernel,
        found.display,
        None if found.problem else found.params,
        found.names_known,
        home.archs_with(found.symbol),
        found.opaque,
    )


def _chosen(name: str, launch: Launch, images: Sequence[Image]) -> Sequence[Image]:
    """Return the images that may have a launch's kernel: the one that it names, else all."""
    if launch.image is None:
        return images
    chosen = [image for image in images if image.name == launch.image]
    if not chosen:
        known = ", ".join(repr(image.name) for image in images) or "none"
        raise ValueError(
            f"function {name!r}: there is no image {launch.image!r}; there are {known}"
        )
    return chosen


def _foreign(images: Sequence[Image]) -> frozenset[str]:
    """Return the kernels of which the device sources have no instances."""
    if all(image.name != DEVICE_IMAGE for image in images):
        return frozenset()
    others = [image for image in images if image.name != DEVICE_IMAGE]
    return frozenset(signature.symbol for signature in _signatures(others))
