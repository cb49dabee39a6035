"""`Probe`: asks NVRTC for kernels' exact parameter types, by code and names to be lowered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ..kernels.demangle import demangle, split_list, squeeze
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


class Probe(NamedTuple):
    """Kernels to ask about, as code at the end of the source names them.

    Each comes with its symbol, where that is known before, or its squeezed expression. Those that
    are `hidden` NVRTC drops unless it is asked for their names.
    """

    kernels: Mapping[str, str] = {}
    hidden: tuple[str, ...] = ()

    @property
    def epilogue(self) -> str:
        """Code to append to the source."""
        return _EPILOGUE if self.kernels else ""

    @property
    def name_expressions(self) -> tuple[str, ...]:
        """What is to be lowered."""
        return (*self.hidden, *map(_EXPRESSION.format, self.kernels))

    def types(self, lowered_names: Mapping[str, str]) -> Types:
        """Return what NVRTC told."""
        found: Types = {}
        for kernel, key in self.kernels.items():
            text = demangle(lowered_names.get(_EXPRESSION.format(kernel), ""))
            if text.startswith(_LOWERED):
                types = tuple(split_list(text[len(_LOWERED) : -len(")>")]))
                key = lowered_names.get(kernel, key)
                found[key] = () if types == ("void",) else types
        return found

    def surviving(self, log: str) -> Probe:
        """Return the probe without what a compiler's log complains of.

        NVRTC quotes every name expression that fails. Where it quotes none, nothing is left.
        """
        failed = {
            kernel
            for kernel in self.kernels
            if _EXPRESSION.format(kernel) in log or f"nv_mangled_name {kernel}\n" in log
        }
        if not failed:
            return Probe()
        return Probe(
            {kernel: key for kernel, key in self.kernels.items() if kernel not in failed},
            tuple(name for name in self.hidden if name not in failed),
        )


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

    named = [*filter(can_be_named, kernels)]
    # `&x` and casts are of variables or overloads.
    asked = {x: squeeze(x) for x in wanted if x.strip()[:1] not in ("&", "(")}
    asked |= {x.qualified: x.name if x.extern_c else squeeze(x.qualified) for x in named}
    hidden = dict.fromkeys(x.qualified for x in named if x.internal or "<" in x.name)
    return Probe(asked, tuple(hidden))
