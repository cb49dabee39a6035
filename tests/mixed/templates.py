"""Cases of templates: dispatch by dtypes and constants, functors, packs, specialisations."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from .case import BFloat16, Call, Group, Launched

GROUP = Group()

erf = np.vectorize(math.erf)


def normal(rng: np.random.Generator, *shape: int, dtype: str = "float32") -> np.ndarray:
    return rng.standard_normal(shape).astype(dtype)


@GROUP.add("silu")
def dtype_switch(rng: np.random.Generator) -> Iterator[Call]:
    names = {"float32": "IfE", "float64": "IdE", "float16": "6__half"}
    for dtype, part in names.items():
        x = normal(rng, 1000, dtype=dtype)
        wide = x.astype("float64")
        rtol = 2e-3 if dtype == "float16" else 1e-5
        yield Call(
            "silu",
            (x, np.zeros_like(x)),
            {1: wide / (1 + np.exp(-wide))},
            (Launched(f"silu_kernel{part}" if part[0] == "I" else part, 4, 256),),
            rtol=rtol,
        )
    x = normal(rng, 300)
    yield Call(
        "silu",
        (BFloat16(x), BFloat16(np.zeros_like(x))),
        {1: x / (1 + np.exp(-x))},
        (Launched("13__nv_bfloat16", 2, 256, scalars={2: ("q", 300)}),),
        rtol=2e-2,
        atol=1e-2,
    )
    i = np.zeros(8, "int32")
    yield Call("silu", (i, i), raises=("TypeError", "silu: no kernel for code 0 of 32 bits"))


@GROUP.add("epilogue_of")
def enum_arguments(rng: np.random.Generator) -> Iterator[Call]:
    x = normal(rng, 10, 50)
    activations = (x, np.maximum(x, 0), 0.5 * x * (1 + erf(x / math.sqrt(2))))
    for activation, columns, up in ((0, False, False), (1, True, True), (2, False, True)):
        value = activations[activation] * 4
        y = (np.ceil(value) if up else np.floor(value)) / 4
        yield Call(
            "epilogue_of",
            (x, np.zeros((50, 10) if columns else (10, 50), "float32"), activation, columns, up),
            {1: y.T if columns else y},
            (Launched(f"epilogueIL10Activation{activation}", (2, 3), (32, 4)),),
        )


@GROUP.add("square", "affine", "affine_of", "square_then_affine")
def functors(rng: np.random.Generator) -> Iterator[Call]:
    x = normal(rng, 1000)
    y = np.zeros_like(x)
    yield Call("square", (x, y), {1: x * x}, (Launched("6Square", 4, 64),))
    yield Call(
        "affine",
        (x, y, 3.0, -1.0),
        {1: 3 * x - 1},
        (Launched("6Affine", 4, 64, scalars={2: ("i", 1000), 3: ("2f", (3.0, -1.0))}),),
    )
    yield Call("affine_of", (2.0, 3.0, -1.0), returns=5.0)
    yield Call(
        "square_then_affine", (x, y, 2.0, 0.5), {1: 2 * x * x + 0.5}, (Launched("7Compose", 4, 64),)
    )


@GROUP.add("describe_all")
def specialisations(rng: np.random.Generator) -> Iterator[Call]:
    f, i = normal(rng, 40), rng.integers(-9, 9, 40).astype("int32")
    d = normal(rng, 40, dtype="float64")
    expected = np.stack([f, i * 10.0, -d, np.arange(40) * 0.5])
    yield Call(
        "describe_all",
        (f, i, d, np.zeros((4, 40), "float32")),
        {3: expected},
        (
            *(Launched(f"describeI{letter}E", 1, 40) for letter in "fid"),
            Launched("declared_first", 1, 40, scalars={1: ("i", 40)}),
        ),
    )


@GROUP.add("every_pack")
def packs(rng: np.random.Generator) -> Iterator[Call]:
    a, b = normal(rng, 64), rng.integers(-9, 9, 64).astype("int32")
    out = (a + 2 * b + 2) * 0.5 + 2
    out[0] += 321
    yield Call(
        "every_pack",
        (
            *(a, b, np.zeros(64, "float32"), np.zeros(1, "int32")),
            *(np.zeros(1, "float32"), np.zeros(1, "float32")),
        ),
        {2: out, 3: np.array([1]), 4: np.array([2.5]), 5: np.array([4.5])},
        (
            Launched("sum_of", 1, 64),
            Launched("chain", 1, 64),
            Launched("offsets", 1, 1),
            *(Launched("store_kind", 1, 1),) * 2,
            Launched("store_boxed", 1, 1, scalars={1: ("f", 4.5)}),
        ),
        rtol=1e-4,
    )


@GROUP.add("store_all")
def overloads(rng: np.random.Generator) -> Iterator[Call]:
    floats = [np.zeros(32, "float32") for _ in range(3)]
    ints = [np.zeros(32, "int32") for _ in range(2)]
    f, thrice, copied = floats
    i, plus = ints
    yield Call(
        "store_all",
        (f, i, thrice, copied, plus),
        {0: f + 2.5, 1: i + 8, 2: thrice + 4.5, 3: copied + 2.5, 4: plus + 48},
        (
            Launched("storePff", 1, 32, scalars={1: ("f", 2.5)}),
            Launched("storePii", 1, 32, scalars={1: ("i", 7)}),
            Launched("storePffi", 1, 32, scalars={1: ("f", 1.5), 2: ("i", 3)}),
            Launched("storeIfE", 1, 32),
            Launched("storeIiLi40E", 1, 32),
        ),
    )


@GROUP.add("smoothed")
def classes(rng: np.random.Generator) -> Iterator[Call]:
    x = normal(rng, 150)
    weights = {k: 1 / (1 + abs(k)) for k in range(-2, 3)}
    y = sum(np.roll(x, -k) * w for k, w in weights.items())
    yield Call(
        "smoothed",
        (x, np.zeros_like(x)),
        {1: y},
        (Launched("stencil", 3, 64),),
        rtol=1e-4,
        atol=1e-5,
    )


@GROUP.add("leaky_relu")
def from_torch(rng: np.random.Generator) -> Iterator[Call]:
    for dtype, part, rtol in (("float32", "IfE", 1e-5), ("float16", "I6__halfE", 2e-3)):
        x = normal(rng, 20, 50, dtype=dtype)
        y = np.where(x > 0, x, x.astype("float32") * 0.1)
        launch = Launched(
            f"leaky_relu_kernel{part}", 4, 256, scalars={2: ("f", 0.1), 3: ("q", 1000)}
        )
        yield Call("leaky_relu", (x, 0.1), {-1: y}, (launch,), rtol=rtol)
    x = np.zeros((2, 2))
    yield Call("leaky_relu", (x, 0.1), raises=("TypeError", "x must be of floats or halves"))
