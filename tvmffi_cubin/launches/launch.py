"""`Launch`: how one kernel is launched; `Dispatch`: several ways, one of which a call uses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from .values import Figure, Record, expression, figure, figures, integer, plain, power_of_two, told


class Attribute(NamedTuple):
    """An attribute of a launch beyond its shape, a ``CUlaunchAttribute``."""

    id: int  # the value in CUDA's enumeration ``CUlaunchAttributeID``
    kind: str  # "dimensions" (blocks in x, y, z), "flag", "integer" or "event"
    choices: tuple[str, ...] = ()  # names of an integer's values, from 0


ATTRIBUTES = {
    # Expressions are evaluated in this order. The cluster comes first, because the number of
    # resident blocks depends on it.
    "cluster": Attribute(4, "dimensions"),
    "preferred_cluster": Attribute(11, "dimensions"),
    "cluster_scheduling_policy": Attribute(5, "integer", ("default", "spread", "load_balancing")),
    "programmatic_dependent_launch": Attribute(6, "flag"),
    "programmatic_event": Attribute(7, "event"),
    "launch_completion_event": Attribute(12, "event"),
    "cooperative": Attribute(2, "flag"),
    "priority": Attribute(8, "integer"),
    "mem_sync_domain": Attribute(10, "integer", ("default", "remote")),
}
"""The attributes that have their own field, by the field's name."""


def checked(attribute: Attribute, value: Any) -> Any:
    """Return a value as `Launch` stores it: dimensions as a tuple, choices as numbers."""
    if attribute.kind == "dimensions":
        return figures(value)
    value = plain(value)
    return attribute.choices.index(value) if value in attribute.choices else figure(value)


def checked_raw(value: Mapping[Any, bytes]) -> dict[int, bytes]:
    """Check attributes by number: the launcher has 64 bytes for each, and a bit for its number."""
    for number, data in value.items():
        is_known = str(number).isdecimal() and 0 < int(number) < 55
        if not is_known or not isinstance(data, bytes) or not 0 < len(data) <= 64:
            raise ValueError(f"expected 1 to 64 bytes for 1 to 54, got {data!r} for {number!r}")
    return {int(number): data for number, data in value.items()}


def _each(value: Any, *, check: Callable[[Any], Any]) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise TypeError(f"expected a mapping of names, got {type(value).__name__}")
    found = {}
    for name, x in value.items():
        with told(repr(name)):
            found[name] = check(x)
    return found


def _arg(value: Any) -> Any:
    value = plain(value)
    if isinstance(value, str):
        return expression(value)
    if isinstance(value, Record | int | float | bytes | None):
        return value
    raise TypeError(f"unsupported type {type(value).__name__}; see Launch for those supported")


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected a str, got {type(value).__name__}")
    return value


_CHECKS: dict[str, Any] = {
    **dict.fromkeys(("grid", "block"), figures),
    **dict.fromkeys(("dynamic_smem_bytes", "stream", "device"), figure),
    **dict.fromkeys(("params", "kernel"), _text),
    "args": partial(_each, check=_arg),
    "strided": lambda value: (value,) if isinstance(value, str) else tuple(value),
    "when": expression,
    **{name: partial(checked, x) for name, x in ATTRIBUTES.items()},
    "attributes": checked_raw,
    "multiple_of": partial(_each, check=power_of_two),
    "equal_to": partial(_each, check=integer),
    "meta": partial(_each, check=plain),
}


@dataclass(repr=False, eq=False)
class Launch(Record, checks=_CHECKS):
    """How an exported function launches a kernel.

    A number is an int, or a str with an expression over the arguments: ``"ceil_div(n, 256)"``. The
    fields are, in order: shape, arguments, CUDA's attributes, when it applies, and where it runs.

    Parameters
    ----------
    grid, block : int, str or a sequence of up to three, optional
        Grid dimensions in blocks and block dimensions in threads (x, y, z). If both are omitted,
        callers pass them, ``mod.k[grid, block](...)``; if only the grid is, ``mod.k[grid](...)``.
    dynamic_smem_bytes : int or str
        Dynamic shared memory per block, in bytes, with automatic opt-in above 48 KB.
    args : mapping of str to str, int, float, bool, bytes, None, TensorMap, Scratch, Bound, optional
        Kernel parameters that callers do not pass: expressions, names of other parameters,
        constants, tensor maps, scratch memory for the launch, or values from `Module.bind`.
        Expressions may read the integers among them.
    params : str, optional
        The parameters as declared in C++, ``"const float* x, int64_t n"``: if the source does not
        tell, or to choose an overload. May add parameters that only expressions use.
    strided : str or sequence of str
        Tensors that need not be contiguous, besides those whose strides an expression reads.
    kernel : str, optional
        The kernel, if its name is not the function's: ``"fill<float>"``, ``"ns::add"``. For a
        prebuilt image, part of a name is enough: ``"main"`` for ``main_kernel``.
    cluster : int, str or a sequence of up to three, optional
        Cluster dimensions in blocks (x, y, z); each divides the grid's. Automatic opt-in above 8.
    preferred_cluster : int, str or a sequence of up to three, optional
        A larger cluster, a multiple of `cluster`, that the device uses where it fits.
    cluster_scheduling_policy : str or int, optional
        ``"default"``, ``"spread"``, ``"load_balancing"``, or CUDA's number for one of them.
    programmatic_dependent_launch : bool or str
        Whether the kernel may start before the previous kernel in the stream ends, once that one
        calls ``cudaTriggerProgrammaticLaunchCompletion``. The kernel waits for its results with
        ``cudaGridDependencySynchronize``. A str is a condition, as in `when`.
    programmatic_event, launch_completion_event : str or int, optional
        The handle of a ``CUevent`` that the blocks trigger, or that is recorded once all blocks
        have started, such as the name of an int64 parameter (0: none).
    cooperative : bool or str
        Whether all blocks are resident at once, so that they can synchronize with each other
        (``cooperative_groups::this_grid().sync()``). A str is a condition.
    priority : int or str, optional
        The launch's priority; a lower number means a higher priority. Default: the stream's.
    mem_sync_domain : str or int, optional
        ``"default"`` or ``"remote"``, or 0 or 1.
    attributes : mapping of int to bytes, optional
        Other attributes: CUDA's number (``CUlaunchAttributeID``) and a value of up to 64 bytes.
    when : str, optional
        A condition on the arguments, ``"n % 4 == 0 and x.data_ptr % 16 == 0"``. If it does not
        hold, the call raises ValueError or, in a `Dispatch`, tries the next instance.
    multiple_of : mapping of str to int, optional
        The integers, and the addresses of pointers, that the kernel assumes to be multiples of a
        power of two: ``{"x": 16, "n": 16}``. For other arguments, the call raises ValueError or, in
        a `Dispatch`, tries the next instance.
    equal_to : mapping of str to int, optional
        The integers that the kernel assumes to have a fixed value: ``{"stride": 1}``.
    meta : mapping of str to int, float, bool, str or None, optional
        What a grid function, ``mod.k[lambda meta: ...](...)``, gets besides the arguments.
    image : str, bytes, Cubin or pathlib.Path, optional
        The image with the kernel: the name of one in `embed_cubin`, or ``"kernels"`` for the device
        sources' image; or an image or its file, which is then embedded.
    stream : str or int, optional
        The handle of the ``CUstream`` to launch on, such as the name of an int64 or ``void*``
        parameter; 0 is CUDA's legacy default stream. ``k.on(stream)`` overrides it. Default: the
        caller's current stream. Must be the same for all launches of a function.
    device : str or int, optional
        The ordinal of the device to launch on, which must be the tensors' device. Default: that
        device, or the current one without tensors. Must be the same for all launches of a function.

    Raises
    ------
    TypeError, ValueError
        A value has the wrong type or is not an expression; the message gives field and position.
    """

    grid: Any = None
    block: Any = None
    dynamic_smem_bytes: Figure = 0
    args: Mapping[str, Any] | None = None
    params: str | None = None
    strided: Any = ()
    kernel: str | None = None
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
    when: str | None = None
    multiple_of: Mapping[str, int] | None = None
    equal_to: Mapping[str, int] | None = None
    meta: Mapping[str, Any] | None = None
    image: Any = None
    stream: Figure | None = None
    device: Figure | None = None


Instances = tuple[tuple[Launch, ...], ...]
"""The launches of each instance of a function."""


def instances_of(what: str, function: Any) -> Instances:
    """Return the instances of a function that is a Launch, a list of them or a Dispatch."""
    if isinstance(function, Dispatch):
        return tuple(function.instances)
    launches = [function] if isinstance(function, Launch) else function
    is_list = isinstance(launches, list | tuple) and all(isinstance(x, Launch) for x in launches)
    if not is_list or not launches:
        raise TypeError(f"{what} must be Launch, list of Launch or Dispatch, got {function!r:.300}")
    return (tuple(launches),)


def _all_instances(given: Any) -> Instances:
    given = (given,) if isinstance(given, Record) else given
    if found := tuple(instance for x in given for instance in instances_of("an instance", x)):
        return found
    raise ValueError("no instances; pass at least one Launch")


@dataclass(repr=False, eq=False)
class Dispatch(Record, checks={"instances": _all_instances}):
    """Several instances of a function: a call launches the first that its arguments fit.

    An instance fits if every argument fits its parameter (type, dtype, rank, range, contiguity,
    alignment) and every `Launch.when` holds. Each instance has its own kernels and parameters.

    Parameters
    ----------
    instances : Launch, or iterable of Launch, sequence of Launch or Dispatch
        The instances, in the order to try them. A sequence of launches is one instance that runs
        them all; another `Dispatch` stands for its instances.

    Raises
    ------
    TypeError, ValueError
        An instance has another type, or there is none.
    """

    instances: Any
