"""Cases of launches: where they stand, their operands, the runtime's functions, errors."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .case import Call, Launched, case, normal


@case("everywhere")
def launch_places(rng: np.random.Generator) -> Iterator[Call]:
    x = normal(rng, 50)
    added = (1, 4, 8, 16, 32, 2, 64, 128, 256, 1000, 1000, 10000, 20000, 100000, 0.25, 0.5)
    yield Call(
        "everywhere",
        (x,),
        {0: x + np.float32(sum(added))},
        tuple(Launched("add_toIfE", 1, 50, scalars={1: ("f", float(by))}) for by in added),
        atol=0.1,
    )


@case("launches")
def runtime_launches(rng: np.random.Generator) -> Iterator[Call]:
    x = normal(rng, 100)
    yield Call(
        "launches",
        (x,),
        {0: x * 3 + 9},
        (
            Launched("scale", 2, 64, scalars={1: ("f", 3.0), 2: ("i", 100)}),
            Launched("plusIfLi10E", 2, 64, scalars={1: ("i", 100)}),
            Launched("dependent", 2, 64),
        ),
        atol=1e-5,
    )


def _is_taken(names: list[str]) -> bool:
    # Which of the two it is depends on the release of CUDA's runtime.
    peeked, got, after = names
    refused = ("cudaErrorInvalidConfiguration", "cudaErrorInvalidValue")
    return peeked == got in refused and after == "cudaSuccess"


@case("taken", "unasked")
def error_checks(rng: np.random.Generator) -> Iterator[Call]:
    x = normal(rng, 64)
    none = ["cudaSuccess"] * 3
    fine = (Launched("touch", 1, 64),)
    yield Call("taken", (x, 64), {0: x + 1}, fine, returns=none)
    yield Call("taken", (x, 2000), {0: x}, returns=_is_taken)
    yield Call("unasked", (x, 2000), raises=("LaunchError", "touch"), as_nvcc=False)
    yield Call("unasked", (x, 64), {0: x + 1}, fine)


@case("normalised")
def grid_sync(rng: np.random.Generator) -> Iterator[Call]:
    x = rng.random(5000).astype("float32")
    launch = Launched("normalise", 16, 128, scalars={2: ("i", 5000)})
    partial = np.zeros(16, "float32")
    yield Call(
        "normalised", (x, partial), {0: x / x.sum()}, (launch,), returns=16, rtol=1e-4, atol=1e-8
    )


@case("ramps")
def default_arguments(rng: np.random.Generator) -> Iterator[Call]:
    i, outs = np.arange(40), [np.zeros(40, "float32") for _ in range(4)]
    a = 1 + 2 * i + 3
    shapes = (
        (40, 1.0, 2.0, 3, False),
        (40, 5.0, 2.0, 3, False),
        (40, 2.5, 1.0, 3, False),
        (40, 1.0, 0.5, -1, True),
    )
    yield Call(
        "ramps",
        tuple(outs),
        {0: a, 1: 5 + 2 * i + 3, 2: 2.5 + i + 3, 3: -(1 + 0.5 * i - 1 + a)},
        tuple(
            Launched("ramp", 1, 64, scalars=dict(enumerate(zip("ifdi?", shape, strict=True), 1)))
            for shape in shapes
        ),
    )
