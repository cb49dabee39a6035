"""Asks NVRTC for kernels' exact parameter types: code to append, expressions to have lowered."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ..kernels.demangle import demangle, split_list
from ..sources.facts import KernelFact, SourceFacts

__all__ = ["Probe", "Target", "plan", "plan_targets", "squeeze"]

# A probe is a variable template over the kernel's function type: its mangled name spells the type
# out. Every name here is long because a macro of the source may have any short one. Enumerations
# are mapped to the integers that hold them, since nothing else tells them from structs.
_EPILOGUE = """
template <class tvmffi_cubin_t, bool = __is_enum(tvmffi_cubin_t)>
struct tvmffi_cubin_value { using tvmffi_cubin_type = tvmffi_cubin_t; };
template <class tvmffi_cubin_t>
struct tvmffi_cubin_value<tvmffi_cubin_t, true> {
  using tvmffi_cubin_type = __underlying_type(tvmffi_cubin_t);
};
template <class tvmffi_cubin_f> struct tvmffi_cubin_function;
template <class... tvmffi_cubin_a>
struct tvmffi_cubin_function<void(tvmffi_cubin_a...)> {
  using tvmffi_cubin_type = void(typename tvmffi_cubin_value<tvmffi_cubin_a>::tvmffi_cubin_type...);
};
template <class tvmffi_cubin_f> __device__ char tvmffi_cubin_probe;
"""
_EXPRESSION = "&tvmffi_cubin_probe<tvmffi_cubin_function<decltype({})>::tvmffi_cubin_type>"
_LOWERED = "tvmffi_cubin_probe<void ("


class Target(NamedTuple):
    """A kernel whose types are asked for.

    Attributes
    ----------
    expression : str
        How code at the end of the source names it.
    symbol : str or None
        Its symbol, where that is known before the compilation (C linkage).
    """

    expression: str
    symbol: str | None = None

    @property
    def probe(self) -> str:
        """The name expression that brings the types."""
        return _EXPRESSION.format(self.expression)


class Probe(NamedTuple):
    """What to add to a compilation.

    Attributes
    ----------
    epilogue : str
        Code to append to the source.
    name_expressions : tuple of str
        To be lowered, beside those that the caller wants.
    targets : tuple of Target
        The kernels that are asked about.
    """

    epilogue: str = ""
    name_expressions: tuple[str, ...] = ()
    targets: tuple[Target, ...] = ()

    def types(self, lowered_names: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
        """Return the targets' parameter types, by symbol and by squeezed expression."""
        found: dict[str, tuple[str, ...]] = {}
        for target in self.targets:
            text = demangle(lowered_names.get(target.probe, ""))
            if not text.startswith(_LOWERED):
                continue
            types = tuple(split_list(text[len(_LOWERED) : -len(")>")]))
            types = () if types == ("void",) else types
            symbol = target.symbol or lowered_names.get(target.expression)
            found[symbol or squeeze(target.expression)] = types
        return found

    def surviving(self, log: str) -> Probe:
        """Return the probe without the targets that a compiler's log complains of.

        NVRTC quotes every name expression that fails. Where it quotes none, nothing is left.
        """
        failed = {
            target
            for target in self.targets
            if target.probe in log or f"nv_mangled_name {target.expression}\n" in log
        }
        if not failed:
            return Probe()
        rest = [target for target in self.targets if target not in failed]
        expressions = {target.expression for target in failed}
        own = {target.probe for target in self.targets}
        extra = [name for name in self.name_expressions if name not in own | expressions]
        return plan_targets(rest, extra)

    def without(self, lowered_names: Mapping[str, str]) -> dict[str, str]:
        """Return the lowered names without the probes' own."""
        own = {target.probe for target in self.targets}
        return {name: symbol for name, symbol in lowered_names.items() if name not in own}


def squeeze(text: str) -> str:
    """Return text without spaces, for comparing names however they were written."""
    return "".join(text.split())


def plan_targets(targets: Iterable[Target], extra: Iterable[str] = ()) -> Probe:
    """Return the probe of given targets; `extra` are further expressions to lower."""
    unique = tuple({target.expression: target for target in targets}.values())
    expressions = [*extra, *(target.probe for target in unique)]
    return Probe(_EPILOGUE if unique else "", tuple(dict.fromkeys(expressions)), unique)


def plan(facts: SourceFacts, wanted: Iterable[str]) -> Probe:
    """Return what to add to a compilation to learn the kernels' types.

    Parameters
    ----------
    facts : SourceFacts
        Of the source.
    wanted : iterable of str
        Name expressions that the caller asks for: template instances are probed too.
    """
    wanted = [expression for expression in wanted if _names_kernel(expression)]
    counts: dict[str, int] = {}
    for kernel in facts.kernels:
        if kernel.defined:
            counts[kernel.qualified] = counts.get(kernel.qualified, 0) + 1
    targets: list[Target] = []
    lowered: list[str] = []
    templates = {kernel.qualified for kernel in facts.kernels if kernel.template_params}
    for kernel in facts.kernels:
        if not _probed(kernel, counts, templates):
            continue
        targets.append(Target(kernel.qualified, kernel.name if kernel.extern_c else None))
        # NVRTC drops what nothing outside the source can name, unless it is asked for.
        if kernel.internal or "<" in kernel.name:
            lowered.append(kernel.qualified)
    plain = {target.expression for target in targets}
    targets += [Target(expression) for expression in wanted if expression not in plain]
    return plan_targets(targets, lowered)


def _names_kernel(expression: str) -> bool:
    """Whether a name expression can be a kernel: `&x` and casts are of variables or overloads."""
    return expression.strip()[:1] not in ("&", "(")


def _probed(kernel: KernelFact, counts: Mapping[str, int], templates: set[str]) -> bool:
    if not kernel.defined or kernel.template_params:
        return False
    if "<" in kernel.name:
        # Inside a namespace the arguments may be names that only mean something there.
        return not kernel.namespaces
    # The name of overloads, or of a function beside a template, stands for no single type.
    return kernel.extern_c or (counts[kernel.qualified] == 1 and kernel.qualified not in templates)
