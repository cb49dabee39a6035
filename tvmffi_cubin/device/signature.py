"""`KernelSignature`: a kernel of an image with what is known of its parameters.

Types are those that NVRTC tells, that a symbol spells, or that somebody declares; names are the
source's or declared ones. Of what nobody tells, the size is known.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from ..kernels.cubin import Cubin, Kernel
from ..kernels.demangle import FunctionName, function_name, spelled_types, squeeze
from ..kernels.types import CxxType, Param, parse_params, parse_type, sized_type
from ..launches.values import told
from ..sources.facts import KernelFact
from .probe import Types


class KernelSignature(NamedTuple):
    """A kernel of an image, with what is known of its parameters."""

    kernel: Kernel  # the image's own account of it, with its symbol
    params: tuple[Param, ...]  # in order; ``arg0``, ``arg1``, ... where the name is not known
    line: int | None = None  # where the source declares it, None where that is not known
    from_library: bool = False  # it came with a device library: exported only where it is named
    # Whether its types are its symbol's alone: who declares others is believed.
    sourceless: bool = False
    # Of one in a module: the name of its image; the architectures of that which have it, empty
    # where all do; by which names its last parameters are bound.
    image: str = ""
    archs: tuple[str, ...] = ()
    bound: tuple[str, ...] = ()

    @property
    def name(self) -> FunctionName:
        """What its symbol says."""
        return function_name(self.kernel.name)

    @property
    def names_known(self) -> bool:
        """Whether all parameters have names of their own."""
        return not any(x.name == f"arg{number}" for number, x in enumerate(self.params))

    def __str__(self) -> str:
        """Return it as people tell it from others: name, parameters, symbol, image."""
        params = _texts(self.params)
        return f"{self.name.display}({params}) [{self.kernel.name}] in {self.image!r}"


def _texts(params: Iterable[Param]) -> str:
    return ", ".join(map(_text, params))


def _text(param: Param) -> str:
    return f"{param.type.text} {param.name}"


def resolve(
    cubin: Cubin, facts: Sequence[KernelFact] = (), types: Types | None = None
) -> tuple[KernelSignature, ...]:
    """Return the signature of every kernel in an image.

    `facts` are the kernels of the sources that it was compiled from, `types` what NVRTC says that
    they take.
    """
    declared: dict[str, list[KernelFact]] = defaultdict(list)
    for fact in facts:
        if fact.params is not None:
            declared[fact.name if fact.extern_c else squeeze(fact.qualified)].append(fact)
    found = []
    for kernel in cubin.kernels:
        known = _types(kernel, types or {})
        made = _named(kernel, known, _fact(kernel, known, declared))
        made = made._replace(sourceless=types is None)
        if (text := cubin.signatures.get(kernel.name)) is not None:
            with told(f"Cubin.signatures[{kernel.name!r}]"):
                params = check(parse_params(text), made, f"kernel {kernel.name!r}")
            made = made._replace(params=params, sourceless=False)
        found.append(made)
    return tuple(found)


def _types(kernel: Kernel, known: Types) -> list[CxxType]:
    """Return what a kernel takes, as the compiler told, its symbol spells, or by sizes alone."""
    texts = known.get(kernel.name) or spelled_types(function_name(kernel.name)) or ()
    sizes = kernel.param_sizes
    with suppress(ValueError):
        types = [parse_type(text) for text in texts]
        if [x.size or size for x, size in zip(types, sizes, strict=True)] == [*sizes]:
            return [x._replace(size=size) for x, size in zip(types, sizes, strict=True)]
    return [sized_type(size) for size in sizes]


def _named(kernel: Kernel, types: Sequence[CxxType], fact: KernelFact | None) -> KernelSignature:
    names = [x.name if x.name.isascii() else "" for x in (fact.params if fact else None) or ()]
    names = names or [""] * len(types)
    params = [
        Param(text or f"arg{index}", type_)
        for index, (text, type_) in enumerate(zip(names, types, strict=True))
    ]
    return KernelSignature(kernel, tuple(params), fact.line if fact else None)


def _fact(
    kernel: Kernel, types: Sequence[CxxType], declared: Mapping[str, Sequence[KernelFact]]
) -> KernelFact | None:
    """Return the declaration of a kernel of the image that names its parameters best."""
    name = function_name(kernel.name)
    # Only the symbols of functions without C linkage have parameters.
    is_c = name.params is None
    spellings = (kernel.name,) if is_c else (squeeze(name.display), name.qualified)
    found = [
        fact
        for spelling in dict.fromkeys(spellings)
        for fact in declared.get(spelling, ())
        if fact.extern_c == is_c
        and len(fact.params or ()) == len(types)
        and not any(param.pack for param in fact.params or ())
    ]
    if len(found) > 1:
        found = [fact for fact in found if all(x.name for x in fact.params or ())] or found
        # Overloads may differ only in types that are spelled in a way that we cannot follow.
        found = [fact for fact in found if _takes(fact, types)] or found
        found = [fact for fact in found if fact.defined] or found
    names = {tuple(param.name for param in fact.params or ()) for fact in found}
    return found[0] if len(names) == 1 else None


def _takes(fact: KernelFact, types: Sequence[CxxType]) -> bool:
    with suppress(ValueError):
        written = [parse_type(param.type_text).text for param in fact.params or ()]
        return written == [type_.text for type_ in types]
    return False


def check(params: Sequence[Param], kernel: KernelSignature, title: str) -> tuple[Param, ...]:
    """Check parameters against what is known of a kernel; return them with the image's sizes."""
    sizes = kernel.kernel.param_sizes
    if len(params) != len(sizes):
        raise ValueError(
            f"{title}: the image has {len(sizes)} parameters (bytes: "
            f"{', '.join(map(str, sizes)) or 'none'}), but {len(params)} are declared "
            f"({_texts(params) or 'none'})"
        )
    checked = []
    for index, (param, size) in enumerate(zip(params, sizes, strict=True)):
        if param.type.size not in (None, size):
            raise ValueError(
                f"{title}: parameter {index} ({param.name!r}) is declared {param.type.text!r}, "
                f"which has {param.type.size} bytes, but the image's has {size}"
            )
        checked.append(param._replace(type=param.type._replace(size=size)))
    for param, known in zip(checked, () if kernel.sourceless else kernel.params, strict=False):
        if contradicts(param.type, known.type):
            raise ValueError(
                f"{title} declares '{_text(param)}', the source has '{known.type.text}'"
            )
    return tuple(checked)


def contradicts(declared: CxxType, real: CxxType) -> bool:
    """Whether a declaration says something else than what the source is known to have.

    A struct's name tells nothing, nor does a size, nor does a pointer to a type without dtypes,
    such as ``void*``.
    """
    if {"struct", "raw"} & {declared.kind, real.kind}:
        return False
    one, other = {*declared.dtypes}, {*real.dtypes}
    return declared.kind != real.kind or bool(one and other and not one & other)


def known_signatures(signatures: Iterable[KernelSignature]) -> dict[str, str]:
    """Return what a source told of kernels' parameters, by symbol, as `Cubin.signatures` has it."""
    found = {}
    for signature in (x for x in signatures if not x.sourceless):
        text = _texts(signature.params)
        with suppress(ValueError):  # of some the size alone is known
            parse_params(text)
            found[signature.kernel.name] = text
    return found
