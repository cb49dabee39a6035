"""`Launch`: how one kernel is launched; knows nothing of text or building."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from .attributes import ATTRIBUTES, checked, checked_raw
from .tensor_map import TensorMap
from .values import (
    Bound,
    Checks,
    Figure,
    Record,
    Scratch,
    expression,
    figure,
    figures,
    integer,
    plain,
    power_of_two,
)


def _each(what: str, value: Any, *, check: Callable[[str, Any], Any]) -> dict[str, Any]:
    return {name: check(f"{what}[{name!r}]", x) for name, x in dict(value).items()}


def _arg(what: str, value: Any) -> Any:
    value = plain(value)
    if isinstance(value, str):
        return expression(what, value)
    if isinstance(value, bool | int | float | bytes | None | TensorMap | Scratch | Bound):
        return value
    raise TypeError(
        f"{what} is an expression, a constant, a TensorMap, a Scratch or a Bound, got "
        f"{type(value).__name__}"
    )


def _text(what: str, value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{what} is a str, got {type(value).__name__}")
    return value


def _image(what: str, image: Any) -> Any:
    """Return an image in a form that has a hash."""
    if isinstance(image, str) and not image.isidentifier():
        raise ValueError(
            f"{what} {image!r:.80} is no image's name: give a file as pathlib.Path(...), text as "
            "bytes"
        )
    if isinstance(image, bytearray | memoryview):
        return bytes(image)
    if isinstance(image, os.PathLike):
        from pathlib import Path

        return Path(os.fsdecode(image))
    return image


_CHECKS: Checks = {
    "grid": figures,
    "block": figures,
    "dynamic_smem_bytes": figure,
    "args": partial(_each, check=_arg),
    "params": _text,
    "strided": lambda _, value: (value,) if isinstance(value, str) else tuple(value),
    "kernel": _text,
    "when": expression,
    **{name: partial(checked, attribute=x) for name, x in ATTRIBUTES.items()},
    "attributes": checked_raw,
    "image": _image,
    "multiple_of": partial(_each, check=power_of_two),
    "equal_to": partial(_each, check=integer),
    "meta": lambda _, value: dict(value),
    "blocks_per_program": integer,
    "stream": figure,
    "device": figure,
}


@dataclass(repr=False, eq=False)
class Launch(Record, checks=_CHECKS):
    """How an exported function launches a kernel.

    A figure is an int, or a str that is an expression over the arguments: ``"ceil_div(n, 256)"``.

    Parameters
    ----------
    grid, block : int, str or a sequence of up to three, optional
        Blocks of the grid and threads of a block in x, y, z. Without both the caller gives them:
        ``mod.k[grid, block](...)``; without a grid, ``mod.k[grid](...)``.
    dynamic_smem_bytes : int or str
        Dynamic shared memory of a block, in bytes; more than 48 KB is opted into.
    args : mapping of str to str, int, float, bool, bytes, None, TensorMap, Scratch, Bound, optional
        Kernel parameters that callers do not pass: expressions, names of other parameters,
        constants, maps of tensors, memory for the launch alone, or what `Module.bind` gives.
        Expressions may read those that are integers.
    params : str, optional
        The parameters as C++ declares them, ``"const float* x, int64_t n"``, where the source does
        not tell, or to export others. May name parameters that only expressions use.
    strided : str or sequence of str
        Tensors that need not be contiguous, because the kernel reads their strides otherwise.
    multiple_of : mapping of str to int, optional
        What the kernel assumes: integers, and addresses of pointers, that are multiples of a power
        of two: ``{"x": 16, "n": 16}``. Any other argument is a ValueError, or leaves the call to
        the next instance of a `Dispatch`.
    equal_to : mapping of str to int, optional
        Integers that have one value alone, for the same reason: ``{"stride": 1}``.
    kernel : str, optional
        The kernel, where its name is not the function's: ``"fill<float>"``, ``"ns::add"``. Where no
        kernel has that name, the one whose name it is a part of: ``"main"`` for ``main_kernel``.
    cluster : int, str or a sequence of up to three, optional
        Blocks of a cluster in x, y, z; each divides the grid's. More than 8 are opted into.
    preferred_cluster : int, str or a sequence of up to three, optional
        A larger cluster, a multiple of `cluster`, that the device takes where it can.
    cluster_scheduling_policy : str or int, optional
        ``"default"``, ``"spread"``, ``"load_balancing"``, or CUDA's number for one of them.
    programmatic_dependent_launch : bool or str
        Whether the kernel may begin before the one before it in the stream has ended, once that
        allows it (``cudaTriggerProgrammaticLaunchCompletion``); it then waits for that one's
        results itself (``cudaGridDependencySynchronize``). A str is a condition, as of `when`.
    programmatic_event, launch_completion_event : str or int, optional
        A ``CUevent`` that the blocks of the launch trigger, or that is recorded when all of them
        have begun, by its handle, such as the name of an int64 parameter (0: none).
    cooperative : bool or str
        Whether all blocks are resident at once, so that they may wait for each other
        (``cooperative_groups::this_grid().sync()``). A str is a condition.
    priority : int or str, optional
        The launch's priority; the lower the number, the higher. Default: the stream's.
    mem_sync_domain : str or int, optional
        ``"default"`` or ``"remote"``, or 0 or 1.
    attributes : mapping of int to bytes, optional
        Further attributes: CUDA's number (``CUlaunchAttributeID``) and up to 64 bytes of a value.
    when : str, optional
        A condition on the arguments, ``"n % 4 == 0 and x.data_ptr % 16 == 0"``: where it does not
        hold, the next instance of a `Dispatch` is tried; elsewhere the call is a ValueError.
    meta : mapping of str to int, float, bool, str or None, optional
        What a function that a caller gives as the grid, ``mod.k[lambda meta: ...](...)``, finds in
        its mapping beside the arguments.
    blocks_per_program : int
        Blocks in x for each that a caller's ``mod.k[grid]`` counts.
    stream : str or int, optional
        The ``CUstream`` to launch on, by its handle, such as the name of an int64 or ``void*``
        parameter; 0 is CUDA's legacy default stream. ``k.on(stream)`` comes before it. Default: the
        caller's current stream. All launches of a function name the same.
    device : str or int, optional
        The ordinal of the device to launch on, which has to be the tensors'. Default: the tensors'
        device, without tensors the current one. The same for all launches.
    image : str, bytes, Cubin or pathlib.Path, optional
        Which image has the kernel: the name of one in `embed_cubin`, or ``"kernels"``, that of the
        device sources; or an image, or the file of one, which is then embedded.

    Raises
    ------
    TypeError, ValueError
        A value is of the wrong type or not an expression; the message names field and character.
    """

    grid: Any = None
    block: Any = None
    dynamic_smem_bytes: Figure = 0
    args: Mapping[str, Any] | None = None
    params: str | None = None
    strided: Any = ()
    kernel: str | None = None
    when: str | None = None
    cluster: Any = None
    preferred_cluster: Any = None
    cluster_scheduling_policy: Figure | None = None
    programmatic_dependent_launch: Figure = False
    programmatic_event: Figure | None = None
    launch_completion_event: Figure | None = None
    cooperative: Figure = False
    priority: Figure | None = None
    mem_sync_domain: Figure | None = None
    attributes: Mapping[int, bytes] | None = None
    image: Any = None
    multiple_of: Mapping[str, int] | None = None
    equal_to: Mapping[str, int] | None = None
    meta: Mapping[str, Any] | None = None
    blocks_per_program: int = 1
    stream: Figure | None = None
    device: Figure | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.grid is not None and self.block is None:
            raise ValueError(
                "Launch: a grid goes together with a block: give both, or neither and call "
                "k[grid, block]"
            )
