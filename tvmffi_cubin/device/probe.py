"""`Probe`: asks NVRTC for kernels' exact parameter types, by code and names to be lowered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ..kernels.demangle import demangle, split_list
from ..sources.facts import KernelFact

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

Types = dict[str, tuple[str, ...]]
"""What kernels take, by symbol or by squeezed expression."""


class Target(NamedTuple):
    """A kernel whose types are asked for, as code at the end of the source names it.

    Its symbol is known before the compilation where it has C linkage.
    """

    expression: str
    symbol: str | None = None

    @property
    def probe(self) -> str:
        """The name expression that brings the types."""
        return _EXPRESSION.format(self.expression)


class Probe(NamedTuple):
    """Kernels to ask about, and those that NVRTC would drop unless it is asked for their names."""

    targets: tuple[Target, ...] = ()
    hidden: tuple[str, ...] = ()

    @property
    def epilogue(self) -> str:
        """Code to append to the source."""
        return _EPILOGUE if self.targets else ""

    @property
    def name_expressions(self) -> tuple[str, ...]:
        """What is to be lowered."""
        return (*self.hidden, *(target.probe for target in self.targets))

    def types(self, lowered_names: Mapping[str, str]) -> Types:
        """Return what NVRTC told."""
        found: Types = {}
        for target in self.targets:
            text = demangle(lowered_names.get(target.probe, ""))
            if not text.startswith(_LOWERED):
                continue
            types = tuple(split_list(text[len(_LOWERED) : -len(")>")]))
            symbol = target.symbol or lowered_names.get(target.expression)
            found[symbol or squeeze(target.expression)] = () if types == ("void",) else types
        return found

    def surviving(self, log: str) -> Probe:
        """Return the probe without what a compiler's log complains of.

        NVRTC quotes every name expression that fails. Where it quotes none, nothing is left.
        """
        failed = [
            target
            for target in self.targets
            if target.probe in log or f"nv_mangled_name {target.expression}\n" in log
        ]
        if not failed:
            return Probe()
        gone = {target.expression for target in failed}
        return Probe(
            tuple(target for target in self.targets if target not in failed),
            tuple(name for name in self.hidden if name not in gone),
        )


def squeeze(text: str) -> str:
    """Return text without spaces, for comparing names however they were written."""
    return "".join(text.split())


def is_own(name: str) -> bool:
    """Whether a name expression is a probe's."""
    return name.startswith(_EXPRESSION[:20])


def plan(kernels: Iterable[KernelFact], wanted: Iterable[str]) -> Probe:
    """Return the probe for a source's kernels and for the template instances that are wanted."""
    kernels = [*kernels]
    counts = Counter(kernel.qualified for kernel in kernels if kernel.defined)
    templates = {kernel.qualified for kernel in kernels if kernel.template_params}

    def can_be_named(kernel: KernelFact) -> bool:
        if not kernel.defined or kernel.template_params:
            return False
        if "<" in kernel.name:
            # Inside a namespace the arguments may be names that only mean something there.
            return not kernel.namespaces
        # The name of overloads, or of a function beside a template, stands for no single type.
        return kernel.extern_c or (
            counts[kernel.qualified] == 1 and kernel.qualified not in templates
        )

    targets: dict[str, Target] = {}
    hidden: dict[str, None] = {}
    for kernel in filter(can_be_named, kernels):
        symbol = kernel.name if kernel.extern_c else None
        targets[kernel.qualified] = Target(kernel.qualified, symbol)
        if kernel.internal or "<" in kernel.name:
            hidden[kernel.qualified] = None
    for expression in wanted:
        # `&x` and casts are of variables or overloads.
        if expression.strip()[:1] not in ("&", "("):
            targets.setdefault(expression, Target(expression))
    return Probe(tuple(targets.values()), tuple(hidden))
