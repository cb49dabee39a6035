"""Cases of how people write: namespaces, macros, branches, templates, what came from torch."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .case import BFloat16, Call, Launched, case, normal


@case("everything")
def namespaces(rng: np.random.Generator) -> Iterator[Call]:
    x = normal(rng, 32)
    kernels = (
        *("7kernels3addEPfi", "detail3addEPfi", "add_typedIfE", "add_versioned", "deeper"),
        *("add_unnamed", "add_static", "add_local"),
    )
    yield Call(
        "everything",
        (x,),
        {0: x + np.float32(1111111.5)},
        tuple(Launched(name, 1, 32) for name in kernels),
        atol=1,
    )


@case("relu", "cube")
def kernel_macros(rng: np.random.Generator) -> Iterator[Call]:
    x = normal(rng, 200)
    zeros = np.zeros_like(x)
    launch = {"grid": 4, "block": 64, "scalars": {2: ("q", 200)}}
    yield Call("relu", (x, zeros), {1: np.maximum(x, 0)}, (Launched("relu_kernel", **launch),))
    yield Call("cube", (x, zeros), {1: x**3}, (Launched("cube_kernel", **launch),))


@case("norms")
def two_way_helpers(rng: np.random.Generator) -> Iterator[Call]:
    yield Call(
        "norms",
        (np.zeros(20, "float32"), 1.0, 0.5),
        {0: 1.25 ** np.arange(20)},
        (Launched("norms_of", 1, 32, scalars={2: ("ff", (1.0, 0.5))}),),
        returns=1.25**2,
    )


@case("shifted", extra_cuda_cflags=["--expt-relaxed-constexpr"])
def std_names(rng: np.random.Generator) -> Iterator[Call]:
    x = rng.standard_normal(100, dtype="float32")
    expected = np.clip(x, -0.5, 1) * 0.5 + (10 * (np.arange(100) % 3 + 1) + 101 + 101)

    yield Call(
        "shifted",
        (x, np.zeros(100, "float32"), -0.5, 1.0),
        {1: expected},
        (
            Launched(
                "shift",
                2,
                64,
                scalars={
                    2: ("q", 100),
                    3: ("ff", (-0.5, 1.0)),
                    4: ("3iifb3x", (10, 20, 30, 100, 0.5, 99)),
                },
            ),
        ),
    )


@case("numbers")
def arch_branches(rng: np.random.Generator) -> Iterator[Call]:
    yield Call(
        "numbers",
        (np.zeros(300, "int32"), np.zeros(1, "int32")),
        {0: np.arange(300) * 10 + 1},
        (Launched("iota", 3, 64), Launched("write_generation", 1, 1)),
        returns=2,
    )


@case("text")
def misleading_text(rng: np.random.Generator) -> Iterator[Call]:
    expected = np.array([5] * 4 + [1 + 1] * 4) + 4 + 1
    expected[:4] += 1_000_000
    expected[4:] += 16
    expected[6:] = 0
    yield Call(
        "text",
        (np.zeros(8, "int32"),),
        {0: expected},
        (
            Launched("put", 1, 4, scalars={0: ("i", 5), 2: ("i", 1_000_000)}),
            Launched("put", 1, 2, scalars={0: ("i", 2), 2: ("i", 16)}),
        ),
    )


@case("silu")
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


@case("every_pack")
def packs(rng: np.random.Generator) -> Iterator[Call]:
    a, b = normal(rng, 64), rng.integers(-9, 9, 64).astype("int32")
    out = (a + 2 * b + 2) * 0.5 + 2
    out[0] += 321
    yield Call(
        "every_pack",
        (
            *(a, b, np.zeros(64, "float32"), np.zeros(1, "int32")),
            np.zeros(1, "float32"),
        ),
        {2: out, 3: np.array([1]), 4: np.array([2.5])},
        (
            Launched("sum_of", 1, 64),
            Launched("chain", 1, 64),
            Launched("offsets", 1, 1),
            *(Launched("store_kind", 1, 1),) * 2,
        ),
        rtol=1e-4,
    )


@case("leaky_relu")
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


@case("describe_all")
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


@case("smoothed")
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
