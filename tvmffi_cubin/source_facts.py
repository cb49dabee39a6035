"""What a CUDA source contains, as plain data: `SourceFacts` and its parts."""

from __future__ import annotations

from typing import NamedTuple

from .source_text import Include

# Named tuples: making one costs an import a seventh of what a frozen dataclass costs it.

__all__ = [
    "Definition",
    "HostFunction",
    "Include",
    "KernelFact",
    "LaunchSite",
    "ParamFact",
    "SourceFacts",
    "Use",
]


class ParamFact(NamedTuple):
    """A kernel's parameter as the source writes it.

    Attributes
    ----------
    name : str
        Empty where the source names none.
    type_text : str
        The type's text, without the name and any default value.
    pack : bool
        Whether it is a parameter pack, which stands for any number of parameters.
    """

    name: str
    type_text: str
    pack: bool = False


class KernelFact(NamedTuple):
    """A ``__global__`` function that the source declares, defines or instantiates.

    Attributes
    ----------
    name : str
        As declared, without namespaces; with template arguments where it is an explicit
        instantiation or specialisation.
    namespaces : tuple of str
        Enclosing namespaces, outermost first; ``""`` for an unnamed one.
    extern_c : bool
        Whether it has C linkage.
    template_params : tuple of str or None
        Names of the template's parameters; None where it is no template.
    params : tuple of ParamFact or None
        None where the declaration could not be read.
    line : int
        From 1.
    defined : bool
        Whether it has a body, or is an explicit instantiation.
    internal : bool
        Whether it is ``static`` or in an unnamed namespace: NVRTC then drops it unless asked.
    span : tuple or None
        Where in the prepared text the parameters begin and end, inside of their parentheses, and
        where the body begins, behind its brace, None where there is none.
    """

    name: str
    namespaces: tuple[str, ...]
    extern_c: bool
    template_params: tuple[str, ...] | None
    params: tuple[ParamFact, ...] | None
    line: int
    defined: bool
    internal: bool = False
    span: tuple[int, int, int | None] | None = None

    @property
    def qualified(self) -> str:
        """The name as code at global scope would write it."""
        return "::".join([*filter(None, self.namespaces), self.name])


class HostFunction(NamedTuple):
    """A function at namespace scope without ``__global__`` and ``__device__``."""

    qualified: str
    line: int
    defined: bool


class Definition(NamedTuple):
    """A function or variable that the source defines at namespace scope, kernels aside.

    Attributes
    ----------
    qualified : str
        The name as code at global scope would write it.
    line : int
        From 1.
    linkage : str
        ``"external"``: other sources can refer to it, and must not define it too.
        ``"internal"`` (static, const, or in an unnamed namespace), ``"inline"`` (or constexpr) or
        ``"template"``: each source that uses it has its own.
    declaration : str
        What another source would have to say in order to refer to it; empty where that is not
        possible.
    """

    qualified: str
    line: int
    linkage: str
    declaration: str


class LaunchSite(NamedTuple):
    """A ``<<<...>>>`` launch; `in_host`: the function around it is no device function."""

    text: str
    line: int
    in_host: bool


class Use(NamedTuple):
    """A construct of the source and its line: the evidence for a verdict."""

    text: str
    line: int

    def __str__(self) -> str:
        return f"line {self.line}: {self.text}"


class SourceFacts(NamedTuple):
    """What `tvmffi_cubin.scan.scan` found in a source.

    Attributes
    ----------
    kind : str
        ``"device"`` (it defines kernels, or device functions and variables only, and has no host
        part), ``"mixed"`` (kernels, and launches in host functions or use of a host-side API) or
        ``"host"`` (anything else).
    evidence : tuple of Use
        For ``"mixed"``: the first kernel and each host construct. For ``"device"``: the kernel,
        if there is one.
    host_uses : tuple of Use
        Uses of tvm-ffi, torch, pybind11 or Python.
    definitions : tuple of Definition
        What it defines beside kernels.
    readable : bool
        Whether the parse made sense of all of it.
    """

    kernels: tuple[KernelFact, ...]
    functions: tuple[HostFunction, ...]
    launches: tuple[LaunchSite, ...]
    includes: tuple[Include, ...]
    host_uses: tuple[Use, ...]
    kind: str
    evidence: tuple[Use, ...]
    definitions: tuple[Definition, ...] = ()
    readable: bool = True
