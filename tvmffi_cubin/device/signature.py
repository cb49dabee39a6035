"""`KernelSignature`: a kernel of an image with names, from its source, and types, from NVRTC.

What cannot be known is no guess: the signature then carries a `problem` that says what to declare.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from ..kernels.cubin import Cubin, Kernel
from ..kernels.demangle import FunctionName, function_name, spelled_types
from ..kernels.types import CxxType, Param, parse_params, parse_type
from ..sources.facts import KernelFact
from ..sources.parameters import Parameter
from .probe import Types, squeeze

_BY_SIZE = {1: "int8_t", 2: "int16_t", 4: "int", 8: "void*"}


class KernelSignature(NamedTuple):
    """A kernel of an image, with what is known of its parameters."""

    # The image's own account of it, with its symbol.
    kernel: Kernel
    name: FunctionName
    # In order; empty where `problem` says why they are not known.
    params: tuple[Param, ...] = ()
    # Whether all parameters have the source's names; the others are ``arg0``, ``arg1``, ...
    names_known: bool = True
    # Where the source declares it, None where that is not known.
    line: int | None = None
    # Why the parameters are not known, and what to declare; empty where they are known.
    problem: str = ""
    # Whether it came with a device library: then it is exported only where it is named.
    from_library: bool = False
    # Whether it came without a source, and its types from its symbol or its sizes: who declares
    # others is believed.
    opaque: bool = False
    # Of one in a module: the name of its image; the architectures of that which have it, empty
    # where all do; by which names its last parameters are bound.
    image: str = ""
    archs: tuple[str, ...] = ()
    bound: tuple[str, ...] = ()

    def require(self) -> KernelSignature:
        """Return itself where the parameters are known."""
        if self.problem:
            raise ValueError(self.problem)
        return self


# Of the kernels of sources


def resolve(facts: Sequence[KernelFact], cubin: Cubin, types: Types) -> tuple[KernelSignature, ...]:
    """Return the signature of every kernel in an image.

    `facts` are the kernels of the sources that it was compiled from, `types` what NVRTC told.
    """
    declared: dict[str, list[KernelFact]] = {}
    for fact in facts:
        if fact.params is not None:
            name = fact.name if fact.extern_c else squeeze(fact.qualified)
            declared.setdefault(name, []).append(fact)
    return tuple(_resolved(kernel, declared, types) for kernel in cubin.kernels)


def _resolved(
    kernel: Kernel, declared: Mapping[str, Sequence[KernelFact]], told: Types
) -> KernelSignature:
    name = function_name(kernel.name)
    types = told.get(kernel.name, told.get(squeeze(name.display), spelled_types(name)))
    fact = _fact(kernel, name, types, declared)
    written = (fact.params if fact else None) or ()
    names = [param.name if _is_named(param) else f"arg{i}" for i, param in enumerate(written)]
    count = len(kernel.param_sizes) if types is None else len(types)
    names += [f"arg{index}" for index in range(len(names), max(count, len(kernel.param_sizes)))]
    made = KernelSignature(
        kernel,
        name,
        names_known=len(written) == count and all(map(_is_named, written)),
        line=fact.line if fact else None,
    )
    try:
        if types is None and fact is None:
            raise ValueError("neither the compiler nor the source tells its parameters' types")
        texts = types if types is not None else [param.type_text for param in written]
        parsed = [parse_type(text) for text in texts]
        unknown = next((x.text for x in parsed if x.size is None), None)
        if types is None and unknown:
            raise ValueError(f"{unknown!r} may be any type (the source names it only)")
        params = [Param(*pair) for pair in zip(names, parsed, strict=False)]
        return made._replace(params=check(params, kernel, f"kernel {name.display!r}"))
    except ValueError as error:
        pairs = zip(kernel.param_sizes, names, strict=False)
        suggested = ", ".join(f"{_BY_SIZE.get(size, 'MyStruct')} {x}" for size, x in pairs)
        problem = (
            f"the parameters of kernel {name.display!r} are not known: {error}\n"
            f'declare them, such as params="{suggested}"'
        )
        return made._replace(problem=problem)


def _fact(
    kernel: Kernel,
    name: FunctionName,
    types: Sequence[str] | None,
    declared: Mapping[str, Sequence[KernelFact]],
) -> KernelFact | None:
    """Return the declaration of a kernel of the image: one with all names, and its definition."""
    # Only the symbols of functions without C linkage have parameters.
    is_c = name.params is None
    spellings = [kernel.name] if is_c else [squeeze(name.display), name.qualified]
    found = [
        fact
        for spelling in dict.fromkeys(spellings)
        for fact in declared.get(spelling, ())
        if fact.extern_c == is_c and len(fact.params or ()) == len(kernel.param_sizes)
    ]

    def rank(fact: KernelFact) -> tuple[bool, ...]:
        has_names = all(map(_is_named, fact.params or ()))
        return has_names, types is not None and _takes(fact, types), fact.defined

    if len(found) > 1:
        best = max(map(rank, found))
        found = [fact for fact in found if rank(fact) == best]
    # Overloads may differ only in types that are spelled in a way that we cannot follow.
    names = {tuple(param.name for param in fact.params or ()) for fact in found}
    return found[0] if len(names) == 1 else None


def _is_named(param: Parameter) -> bool:
    return param.name.isidentifier() and param.name.isascii() and not param.pack


def _takes(fact: KernelFact, types: Sequence[str]) -> bool:
    try:
        written = [parse_type(param.type_text).text for param in fact.params or ()]
        return written == [parse_type(text).text for text in types]
    except ValueError:
        return False


# Of declared ones


def check(params: Sequence[Param], kernel: Kernel, title: str) -> tuple[Param, ...]:
    """Check parameters against the image; return them with sizes that were open filled in."""
    if len(params) != len(kernel.param_sizes):
        listed = ", ".join(f"{param.type.text} {param.name}" for param in params) or "none"
        sizes = ", ".join(map(str, kernel.param_sizes)) or "none"
        raise ValueError(
            f"{title}: the image has {len(kernel.param_sizes)} parameters (bytes: {sizes}), "
            f"but {len(params)} are declared ({listed})"
        )
    checked = []
    for index, (param, size) in enumerate(zip(params, kernel.param_sizes, strict=True)):
        if param.type.size not in (None, size):
            raise ValueError(
                f"{title}: parameter {index} ({param.name!r}) is declared {param.type.text!r}, "
                f"which has {param.type.size} bytes, but the image's has {size}"
            )
        if param.type.size is None:
            param = param._replace(type=param.type._replace(size=size))
        checked.append(param)
    return tuple(checked)


def resolve_declared(params_text: str, kernel: Kernel) -> tuple[Param, ...]:
    """Parse declared parameters and check them against a kernel of an image."""
    return check(parse_params(params_text), kernel, f"kernel {kernel.name!r}")


def known_signatures(signatures: Iterable[KernelSignature]) -> dict[str, str]:
    """Return what a source told of kernels' parameters, by symbol, as `Cubin.signatures` has it.

    Those are left out that this form cannot say.
    """
    found = {}
    for signature in signatures:
        if not (signature.opaque or signature.problem):
            text = ", ".join(f"{_declarable(p.type)} {p.name}" for p in signature.params)
            with suppress(ValueError):
                resolve_declared(text, signature.kernel)
                found[signature.kernel.name] = text
    return found


def _declarable(declared: CxxType) -> str:
    return "void*" if declared.kind == "pointer" and "(" in declared.text else declared.text


def signature_text(signature: KernelSignature) -> str:
    """Return a kernel as people tell it from others: name, parameters, symbol."""
    name, symbol = signature.name.display, signature.kernel.name
    if signature.problem:
        return f"{name} [{symbol}]"
    params = ", ".join(f"{param.type.text} {param.name}" for param in signature.params)
    return f"{name}({params}) [{symbol}]"
