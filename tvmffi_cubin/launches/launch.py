"""`Launch`: how one kernel is launched; checked when made, knows nothing of text or building."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .attributes import ATTRIBUTES, RAW, checked
from .expression import parse
from .figures import Figure, Flag, check_condition, check_figure, dimensions, plain
from .tensor_map import TensorMap
from .values import Bound, Scratch

if TYPE_CHECKING:
    from .dispatch import Dispatch

Constant = bool | int | float | bytes | None
"""A constant for a kernel parameter."""

_ARGS = (bool, int, float, bytes, TensorMap, Scratch, Bound)
_MOST_MULTIPLE = 2**30
_MOST_THREADS = 1024


@dataclass(frozen=True)
class Launch:
    """How an exported function launches a kernel.

    Parameters
    ----------
    grid : int, str or a sequence of up to three, optional
        Number of blocks in x, y, z. A str is an expression over the arguments:
        ``"ceil_div(x.numel, 256)"``. Without
        `grid` and `block` the caller gives them: ``mod.k[grid, block](...)``; with a `block` alone,
        ``mod.k[grid](...)``.
    block : int, str or a sequence of up to three, optional
        Number of threads of a block in x, y, z.
    dynamic_smem_bytes : int or str
        Dynamic shared memory of a block, in bytes. More than 48 KB is opted into by itself.
    args : mapping of str to str, int, float, bool, bytes, None, TensorMap, Scratch or Bound
        Kernel parameters that callers do not pass: expressions, names of other parameters,
        constants, maps of tensors, memory for the launch alone, or what `Module.bind` gives.
        Expressions may read them, but for the latter, as they read what callers pass.
    params : str, optional
        The parameters as C++ declares them, ``"const float* x, int64_t n"``: where they cannot be
        known from the source, or to export others. May name parameters that only expressions use;
        ``""`` where there is none.
    strided : str or sequence of str
        Tensors that need not be contiguous, because the kernel reads their strides otherwise.
    multiple_of : mapping of str to int, optional
        What the kernel was compiled to assume: integers, and addresses of pointers, that are
        multiples of a power of two: ``{"x": 16, "n": 16}``. Any other argument is a ValueError, or
        leaves the call to the next instance of a `Dispatch`.
    equal_to : mapping of str to int, optional
        Integers that have one value alone, for the same reason: ``{"stride": 1}``.
    kernel : str, optional
        The kernel, where its name is not the function's: ``"fill<float>"``, ``"ns::add"``. Where no
        kernel has that name, the one whose name it is a part of: ``"main"`` for ``main_kernel``.
    cluster : int, str or a sequence of up to three, optional
        Blocks of a cluster in x, y, z; each divides the grid's. More than 8 blocks, the portable
        size, are opted into by themselves.
    preferred_cluster : int, str or a sequence of up to three, optional
        A larger cluster, a multiple of `cluster`, that the device takes where it can.
    cluster_scheduling_policy : str or int, optional
        ``"default"``, ``"spread"``, ``"load_balancing"``, or an expression that gives CUDA's number
        for one of them, 0 to 2.
    programmatic_dependent_launch : bool or str
        Whether the kernel may begin before the one before it in the stream has ended, once that
        allows it (``cudaTriggerProgrammaticLaunchCompletion``); it then waits itself for that
        one's results (``cudaGridDependencySynchronize``). A str is a condition, as of `when`.
    programmatic_event, launch_completion_event : str or int, optional
        A ``CUevent`` that the blocks of the launch trigger, or that is recorded when all of them
        have begun: an expression that gives its handle, such as the name of an int64 parameter
        (0: none).
    cooperative : bool or str
        Whether all blocks are resident at once, so that they may wait for each other
        (``cooperative_groups::this_grid().sync()``). A str is a condition.
    priority : int or str, optional
        The launch's priority; the lower the number, the higher. Default: the stream's.
    mem_sync_domain : str or int, optional
        ``"default"`` or ``"remote"``, or an expression that gives 0 or 1.
    attributes : mapping of int to bytes, optional
        Further attributes: CUDA's number (``CUlaunchAttributeID``) and the bytes of the value, as
        many as it has, up to 64.
    when : str, optional
        A condition on the arguments, ``"n % 4 == 0 and x.data_ptr % 16 == 0"``: where it does not
        hold, the next instance of a `Dispatch` is tried; elsewhere the call is a ValueError.
    meta : mapping of str to int, float, bool, str or None, optional
        What a Python function that a caller gives as the grid, ``mod.k[lambda meta: ...](...)``,
        finds in its mapping beside the arguments.
    blocks_per_program : int
        Blocks in x for each that a caller's ``mod.k[grid]`` counts; a launch without a grid alone.
    stream : str or int, optional
        The ``CUstream`` to launch on, as an expression that gives its handle, such as the name of
        an int64 or ``void*`` parameter; 0 is CUDA's legacy default stream. ``k.on(stream)`` comes
        before it. Default: the caller's current stream. All launches of a function name the same.
    device : str or int, optional
        The ordinal of the device to launch on. One that is not the tensors' is a ValueError.
        Default: the tensors' device, without tensors the current one. The same for all launches.
    image : str, bytes, Cubin or pathlib.Path, optional
        Which image has the kernel: the name of one in `embed_cubin`, or ``"kernels"``, that of the
        device sources; or an image, which is then embedded, the file of one as a ``Path``. Needed
        where several images have a kernel of that name.

    Raises
    ------
    TypeError, ValueError
        A value is of the wrong type or not an expression; the message names field and character.
    """

    grid: Any = None
    block: Any = None
    dynamic_smem_bytes: Figure = 0
    args: Mapping[str, Any] = field(default_factory=dict, hash=False)
    params: str | None = None
    strided: Any = ()
    kernel: str | None = None
    when: str | None = None
    cluster: Any = None
    preferred_cluster: Any = None
    cluster_scheduling_policy: Figure | None = None
    programmatic_dependent_launch: Flag = False
    programmatic_event: Figure | None = None
    launch_completion_event: Figure | None = None
    cooperative: Flag = False
    priority: Figure | None = None
    mem_sync_domain: Figure | None = None
    attributes: Mapping[int, bytes] | None = field(default=None, hash=False)
    # An image may be large; what is printed of a launch is for people.
    image: Any = field(default=None, repr=False)
    multiple_of: Mapping[str, int] | None = field(default=None, hash=False)
    equal_to: Mapping[str, int] | None = field(default=None, hash=False)
    meta: Mapping[str, Any] | None = field(default=None, hash=False)
    blocks_per_program: int = 1
    stream: Figure | None = None
    device: Figure | None = None

    def __post_init__(self) -> None:
        if self.grid is not None and self.block is None:
            raise ValueError(
                "Launch: a grid goes together with a block: give both, or neither and call "
                "k[grid, block]"
            )
        if self.grid is not None:
            self._set("grid", dimensions("Launch: grid", self.grid, least=0))
        if self.block is not None:
            block = dimensions("Launch: block", self.block, least=1, most=_MOST_THREADS)
            self._set("block", block)
        self._check_callers_grid()
        self._set("dynamic_smem_bytes", plain(self.dynamic_smem_bytes))
        check_figure("Launch: dynamic_smem_bytes", self.dynamic_smem_bytes)
        self._set("args", _checked_args(self.args))
        self._set("strided", _checked_names("strided", self.strided))
        if self.multiple_of is not None:
            self._set("multiple_of", _checked_multiples(self.multiple_of))
        if self.equal_to is not None:
            self._set("equal_to", _integers("equal_to", self.equal_to))
        for name in ("params", "kernel"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, str):
                raise TypeError(f"Launch: {name} is a str, got {type(value).__name__}")
        if self.kernel is not None and not self.kernel.strip():
            raise ValueError(
                "Launch: kernel is empty; leave it out where it is the function's name"
            )
        if self.when is not None:
            check_condition("Launch: when", self.when)
        self._set("image", _checked_image(self.image))
        for name in (*ATTRIBUTES, RAW):
            value = getattr(self, name)
            if value is not None:
                self._set(name, checked(name, value, where="Launch"))
        for name, most in (("stream", 2**63 - 1), ("device", 2**31 - 1)):
            value = plain(getattr(self, name))
            if value is not None:
                check_figure(f"Launch: {name}", value, most=most)
                self._set(name, value)

    def over(self, **names: Iterable[str | int | bool]) -> Dispatch:
        """Return an instance for each combination of values of names in `kernel`.

        ``Launch(kernel="scale<T, W>", when="n % W == 0", ...).over(T=["float", "__half"], W=[4,
        1])`` has four instances, in the order of nested loops, the first name's outermost.

        Parameters
        ----------
        **names : iterable of str, int or bool
            What each name stands for; numpy's integers and bools count as such. It is replaced in
            `kernel` and `params`, and, where it stands for an int or a bool, in expressions and
            conditions.

        Raises
        ------
        TypeError, ValueError
            A name is not in `kernel`, or has no values; a value is of another type, or a type's
            name would stand in an expression; there are more than 1024 combinations.
        """
        from .dispatch import over

        return over(self, names)

    @property
    def is_shaped(self) -> bool:
        """Whether the grid, and with it the block, is given here and not by the caller."""
        return self.grid is not None

    @property
    def callers_grid(self) -> dict[str, Any] | None:
        """What a caller's ``k[grid]`` means; None where grid and block are both given, or neither.

        ``"meta"`` is `meta`, ``"unit"`` is `blocks_per_program`.
        """
        if self.grid is not None or self.block is None:
            return None
        return {"meta": dict(self.meta or {}), "unit": self.blocks_per_program}

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    def _check_callers_grid(self) -> None:
        """Check what a launch that leaves its grid to callers says of it."""
        meta = {} if self.meta is None else self.meta
        if not isinstance(meta, Mapping):
            raise TypeError(f"Launch: meta maps names to constants, got {type(meta).__name__}")
        if isinstance(self.blocks_per_program, str):
            raise TypeError("Launch: blocks_per_program is an int, got str")
        check_figure("Launch: blocks_per_program", self.blocks_per_program, least=1)
        if (meta or self.blocks_per_program != 1) and self.callers_grid is None:
            raise ValueError(
                "Launch: meta and blocks_per_program are for a grid that callers give: leave out "
                "grid="
            )

    def figures(self) -> Iterable[tuple[str, Figure]]:
        """Yield each figure with its field's name: grid, block (x, y, z), then shared memory."""
        for name in ("grid", "block"):
            for axis, figure in zip("xyz", getattr(self, name) or (), strict=False):
                yield f"{name}.{axis}", figure
        yield "dynamic_smem_bytes", self.dynamic_smem_bytes


def _checked_names(name: str, value: object) -> tuple[str, ...]:
    """Return one parameter's name, or several, as a tuple."""
    names = (value,) if isinstance(value, str) else value
    if not isinstance(names, Iterable):
        raise TypeError(f"Launch: {name} is a sequence of names, got {type(value).__name__}")
    names = tuple(names)
    for item in names:
        _check_name(name, item)
    return names


def _check_name(where: str, name: object) -> None:
    if not isinstance(name, str) or not name.isidentifier():
        raise ValueError(f"Launch: {where}: {name!r} is not a parameter's name")


def _checked_args(args: object) -> dict[str, Any]:
    if not isinstance(args, Mapping):
        raise TypeError(f"Launch: args maps parameter names to values, got {type(args).__name__}")
    for name, value in args.items():
        _check_name("args", name)
        if isinstance(value, str):
            try:
                parse(value)
            except ValueError as error:
                raise ValueError(f"Launch: args[{name!r}]: {error}") from None
        elif value is not None and not isinstance(value, _ARGS):
            raise TypeError(
                f"Launch: args[{name!r}] is an expression, a parameter's name or a constant (int, "
                "float, bool, bytes, None), a TensorMap, a Scratch or a Bound, got "
                f"{type(value).__name__}"
            )
    return dict(args)


def _checked_multiples(value: object) -> dict[str, int]:
    found = _integers("multiple_of", value)
    for name, number in found.items():
        if not 1 <= number <= _MOST_MULTIPLE or number & (number - 1):
            raise ValueError(
                f"Launch: multiple_of[{name!r}] is {number}, wanted a power of two from 1 to 2^30; "
                f'of an integer anything else is a condition, as in when="{name} % {number} == 0"'
            )
    return found


def _integers(name: str, value: object) -> dict[str, int]:
    what = f"Launch: {name}"
    if not isinstance(value, Mapping):
        raise TypeError(f"{what} maps parameter names to integers, got {type(value).__name__}")
    found = {}
    for key, given in value.items():
        if not isinstance(key, str) or not key.isidentifier():
            raise TypeError(f"{what}: {key!r} is not a parameter's name")
        number = plain(given)
        if isinstance(number, bool) or not isinstance(number, int):
            raise TypeError(f"{what}[{key!r}] is an int, got {type(given).__name__}")
        check_figure(f"{what}[{key!r}]", number, least=-(2**63), most=2**63 - 1)
        found[key] = number
    return found


def _checked_image(image: object) -> object:
    """Return an image in a form that has a hash."""
    if isinstance(image, str):
        if "\n" in image:
            raise ValueError("Launch: image is text and no name: give it as bytes, text.encode()")
        if not image.isidentifier():
            raise ValueError(
                f"Launch: image {image!r} is no image's name; a file is given as "
                f"pathlib.Path({image!r})"
            )
        return image
    if image is None:
        return None
    if isinstance(image, bytes | bytearray | memoryview):
        return bytes(image)
    if isinstance(image, os.PathLike):
        from pathlib import Path

        return Path(os.fsdecode(image))
    from ..kernels.cubin import Cubin

    if isinstance(image, Cubin):
        return image
    raise TypeError(
        "Launch: image is a name, bytes, a Cubin or a pathlib.Path, got "
        f"{type(image).__name__} {image!r}"
    )
