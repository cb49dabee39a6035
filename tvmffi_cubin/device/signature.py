"""`KernelSignature`: a kernel of an image with names and types."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import NamedTuple

from ..kernels.cubin import Kernel
from ..kernels.types import CxxType, Param, parse_params


class KernelSignature(NamedTuple):
    """A kernel of an image, with what is known of its parameters."""

    # Its name in the image.
    symbol: str
    # Its name without namespaces and template arguments.
    name: str
    # With namespaces, without template arguments.
    qualified: str
    # With both, such as ``"ns::fill<float, 4>"``.
    display: str
    # In order; empty where `problem` says why they are not known.
    params: tuple[Param, ...]
    # Whether all parameters have the source's names; the others are ``arg0``, ``arg1``, ...
    names_known: bool
    # Where the source declares it, None where that is not known.
    line: int | None
    # The image's own account of it.
    kernel: Kernel
    # Why the parameters are not known, and what to declare; empty where they are known.
    problem: str = ""
    # Whether it came with a device library: then it is exported only where it is named.
    from_library: bool = False
    # Whether it came without a source, and its types from its symbol or its sizes: who declares
    # others is believed.
    opaque: bool = False

    def require(self) -> KernelSignature:
        """Return itself where the parameters are known."""
        if self.problem:
            raise ValueError(self.problem)
        return self


def check(params: Sequence[Param], kernel: Kernel, title: str) -> tuple[Param, ...]:
    """Check parameters against the image; return them with sizes that were open filled in."""
    if len(params) != len(kernel.params):
        listed = ", ".join(f"{param.type.text} {param.name}" for param in params) or "none"
        sizes = ", ".join(str(slot.size) for slot in kernel.params) or "none"
        raise ValueError(
            f"{title}: the image has {len(kernel.params)} parameters (bytes: {sizes}), "
            f"but {len(params)} are declared ({listed})"
        )
    checked = []
    for param, slot in zip(params, kernel.params, strict=True):
        if param.type.size not in (None, slot.size):
            raise ValueError(
                f"{title}: parameter {slot.ordinal} ({param.name!r}) is declared "
                f"{param.type.text!r}, which has {param.type.size} bytes, but the image's "
                f"has {slot.size}"
            )
        checked.append(param._replace(type=param.type._replace(size=slot.size)))
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
                found[signature.symbol] = text
    return found


def _declarable(declared: CxxType) -> str:
    return "void*" if declared.kind == "pointer" and "(" in declared.text else declared.text


def signature_text(signature: KernelSignature) -> str:
    """Return a kernel as people tell it from others: name, parameters, symbol."""
    if signature.problem:
        return f"{signature.display} [{signature.symbol}]"
    params = ", ".join(f"{param.type.text} {param.name}" for param in signature.params)
    return f"{signature.display}({params}) [{signature.symbol}]"
