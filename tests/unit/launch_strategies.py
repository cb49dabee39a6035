"""Launches, and functions of them, as hypothesis makes them: every field, every kind of value."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any

from hypothesis import reject
from hypothesis import strategies as st

from tvmffi_cubin import Bound, Dispatch, Launch, Scratch, TensorMap

NAMES = st.sampled_from(["x", "y", "n", "Bytes", "TensorMap", "größe"])
EXPRESSIONS = st.sampled_from(["n", "ceil_div(n, 256)", "x.shape[-1] * 2", "min(a, b) + 1"])
CONDITIONS = st.sampled_from(["n % 4 == 0", "x.data_ptr == 0 or flag", "not a == 1"])
FIGURES = st.integers(0, 256) | EXPRESSIONS
DIMENSIONS = FIGURES | st.lists(FIGURES, min_size=1, max_size=3)
FLOATS = st.floats(allow_nan=False) | st.sampled_from([math.nan, -0.0, 1e308])
TEXTS = st.sampled_from(["void", "", "nan", '"\\', "naïve €", "\U0001f980"])


def _made(kind: type, values: dict[str, Any]) -> Any:
    try:
        return kind(**values)
    except (TypeError, ValueError):
        reject()


def _some(kind: type, known: dict[str, Any]) -> Any:
    """Return a strategy of objects with some fields; one not in `known` takes a figure."""
    values = {field.name: known.get(field.name, FIGURES) for field in fields(kind)}
    return st.fixed_dictionaries({}, optional=values).map(lambda x: _made(kind, x))


TENSOR_MAPS = st.builds(
    lambda box, rest: _made(TensorMap, {"box_dim": box, **rest}),
    st.lists(st.integers(1, 8) | EXPRESSIONS, min_size=1, max_size=5),
    st.fixed_dictionaries(
        {},
        optional={
            "tensor": NAMES,
            "swizzle": st.sampled_from(["none", "128B", "128B_atom_64B"]),
            "l2_promotion": st.sampled_from(["none", "256B"]),
            "dtype": st.sampled_from(["float16", "float32"]),
            "element_strides": st.lists(st.just(1) | EXPRESSIONS, min_size=1, max_size=5),
        },
    ),
) | st.builds(
    TensorMap.im2col,
    st.none() | NAMES,
    lower_corner=st.tuples(EXPRESSIONS, st.integers(-128, 127)),
    upper_corner=st.tuples(st.just(-1), EXPRESSIONS),
    channels_per_pixel=st.just(64) | EXPRESSIONS,
    pixels_per_column=st.integers(1, 1024),
)
SCRATCH = st.builds(Scratch, FIGURES, bytes_per_block=FIGURES, align=st.sampled_from([1, 256]))
BOUND = st.builds(Bound, st.none() | NAMES, required=st.booleans())
CONSTANTS = st.none() | st.booleans() | st.integers(-(2**64), 2**64) | FLOATS
VALUES = CONSTANTS | st.binary(max_size=70) | EXPRESSIONS | TENSOR_MAPS | SCRATCH | BOUND

_LAUNCH = {
    "grid": DIMENSIONS,
    "block": DIMENSIONS,
    "cluster": DIMENSIONS,
    "preferred_cluster": DIMENSIONS,
    "args": st.dictionaries(NAMES, VALUES, max_size=3),
    "params": st.sampled_from(["", "const float* x, int n", "no declaration"]),
    "strided": NAMES | st.lists(NAMES, max_size=2),
    "kernel": st.sampled_from(["k", "ns::fill<float, 4>", "_Z4fillIfEvPT_i"]),
    "when": CONDITIONS,
    "cluster_scheduling_policy": st.sampled_from(["spread", 2, "n"]),
    "programmatic_dependent_launch": st.booleans() | CONDITIONS,
    "cooperative": st.booleans() | CONDITIONS,
    "priority": st.integers(-5, 5) | EXPRESSIONS,
    "mem_sync_domain": st.sampled_from(["remote", 0, "n"]),
    "attributes": st.dictionaries(st.integers(13, 60), st.binary(min_size=1, max_size=64)),
    "image": st.sampled_from(["kernels", "k2"]),
    "multiple_of": st.dictionaries(NAMES, st.sampled_from([1, 16, 2**30]), max_size=2),
    "equal_to": st.dictionaries(NAMES, st.integers(-(2**63), 2**63 - 1), max_size=2),
    "meta": st.dictionaries(TEXTS, CONSTANTS | TEXTS, max_size=3),
    "blocks_per_program": st.integers(1, 4),
}
# Half of all have a shape, or most would be refused for a lone grid.
_ANY_LAUNCH = _some(Launch, _LAUNCH) | _some(Launch, {**_LAUNCH, "grid": st.just(1)}).filter(bool)
# Deferred: hypothesis spells a strategy out, which of launches in launches it calls overly large.
LAUNCHES = st.deferred(lambda: _ANY_LAUNCH)
FUNCTIONS = (
    LAUNCHES
    | st.lists(LAUNCHES, min_size=2, max_size=3).map(tuple)
    | st.lists(LAUNCHES | st.lists(LAUNCHES, min_size=1, max_size=2), min_size=1, max_size=3).map(
        lambda given: _made(Dispatch, {"instances": given})
    )
)
