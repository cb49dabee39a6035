"""`Image`: what is embedded under a name; `KernelSignature`: one of its kernels with parameters.

Types come from NVRTC, from a symbol or from a declaration; names come from the source or from a
declaration. If the type of a parameter is unknown, its size is still known.
"""

from __future__ import annotations

import zlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from ..errors import ImageError
from ..kernels import ptx
from ..kernels.cubin import UNLINKED, Cubin, Kernel, read_image
from ..kernels.demangle import FunctionName, function_name, spelled_types, squeeze
from ..kernels.types import CxxType, Param, parse_params, parse_type
from ..launches.values import told
from ..sources.facts import KernelFact

if TYPE_CHECKING:
    from ..inline.request import Request
    from .units import Types


class KernelSignature(NamedTuple):
    """A kernel of an image, with what is known about its parameters."""

    kernel: Kernel  # what the image says about it, with its symbol
    params: tuple[Param, ...]  # in order; ``arg0``, ``arg1``, ... if the name is unknown
    place: int | None = None  # its index among the kernels that the source declares, if known
    is_own: bool = False  # the sources' own; for other kernels, declared types are trusted
    image: str = ""  # the name of its image, in a module
    archs: tuple[str, ...] = ()  # the image's architectures that have it; empty if all do
    bound: tuple[Param, ...] = ()  # parameters after `params`, which the module binds

    @property
    def name(self) -> FunctionName:
        """The name that its symbol spells."""
        return function_name(self.kernel.name)

    def __str__(self) -> str:
        params = _texts(self.params)
        return f"{self.name.display}({params}) [{self.kernel.name}] in {self.image!r}"


class Image(NamedTuple):
    """An image embedded under a name, with the signatures of its kernels."""

    name: str
    cubin: Cubin
    signatures: tuple[KernelSignature, ...]  # one for each kernel that can be read
    problem: str = ""  # why there may be more kernels

    @property
    def file(self) -> str:
        """Name of the file that holds the image, in a module's folder."""
        return f"{self.name}.{self.cubin.kind}"

    @property
    def facts(self) -> dict[str, object]:
        """What the manifest says about it, as JSON values."""
        signatures = {
            x.kernel.name: _texts(x.params)
            for x in self.signatures
            if x.is_own and all(param.type.kind != "raw" for param in x.params)
        } | dict(self.cubin.signatures)
        return {**self.cubin.facts, "crc32": zlib.crc32(self.cubin.image), "signatures": signatures}

    def archs(self) -> dict[str, tuple[str, ...]]:
        """Return the architectures of each kernel that only some of a fatbin's images have."""
        members, found = () if self.problem else self.cubin.members, defaultdict(list)
        for member in members:
            for kernel in member.kernels:
                found[kernel.name].append(member.arch)
        return {name: tuple(x) for name, x in found.items() if len(x) < len(members)}


def given_images(request: Request, archs: tuple[str, ...]) -> tuple[Image, ...]:
    """Return the images that the request gives; PTX is assembled unless it is to be kept."""
    images = []
    for name, given in request.images.items():
        if request.assembles and ptx.arch(given.image):
            from ..cuda.nvjitlink import assembled

            given = assembled(given, archs)
        images.append(given_image(name, given))
    return tuple(images)


def given_image(name: str, given: Cubin) -> Image:
    """Return an image as it is embedded under a name."""
    cubin = read_image(given)
    with told(given.name):
        if unlinked := [x.arch for x in cubin.members if x.kind == "relocatable"]:
            raise ImageError(f"its code for {', '.join(unlinked)} is not linked yet; {UNLINKED}")
        if unknown := cubin.signatures.keys() - {kernel.name for kernel in cubin.kernels}:
            raise ValueError(f"Cubin.signatures names {min(unknown)!r}, not a kernel of the image")
        # A wrapper can still launch parts of a fatbin that cannot be read.
        return Image(name, cubin, signatures(cubin), "; ".join(cubin.unreadable))


def signatures(
    cubin: Cubin, facts: Sequence[KernelFact] = (), types: Types | None = None
) -> tuple[KernelSignature, ...]:
    """Return an image's kernels from the `facts` of its sources and the `types` from NVRTC."""
    declared: dict[str, list[KernelFact]] = defaultdict(list)
    places = {id(fact): number for number, fact in enumerate(facts)}
    for fact in facts:
        declared[fact.name if fact.extern_c else squeeze(fact.qualified)].append(fact)
    found = []
    for kernel in cubin.kernels:
        known = _types(kernel, types or {})
        source = _fact(kernel, known, declared)
        names = [x.name for x in source.params] if source else [""] * len(known)
        params = [
            Param(name if name and name.isascii() else f"arg{index}", type_)
            for index, (name, type_) in enumerate(zip(names, known, strict=True))
        ]
        place = places[id(source)] if source else None
        made = KernelSignature(kernel, tuple(params), place, is_own=types is not None)
        if (text := cubin.signatures.get(kernel.name)) is not None:
            with told(f"Cubin.signatures[{kernel.name!r}]"):
                made = made._replace(params=check(parse_params(text), made, "it"))
        found.append(made)
    return tuple(found)


def _types(kernel: Kernel, known: Types) -> list[CxxType]:
    texts = known.get(kernel.name) or spelled_types(function_name(kernel.name)) or ()
    sizes = kernel.param_sizes
    with suppress(ValueError):
        types = [parse_type(text) for text in texts]
        if [x.size or size for x, size in zip(types, sizes, strict=True)] == [*sizes]:
            return [x._replace(size=size) for x, size in zip(types, sizes, strict=True)]
    return [CxxType(f"{size} byte{'' if size == 1 else 's'}", "raw", size) for size in sizes]


def _fact(
    kernel: Kernel, types: Sequence[CxxType], declared: Mapping[str, Sequence[KernelFact]]
) -> KernelFact | None:
    """Return the declaration that best names the parameters of an image's kernel."""
    name = function_name(kernel.name)
    found = [
        fact
        for spelling in dict.fromkeys((squeeze(name.display), name.qualified))
        for fact in declared.get(spelling, ())
        # Only the symbols of functions without C linkage spell parameters.
        if fact.extern_c == (name.params is None)
        and len(fact.params) == len(types)
        and not any(param.pack for param in fact.params)
    ]

    def fit(fact: KernelFact) -> tuple[bool, ...]:
        takes = False
        # Overloads may differ only in types whose spelling we cannot follow.
        with suppress(ValueError):
            written = [parse_type(param.type_text).text for param in fact.params]
            takes = written == [type_.text for type_ in types]
        return all(x.name for x in fact.params), takes, fact.defined

    if len(found) > 1:
        fits = [*map(fit, found)]
        found = [fact for fact, this in zip(found, fits, strict=True) if this == max(fits)]
    names = {tuple(param.name for param in fact.params) for fact in found}
    return found[0] if len(names) == 1 else None


def check(params: Sequence[Param], kernel: KernelSignature, title: str) -> tuple[Param, ...]:
    """Check parameters against what is known about a kernel; return them with the image's sizes."""
    if len(params) != len(kernel.params):
        known = _texts(kernel.params)
        raise ValueError(f"{title} declares ({_texts(params)}), the kernel takes ({known})")
    for param, real in zip(params, kernel.params, strict=True):
        if not agrees(param.type, real.type, by_size=not kernel.is_own):
            declared = f"{param.type.text} {param.name}"
            raise ValueError(f"{title} declares '{declared}', the kernel takes '{real.type.text}'")
    pairs = zip(params, kernel.params, strict=True)
    return tuple(x._replace(type=x.type._replace(size=real.type.size)) for x, real in pairs)


def agrees(declared: CxxType, real: CxxType, *, by_size: bool = False) -> bool:
    """Whether a declaration is consistent with what a kernel is known to take.

    Of a struct, only the size is compared. A pointer to a type without dtypes, such as ``void*``,
    agrees with any pointer.
    """
    if declared.size not in (None, real.size):
        return False
    if by_size or {"struct", "raw"} & {declared.kind, real.kind}:
        return True
    one, other = {*declared.dtypes}, {*real.dtypes}
    return declared.kind == real.kind and (not one or not other or not one.isdisjoint(other))


def _texts(params: Iterable[Param]) -> str:
    return ", ".join(f"{x.type.text} {x.name}" for x in params)
