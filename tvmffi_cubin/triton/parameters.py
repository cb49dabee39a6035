"""From the arguments of a Triton function to the parameters of its kernel."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..cubin import Kernel
from ..cxx_type import parse_params, parse_type
from .descriptors import Piece, decomposed, mapped
from .element_types import descriptor, kernel_type
from .facts import Argument, Facts

__all__ = ["Parameters", "parameters"]

_HIDDEN = ("global_scratch", "profile_scratch")


@dataclass
class Parameters:
    """What a kernel takes, and what its function does.

    Attributes
    ----------
    kernel : list of Piece
        The kernel's parameters, in its order.
    exported : list of str
        The function's parameters as C++ declares them.
    pointers : list of str
        Those that are tensors.
    multiple_of : dict of str to int
        What parameters have to be multiples of.
    equal_to : dict of str to int
        What integers have to be.
    conditions : list of str
        What else must hold.
    """

    kernel: list[Piece] = field(default_factory=list)
    exported: list[str] = field(default_factory=list)
    pointers: list[str] = field(default_factory=list)
    multiple_of: dict[str, int] = field(default_factory=dict)
    equal_to: dict[str, int] = field(default_factory=dict)
    conditions: list[str] = field(default_factory=list)

    @property
    def signature(self) -> str:
        """The kernel's parameters as C++ declares them."""
        return ", ".join(f"{piece.type} {piece.name}" for piece in self.kernel)

    @property
    def scratch(self) -> str:
        """The parameter that is given global scratch memory."""
        return self.kernel[-len(_HIDDEN)].name

    @property
    def args(self) -> dict[str, Any]:
        """What the kernel's parameters are given that callers do not pass."""
        given = {piece.name: piece.value for piece in self.kernel if piece.value is not None}
        return {**given, **{piece.name: None for piece in self.kernel[-len(_HIDDEN) :]}}


def parameters(facts: Facts, kernel: Kernel) -> Parameters:
    """Work out the parameters, and check them against the image.

    Raises
    ------
    ValueError
        A type is not known, two names are one, or the image does not have these parameters.
    """
    made = Parameters()
    metas = list(facts.metadata.tensordesc_meta or ())
    version = version_of(facts)
    expected = sum(descriptor(argument.type) is not None for argument in facts.arguments)
    if metas and len(metas) != expected:
        raise ValueError(
            f"{facts.function}: Triton tells of {len(metas)} tensor maps, the function has "
            f"{expected}"
        )
    for argument in facts.arguments:
        if argument.type in ("one", "none"):
            _add_constant(made, argument)
        elif (kind := descriptor(argument.type)) is not None:
            made.exported.append(f"{kind.tensor_type} {argument.name}: ndim={kind.rank}")
            made.pointers.append(argument.name)
            if metas:
                made.kernel += mapped(argument, metas.pop(0), version)
            else:
                made.kernel += decomposed(argument, version)
                made.conditions.append(f"{argument.name}.stride[{kind.rank - 1}] == 1")
        else:
            _add_plain(made, argument)
    _add_hidden(made, facts, kernel)
    _check_names(made, facts)
    _check_sizes(made, facts, kernel)
    return made


def version_of(facts: Facts) -> tuple[int, int]:
    """Return the version of the Triton that compiled a kernel."""
    major, minor = str(facts.metadata.triton_version).split(".")[:2]
    return int(major), int(minor)


def _add_plain(made: Parameters, argument: Argument) -> None:
    type_ = kernel_type(argument.type)
    made.exported.append(f"{type_} {argument.name}")
    made.kernel.append(Piece(argument.name, type_))
    if argument.type.startswith("*"):
        made.pointers.append(argument.name)
    if argument.multiple_of > 1:
        made.multiple_of[argument.name] = argument.multiple_of


def _add_constant(made: Parameters, argument: Argument) -> None:
    if argument.type == "one":
        made.exported.append(f"int64_t {argument.name}")
        made.equal_to[argument.name] = 1
    else:
        made.exported.append(f"const void* {argument.name}")
        made.pointers.append(argument.name)
        made.conditions.append(f"{argument.name}.data_ptr == 0")


def _add_hidden(made: Parameters, facts: Facts, kernel: Kernel) -> None:
    mode = getattr(facts.metadata, "instrumentation_mode", "") or ""
    if "gsan" in mode:
        raise ValueError(
            f"{facts.function} is compiled with instrumentation_mode={mode!r}, whose kernels take "
            "state that Triton's own runtime keeps: compile it without"
        )
    surplus = len(kernel.params) - len(made.kernel)
    if surplus != len(_HIDDEN):
        raise ValueError(
            f"{facts.function}: the kernel takes {len(kernel.params)} parameters, {surplus} more "
            f"than its arguments; known are {len(_HIDDEN)} ({', '.join(_HIDDEN)}): Triton "
            f"{facts.metadata.triton_version} may be newer than this package knows"
        )
    if facts.metadata.profile_scratch_size > 0:
        raise ValueError(
            f"{facts.function} is compiled for a profiler, which wants memory of its own "
            "(profile_scratch_size): compile it without"
        )
    taken = {argument.name for argument in facts.arguments}
    made.kernel += [Piece(_free(name, taken), "void*") for name in _HIDDEN]


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name = f"_{name}"
    return name


def _check_names(made: Parameters, facts: Facts) -> None:
    for argument in facts.arguments:
        if not _is_cxx_name(argument.name):
            raise ValueError(
                f"{facts.function}: {argument.name!r} is a word of C++ that no parameter can be "
                "called: rename the argument"
            )
    names = [piece.name for piece in made.kernel]
    known = [argument.name for argument in facts.arguments]
    twice = sorted(
        {x for x in names if names.count(x) > 1} | {x for x in known if known.count(x) > 1}
    )
    # What a descriptor brings must not be read in the place of a constant's name either.
    brought = {piece.name for piece in made.kernel if isinstance(piece.value, str)}
    twice += sorted(brought & set(facts.constants))
    if twice:
        raise ValueError(
            f"{facts.function}: {twice[0]!r} would be two parameters: a tuple's items and what a "
            "descriptor brings get such names; rename the argument"
        )


def _is_cxx_name(name: str) -> bool:
    try:
        return [param.name for param in parse_params(f"int32_t {name}")] == [name]
    except ValueError:
        return False


def _check_sizes(made: Parameters, facts: Facts, kernel: Kernel) -> None:
    for index, (piece, slot) in enumerate(zip(made.kernel, kernel.params, strict=True)):
        size = parse_type(piece.type).size
        if size != slot.size:
            raise ValueError(
                f"{facts.function}: parameter {index + 1} of the kernel has {slot.size} bytes, "
                f"{piece.type} {piece.name} {size}: Triton {facts.metadata.triton_version} may be "
                "newer than this package knows"
            )
