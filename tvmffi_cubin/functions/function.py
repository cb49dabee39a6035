"""`Function`: what an exported function takes, computes and launches, bound to its kernels."""

from __future__ import annotations

from itertools import zip_longest
from typing import Any, NamedTuple

from ..device.signature import KernelSignature
from ..launches.form import to_json
from ..launches.launch import Launch
from ..launches.tensor_map import TensorMap
from .exported import Exported


class KernelRef(NamedTuple):
    """A kernel of an image."""

    # Name of the image.
    image: str
    # What is known of the kernel; of one in a file, what its launch declares.
    signature: KernelSignature
    # The architectures of the image that have this kernel, empty where all do.
    archs: tuple[str, ...] = ()
    # Of a kernel in a file, which is seen only when it is loaded, how many of the declared
    # parameters it has at least; None of one that is embedded.
    least_params: int | None = None
    # Whether the name of one in a file may be a part of its kernel's.
    by_part: bool = False

    @property
    def key(self) -> tuple[object, ...]:
        """What tells it from every other kernel of the module; in a file, how it is declared."""
        sizes = () if self.least_params is None else self.signature.kernel.params
        return self.image, self.signature.symbol, self.least_params, self.by_part, sizes


class Formula(NamedTuple):
    """An expression or condition as it was written, and as postfix code over the parameters."""

    text: str
    code: bytes


Figure = int | Formula

# The targets of steps and the kinds of sources, as launcher/plan.h has them.
WHEN, GRID, BLOCK, SMEM, DIMENSIONS, INTEGER, FLAG, EVENT, RAW, COMPUTED, MAP_WORD = range(11)
FROM_ARGUMENT, FROM_COMPUTED, FROM_CONSTANT, FROM_MAP, FROM_SCRATCH, FROM_BOUND = range(6)


class Step(NamedTuple):
    """One step of evaluating a launch; of a raw attribute `figure` is its bytes."""

    target: int
    figure: Figure | bytes
    axis: int = 0
    number: int = 0
    id: int = 0


class MapSource(NamedTuple):
    """A kernel parameter that is a tensor's map, with the 27 words of its spec."""

    name: str
    map: TensorMap
    words: list[Figure]


class ScratchSource(NamedTuple):
    """A kernel parameter that is memory for the launch alone."""

    name: str
    align: int
    bytes: Figure
    bytes_per_block: Figure


class Source(NamedTuple):
    """Where a kernel parameter comes from."""

    kind: int
    # Of the function's argument, also of a map; of the launch's computed value.
    number: int = 0
    # A constant, a map, scratch memory, what is bound.
    data: bytes | MapSource | ScratchSource | Exported | None = None


class BoundLaunch(NamedTuple):
    """One launch: its kernel, where the kernel's parameters come from, and what is evaluated."""

    launch: Launch
    kernel: KernelRef
    # For each kernel parameter in order.
    sources: tuple[Source, ...]
    # In the order in which they are done.
    steps: tuple[Step, ...]

    def facts(self) -> dict[str, Any]:
        """Return the launch as JSON values, with the kernel and the image that it turned out."""
        bound = {"kernel": self.kernel.signature.symbol, "image": self.kernel.image}
        return {**bound, **to_json(self.launch), **bound}


class Target(NamedTuple):
    """Where the launches of a function go, as far as that is not the caller's or the tensors'.

    The stream is its handle, or that of the parameter `pointer`; the device its ordinal.
    """

    stream: Figure | None
    device: Figure | None
    pointer: int = -1


class Instance(NamedTuple):
    """One way to launch under a name."""

    params: tuple[Exported, ...]
    launches: tuple[BoundLaunch, ...]
    # Where its launches go, where that is said.
    target: Target | None = None

    @property
    def declared_params(self) -> str:
        """The parameters as C++ would declare them."""
        return ", ".join(p.declaration for p in self.params)

    @property
    def told(self) -> str:
        """What tells it from other instances: its kernels, its parameters, when it fits."""
        kernels = " + ".join(bound.kernel.signature.display for bound in self.launches)
        conditions = [bound.launch.when for bound in self.launches if bound.launch.when]
        if len(conditions) > 1:
            conditions = [f"({text})" for text in conditions]
        when = f" when {' and '.join(conditions)}" if conditions else ""
        assumed = []
        for param in self.params:
            if param.ndim is not None:
                assumed.append(f"{param.name} has rank {param.ndim}")
            if param.equal_to is not None:
                assumed.append(f"{param.name} is {param.equal_to}")
            elif param.multiple_of > 1:
                assumed.append(f"{param.name} is a multiple of {param.multiple_of}")
        where = f" where {', '.join(assumed)}" if assumed else ""
        return f"{kernels}({self.declared_params}){where}{when}"

    def covers(self, other: Instance) -> bool:
        """Whether it fits whatever another one fits."""
        pairs = zip(self.params, other.params, strict=False)
        return (
            len(self.params) == len(other.params)
            and not any(bound.launch.when for bound in self.launches)
            and all(one.covers(two) for one, two in pairs)
        )


class Function(NamedTuple):
    """An exported function: one instance, or several that are tried in order.

    `slots` is what is bound, for all instances alike.
    """

    name: str
    instances: tuple[Instance, ...]
    doc: str = ""
    slots: tuple[Exported, ...] = ()

    @property
    def launches(self) -> tuple[BoundLaunch, ...]:
        """The launches of all instances, in order."""
        return tuple(bound for instance in self.instances for bound in instance.launches)

    @property
    def signatures(self) -> tuple[str, ...]:
        """Each instance as C++ would declare it; of several with what tells it from the others."""
        if len(self.instances) > 1:
            return tuple(instance.told for instance in self.instances)
        return (f"{self.name}({self.instances[0].declared_params})",)

    def facts(self) -> dict[str, Any]:
        """Return what a shared object says of the function, as JSON values."""
        instances = [
            {
                "signature": signature,
                "params": [[p.name, p.type.text] for p in instance.params],
                "launches": [x.facts() for x in instance.launches],
            }
            for instance, signature in zip(self.instances, self.signatures, strict=True)
        ]
        said = {
            "doc": self.doc,
            "bound": [slot.bound_facts for slot in self.slots],
            "fixes_block": all(x.launch.block is not None for x in self.launches),
            "callers_grid": self._callers_grid(),
        }
        if len(instances) == 1:
            return said | instances[0]
        columns = zip_longest(*(x["params"] for x in instances), fillvalue=("", ""))
        return said | {
            "signature": "\n".join(self.signatures),
            "params": [
                [" | ".join(filter(None, dict.fromkeys(x))) for x in zip(*column, strict=True)]
                for column in columns
            ],
            "instances": instances,
        }

    def _callers_grid(self) -> dict[str, Any] | None:
        """Return what a caller's grid means for all instances; None where it is not all theirs.

        ``"meta"`` is None where they differ in it: which instance a call takes is not known before.
        """
        first, *others = [x.launches[0].launch.callers_grid for x in self.instances]
        if first is None or any(x is None or x["unit"] != first["unit"] for x in others):
            return None
        return first if all(x == first for x in others) else {**first, "meta": None}
