"""Cases of how people write: namespaces, macros, branches, qualifiers of both sides."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .case import Call, Group, Launched
from .templates import normal

GROUP = Group()


@GROUP.add("everything")
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


@GROUP.add("relu", "cube", "extremes")
def kernel_macros(rng: np.random.Generator) -> Iterator[Call]:
    x, y = normal(rng, 200), normal(rng, 200)
    zeros = np.zeros_like(x)
    launch = {"grid": 4, "block": 64, "scalars": {2: ("q", 200)}}
    yield Call("relu", (x, zeros), {1: np.maximum(x, 0)}, (Launched("relu_kernel", **launch),))
    yield Call("cube", (x, zeros), {1: x**3}, (Launched("cube_kernel", **launch),))
    yield Call(
        "extremes",
        (x, y, zeros, zeros.copy()),
        {2: np.maximum(x, y), 3: np.minimum(x, y)},
        (Launched("maximum_ofIfE", 2, 128), Launched("minimum_ofIfE", 2, 128)),
    )


def escape(c: complex, most: int) -> int:
    z, steps = np.complex64(0), 0
    while steps < most and z.real * z.real + z.imag * z.imag <= np.float32(4):
        z = np.complex64(z * z + np.complex64(c))
        steps += 1
    return steps


@GROUP.add("draw", "escape_of")
def two_way_helpers(rng: np.random.Generator) -> Iterator[Call]:
    rows, cols = 12, 20
    c = -2 + 3 * np.arange(cols) / cols + 1j * (-1.5 + 3 * np.arange(rows)[:, None] / rows)
    expected = np.array([[escape(each, 12) for each in row] for row in c])
    yield Call(
        "draw",
        (np.zeros((rows, cols), "int32"), 12),
        {0: expected},
        (Launched("mandelbrot", (2, 2), (16, 8), scalars={3: ("i", 12)}),),
        atol=1,  # what is rounded decides near the edge
    )
    yield Call("escape_of", (0.0, 0.0, 50), returns=50)
    yield Call("escape_of", (3.0, 0.0, 50), returns=1)


@GROUP.add("shifted", extra_cuda_cflags=["--expt-relaxed-constexpr"])
def std_names(rng: np.random.Generator) -> Iterator[Call]:
    x = rng.standard_normal(100, dtype="float32")
    expected = np.clip(x, -0.5, 1) * 0.5 + (10 * (np.arange(100) % 3 + 1) + 101)

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


@GROUP.add("numbers")
def arch_branches(rng: np.random.Generator) -> Iterator[Call]:
    yield Call(
        "numbers",
        (np.zeros(300, "int32"), np.zeros(1, "int32")),
        {0: np.arange(300) * 10 + 1},
        (Launched("iota", 3, 64), Launched("write_generation", 1, 1)),
        returns=2,
    )


@GROUP.add("text")
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


def rotate_left(v: int, by: int) -> int:
    return (v << by | v >> (32 - by)) & 0xFFFFFFFF


def mixed(state: int, rounds: int) -> int:
    for _ in range(rounds):
        state = rotate_left(state * 2654435761 & 0xFFFFFFFF, 13) ^ 0x9E3779B9
    return state


@GROUP.add("mixed", extra_cuda_cflags=["--expt-relaxed-constexpr"])
def relaxed_constexpr(rng: np.random.Generator) -> Iterator[Call]:
    expected = np.array([mixed(i, 3) for i in range(100)], "uint32").view("int32")

    yield Call(
        "mixed",
        (np.zeros(100, "int32"), 5),
        {0: expected},
        (Launched("mix", 2, 64, scalars={2: ("i", 5)}),),
        returns=mixed(7, 1),
    )
