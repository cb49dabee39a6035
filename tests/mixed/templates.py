"""Cases of templates: dispatch by dtypes, packs, what a source has from torch."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .case import BFloat16, Call, Group, Launched

GROUP = Group()


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
