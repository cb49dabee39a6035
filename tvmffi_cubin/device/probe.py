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

Types = dict[str, tuple[str, ...]]  # what kernels take, by symbol


class Probe(NamedTuple):
    """Kernels to ask about, as code at the end of the source names them."""

    kernels: tuple[str, ...] = ()

    @property
    def epilogue(self) -> str:
        """Code to append to the source."""
        return _EPILOGUE if self.kernels else ""

    @property
    def name_expressions(self) -> tuple[str, ...]:
        """What is to be lowered: kernels, which NVRTC may drop otherwise, and their types."""
        return (*self.kernels, *map(_EXPRESSION.format, self.kernels))

    def types(self, lowered_names: Mapping[str, str]) -> Types:
        """Return what NVRTC told."""
        found: Types = {}
        for kernel in self.kernels:
            text = demangle(lowered_names.get(_EXPRESSION.format(kernel), ""))
            if text.startswith(_LOWERED):
                types = tuple(split_list(text[len(_LOWERED) : -len(")>")]))
                found[lowered_names[kernel]] = () if types == ("void",) else types
        return found

    def surviving(self, log: str) -> Probe:
        """Return the probe without what fails, which NVRTC quotes; without all if it does not."""

        def has_failed(kernel: str) -> bool:
            return _EXPRESSION.format(kernel) in log or f"nv_mangled_name {kernel}\n" in log

        left = tuple(kernel for kernel in self.kernels if not has_failed(kernel))
        return Probe(left if left != self.kernels else ())


def plan(kernels: Iterable[KernelFact], wanted: Iterable[str]) -> Probe:
    """Return the probe for a source's kernels and for the template instances that are wanted."""
    defined = [kernel for kernel in kernels if kernel.defined]
    # A name that others have too stands for no single type. Inside a namespace the arguments of an
    # instance may be names that only mean something there.
    counts = Counter(kernel.qualified for kernel in defined)
    named = [
        kernel.qualified
        for kernel in defined
        if not kernel.is_template
        and (kernel.extern_c or counts[kernel.qualified] == 1)
        and not ("<" in kernel.name and kernel.qualified != kernel.name)
    ]
    # `&x` and casts are of variables or overloads.
    asked = [name for name in wanted if name.strip()[:1] not in ("&", "(")]
    return Probe(tuple(dict.fromkeys((*asked, *named))))
