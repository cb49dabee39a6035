"""`KernelSignature`: a kernel of an image with what is known of its parameters.

Types are those that NVRTC tells, that a symbol spells, or that somebody declares; names are the
source's or declared ones. Where the types are not known, a `problem` says so.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from ..kernels.cubin import Cubin, Kernel
from ..kernels.demangle import FunctionName, function_name, spelled_types, squeeze
from ..kernels.types import CxxType, Param, parse_params, parse_type, sized_type
from ..sources.facts import KernelFact
from .probe import Types


class KernelSignature(NamedTuple):
    """A kernel of an image, with what is known of its parameters."""

    kernel: Kernel  # the image's own account of it, with its symbol
    name: FunctionName
    params: tuple[Param, ...] = ()  # in order; empty where `problem` says why they are not known
    names_known: bool = True  # else some are ``arg0``, ``arg1``, ...
    line: int | None = None  # where the source declares it, None where that is not known
    problem: str = ""  # why the parameters are not known, and what to declare
    from_library: bool = False  # it came with a device library: exported only where it is named
    # Whether it came without a source, and its types from its symbol or its sizes: who declares
    # others is believed.
    opaque: bool = False
    # Of one in a module: the name of its image; the architectures of that which have it, empty
    # where all do; by which names its last parameters are bound.
    image: str = ""
    archs: tuple[str, ...] = ()
    bound: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return it as people tell it from others: name, parameters, symbol."""
        params = "" if self.problem else f"({', '.join(map(_text, self.params))})"
        return f"{self.name.display}{params} [{self.kernel.name}]"


def _text(param: Param) -> str:
    return f"{param.type.text} {param.name}"


# Of the kernels of sources


def resolve(cubin: Cubin, facts: Sequence[KernelFact], types: Types) -> list[KernelSignature]:
    """Return the signature of every kernel in an image.

    `facts` are the kernels of the sources that it was compiled from, `types` what NVRTC told.
    """
    declared: dict[str, list[KernelFact]] = defaultdict(list)
    for fact in facts:
        if fact.params is not None:
            declared[fact.name if fact.extern_c else squeeze(fact.qualified)].append(fact)
    return [_resolved(kernel, declared, types) for kernel in cubin.kernels]


def _resolved(
    kernel: Kernel, declared: Mapping[str, Sequence[KernelFact]], known: Types
) -> KernelSignature:
    name = function_name(kernel.name)
    types = known.get(kernel.name, spelled_types(name))
    if types is None:
        problem = (
            f"the parameters of kernel {name.display!r} are not known; declare them by params=, "
            f"in bytes they are: {', '.join(map(str, kernel.param_sizes))}"
        )
        return KernelSignature(kernel, name, names_known=False, problem=problem)
    fact = _fact(name, kernel.name, types, declared)
    written = [param.name for param in (fact.params if fact else None) or ()]
    names = [text if text.isascii() else "" for text in written] or [""] * len(types)
    params = [
        Param(text or f"arg{index}", parse_type(type_))
        for index, (text, type_) in enumerate(zip(names, types, strict=True))
    ]
    line = fact.line if fact else None
    made = KernelSignature(kernel, name, names_known=all(names), line=line)
    return made._replace(params=check(params, made, f"kernel {name.display!r}"))


def _fact(
    name: FunctionName,
    symbol: str,
    types: Sequence[str],
    declared: Mapping[str, Sequence[KernelFact]],
) -> KernelFact | None:
    """Return the declaration of a kernel of the image that names its parameters best."""
    # Only the symbols of functions without C linkage have parameters.
    is_c = name.params is None
    spellings = (symbol,) if is_c else (squeeze(name.display), name.qualified)
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


def _takes(fact: KernelFact, types: Sequence[str]) -> bool:
    with suppress(ValueError):
        written = [parse_type(param.type_text).text for param in fact.params or ()]
        return written == [parse_type(text).text for text in types]
    return False


# Of the kernels of images that come ready


def given_signature(kernel: Kernel, declared: str | None) -> KernelSignature:
    """Return a kernel of an image, with the parameters that are declared with the image.

    Without a declaration the types are those that the symbol spells, if they fit the image, and
    otherwise known by their sizes.
    """
    name = function_name(kernel.name)
    made = KernelSignature(kernel, name)
    if declared is not None:
        try:
            return made._replace(params=declared_params(declared, made))
        except ValueError as error:
            raise ValueError(f"Cubin.signatures[{kernel.name!r}]: {error}") from None
    sizes = kernel.param_sizes
    params = [Param(f"arg{index}", sized_type(size)) for index, size in enumerate(sizes)]
    with suppress(ValueError):
        types = map(parse_type, spelled_types(name) or ())
        spelled = [x._replace(type=type_) for x, type_ in zip(params, types, strict=True)]
        params = [*check(spelled, made, "its symbol")]
    # Where there is none, nothing is left to declare.
    return made._replace(params=tuple(params), names_known=not params, opaque=True)


# Of declared ones


def check(params: Sequence[Param], kernel: KernelSignature, title: str) -> tuple[Param, ...]:
    """Check parameters against what is known of a kernel; return them with the image's sizes."""
    sizes = kernel.kernel.param_sizes
    if len(params) != len(sizes):
        raise ValueError(
            f"{title}: the image has {len(sizes)} parameters (bytes: "
            f"{', '.join(map(str, sizes)) or 'none'}), but {len(params)} are declared "
            f"({', '.join(map(_text, params)) or 'none'})"
        )
    checked = []
    for index, (param, size) in enumerate(zip(params, sizes, strict=True)):
        if param.type.size not in (None, size):
            raise ValueError(
                f"{title}: parameter {index} ({param.name!r}) is declared {param.type.text!r}, "
                f"which has {param.type.size} bytes, but the image's has {size}"
            )
        checked.append(param._replace(type=param.type._replace(size=size)))
    for param, known in zip(checked, () if kernel.opaque else kernel.params, strict=False):
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


def declared_params(text: str, kernel: KernelSignature) -> tuple[Param, ...]:
    """Parse declared parameters and check them against a kernel of an image."""
    return check(parse_params(text), kernel, f"kernel {kernel.kernel.name!r}")


def known_signatures(signatures: Iterable[KernelSignature]) -> dict[str, str]:
    """Return what a source told of kernels' parameters, by symbol, as `Cubin.signatures` has it."""
    found = {}
    for signature in signatures:
        if not (signature.opaque or signature.problem):
            text = ", ".join(map(_text, signature.params))
            with suppress(ValueError):  # a pointer to an array or a function has no such form
                declared_params(text, signature)
                found[signature.kernel.name] = text
    return found
