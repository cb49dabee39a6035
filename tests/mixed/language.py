"""Cases of how people write: namespaces, macros, headers, branches, qualifiers of both sides."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .case import HEADERS, Call, Group, Launched, ceil_div
from .templates import erf, normal

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


@GROUP.add("twice_and_half", "host_half")
def macros(rng: np.random.Generator) -> Iterator[Call]:
    x = normal(rng, 1000)
    yield Call(
        "twice_and_half",
        (x, np.zeros_like(x), np.zeros_like(x)),
        {1: 2 * x, 2: x / 2},
        (Launched("doubled", 8, 128, scalars={2: ("i", 1000)}), Launched("halved", 8, 128)),
    )
    yield Call("host_half", (5.0,), returns=2.5)


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


@GROUP.add("sum_float", "sum_bytes", "tile_of")
def constexpr_helpers(rng: np.random.Generator) -> Iterator[Call]:
    def sums(x: np.ndarray, tile: int) -> np.ndarray:
        padded = np.pad(x.astype("float64"), (0, -len(x) % tile))
        return padded.reshape(-1, tile).sum(1)

    x = normal(rng, 2500)
    yield Call(
        "sum_float",
        (x, np.zeros(3, "float32")),
        {1: sums(x, 1024)},
        (Launched("sum_tiles", 3, 128),),
        rtol=1e-4,
        atol=1e-3,
    )
    b = rng.integers(-100, 100, 5000).astype("int8")
    yield Call(
        "sum_bytes",
        (b, np.zeros(2, "float32")),
        {1: 2 * sums(b, 4096)},
        (Launched("sum_tilesIa", 2, 128),),
    )
    for size, tile in ((1, 4096), (4, 1024), (100, 6)):
        yield Call("tile_of", (size,), returns=tile)


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


@GROUP.add("gelu_of", "counted", extra_include_paths=[str(HEADERS)])
def user_headers(rng: np.random.Generator) -> Iterator[Call]:
    for dtype, part in (("float32", "IfE"), ("float64", "IdE")):
        x = normal(rng, 200, dtype=dtype)
        y = 0.5 * x * (1 + erf(x * np.sqrt(0.5)))
        launch = Launched(f"gelu_kernel{part}", 4, 64)
        yield Call("gelu_of", (x, np.zeros_like(x)), {1: y}, (launch,), atol=1e-5)

    x = normal(rng, 200)
    yield Call(
        "counted",
        (x, np.zeros(1, "int32"), np.zeros_like(x)),
        {1: np.array([(x > 0).sum()]), 2: x * x + (x > 0)},
        (Launched("count_positive", 4, 64), Launched("combine", 1, 256)),
        returns=2,
    )


@GROUP.add(extra_include_paths=[str(HEADERS)])
def header_only(rng: np.random.Generator) -> Iterator[Call]:
    x = normal(rng, 300)
    launch = Launched("scaleIfLi3E", 3, 128, scalars={2: ("I", 300)})
    yield Call("tripled", (x, np.zeros_like(x)), {1: 3 * x}, (launch,))


@GROUP.add("blended", files=("parts_types", "parts_kernels", "parts_host"))
def parts(rng: np.random.Generator) -> Iterator[Call]:
    x = normal(rng, 200, dtype="float16")
    wide = x.astype("float32")
    line = {0: ("2f", (2.0, 1.0)), 1: ("2f", (-1.0, 0.5)), 2: ("f", 0.25)}
    yield Call(
        "blended",
        (x, np.zeros(200, "float32"), 0.25),
        {1: 0.75 * (2 * wide + 1) + 0.25 * (0.5 - wide)},
        (Launched("blend_kernel", ceil_div(200, 96), 96, scalars=line),),
        atol=1e-5,
    )


@GROUP.add()
def own_exports(rng: np.random.Generator) -> Iterator[Call]:
    x = normal(rng, 300)
    yield Call("negate", (x,), {0: -x}, (Launched("negate_kernel", 2, 256),))
    yield Call("absolute", (x,), {0: abs(x)}, (Launched("abs_kernel", 3, 128),))


BESIDE = """
void add_one(tvm::ffi::TensorView x, tvm::ffi::TensorView y, int64_t raw_stream);

int64_t rounded_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }
"""


@GROUP.add("add_one", "rounded_up", cpp_sources=BESIDE)
def beside_cpp(rng: np.random.Generator) -> Iterator[Call]:
    x = normal(rng, 300)
    launch = Launched("add_one_kernel", 3, 128, scalars={2: ("i", 300)})
    yield Call("add_one", (x, np.zeros_like(x), -1), {1: x + 1}, (launch,))
    yield Call("rounded_up", (300, 128), returns=384)
    yield Call("add_one", (x, x, 12345), raises=("RuntimeError", "raw_stream"))
