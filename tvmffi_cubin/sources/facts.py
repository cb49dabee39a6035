"""What a CUDA source contains, as plain data: `SourceFacts` and its parts."""

from __future__ import annotations

from typing import NamedTuple

# Named tuples: making one costs an import a seventh of what a frozen dataclass costs it.


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
        Where in the source the parameters begin and end, inside of their parentheses, and where the
        body begins, behind its brace, None where there is none. None where a macro spells them.
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


class Declared(NamedTuple):
    """A function or variable at namespace scope, kernels aside.

    Attributes
    ----------
    qualified : str
        The name as code at global scope would write it.
    line : int
        From 1.
    defined : bool
        Whether it is defined here.
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
    defined: bool
    linkage: str
    declaration: str


class LaunchSite(NamedTuple):
    """A ``<<<...>>>`` launch; `in_host`: the function around it is no device function."""

    text: str
    line: int
    in_host: bool


class Use(NamedTuple):
    """A construct of the source and its line, such as the evidence for a verdict."""

    text: str
    line: int

    def __str__(self) -> str:
        return f"line {self.line}: {self.text}"


class SourceFacts(NamedTuple):
    """What `tvmffi_cubin.sources.reader.read` found in a source.

    Attributes
    ----------
    kind : str
        ``"device"`` (it defines kernels, or device functions and variables only, and has no host
        part), ``"mixed"`` (kernels, and launches in host functions or use of a host-side API) or
        ``"host"`` (anything else).
    evidence : tuple of Use
        For ``"mixed"``: the first kernel and each host construct. For ``"device"``: the kernel,
        if there is one.
    functions : tuple of Declared
        Functions without ``__global__`` and ``__device__``.
    includes : tuple of Use
        Paths as written.
    host_uses : tuple of Use
        Uses of tvm-ffi, torch, pybind11 or Python.
    definitions : tuple of Declared
        What it defines beside kernels, on either side.
    exports : tuple of str
        Functions that it is seen to export; a macro of a header may hide more.
    readable : bool
        Whether its brackets are matched.
    """

    kernels: tuple[KernelFact, ...]
    functions: tuple[Declared, ...]
    launches: tuple[LaunchSite, ...]
    includes: tuple[Use, ...]
    host_uses: tuple[Use, ...]
    kind: str
    evidence: tuple[Use, ...]
    definitions: tuple[Declared, ...]
    exports: tuple[str, ...]
    readable: bool
