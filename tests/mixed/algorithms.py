"""Cases of what kernels compute: reductions, scans, products, norms, sorting."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .case import Call, Group, Launched, ceil_div
from .templates import normal

GROUP = Group()


@GROUP.add("sums", "maxima")
def cooperative_tiles(rng: np.random.Generator) -> Iterator[Call]:
    x = normal(rng, 50, 70)
    for tile in (8, 32):
        yield Call(
            "sums",
            (x, np.zeros(50, "float32"), tile),
            {1: x.sum(1)},
            (Launched(f"row_sumsILi{tile}E", ceil_div(50 * tile, 128), 128),),
            rtol=1e-4,
            atol=1e-4,
        )
    i = rng.integers(-999, 999, (50, 70)).astype("int32")
    yield Call(
        "maxima", (i, np.zeros(50, "int32")), {1: i.max(1)}, (Launched("row_maxima", 50, 32),)
    )


@GROUP.add("sums", "scans")
def cub_block(rng: np.random.Generator) -> Iterator[Call]:
    x = normal(rng, 300)
    yield Call(
        "sums",
        (x, np.zeros(3, "float32")),
        {1: np.pad(x, (0, 84)).reshape(3, 128).sum(1)},
        (Launched("block_sumsIfLi128E", 3, 128),),
        rtol=1e-4,
        atol=1e-4,
    )
    i = rng.integers(-99, 99, 1024).astype("int32")
    yield Call(
        "sums",
        (i, np.zeros(4, "int32")),
        {1: i.reshape(4, 256).sum(1)},
        (Launched("block_sumsIiLi256E", 4, 256),),
    )
    yield Call(
        "scans",
        (i, np.zeros_like(i)),
        {1: i.reshape(4, 256).cumsum(1).reshape(-1)},
        (Launched("scan_tilesILi64ELi4E", 4, 64),),
    )


@GROUP.add("running_max")
def cub_sizes(rng: np.random.Generator) -> Iterator[Call]:
    x = normal(rng, 128)
    yield Call(
        "running_max",
        (x,),
        {0: np.maximum.accumulate(x)},
        (Launched("scan_block", 1, 128, 1024),),
        returns=lambda size: 16 <= size <= 1024,
    )


@GROUP.add("layer_norm")
def layer_norm(rng: np.random.Generator) -> Iterator[Call]:
    for dtype, part, mean_type in (
        ("float32", "IffL", "float32"),
        ("float64", "IddL", "float64"),
        ("float16", "I6__halff", "float32"),
    ):
        x, gamma, beta = normal(rng, 10, 96), normal(rng, 96), normal(rng, 96)
        tensors = [each.astype(dtype) for each in (x, gamma, beta)]
        wide, g, b = (each.astype("float64") for each in tensors)
        mean = wide.mean(1, keepdims=True)
        y = (wide - mean) / np.sqrt(wide.var(1, keepdims=True) + 1e-5) * g + b
        tolerance = 1e-2 if dtype == "float16" else 1e-4
        yield Call(
            "layer_norm",
            (*tensors, np.zeros((10, 96), dtype), np.zeros(10, mean_type), 1e-5),
            {3: y, 4: mean[:, 0]},
            (Launched(f"layer_norm_kernel{part}", 3, 128, scalars={6: ("i", 96)}),),
            rtol=tolerance,
            atol=tolerance,
        )


@GROUP.add("histogram")
def histogram(rng: np.random.Generator) -> Iterator[Call]:
    for n, blocks in ((700, 1), (5000, 4)):
        x = rng.integers(0, 256, n).astype("uint8")
        yield Call(
            "histogram",
            (x, np.full(64, 9, "int32")),
            {1: np.bincount(x % 64, minlength=64)},
            (Launched("histogram_kernel", blocks, 256, scalars={2: ("Q", n)}),),
        )
    x = np.zeros(8, "uint8")
    yield Call("histogram", (x, x), raises=("ValueError", "bins has to have 64 elements"))


@GROUP.add("sum")
def two_pass_reduction(rng: np.random.Generator) -> Iterator[Call]:
    x = normal(rng, 10_000)
    yield Call(
        "sum",
        (x, np.zeros(1, "float32")),
        {1: x.sum(keepdims=True)},
        (
            Launched("reduceILj256E", 8, 256, scalars={2: ("Q", 10_000)}),
            Launched("reduceILj32E", 1, 32, scalars={2: ("Q", 8)}),
        ),
        rtol=1e-3,
        atol=1e-2,
    )


@GROUP.add("matmul")
def matmul(rng: np.random.Generator) -> Iterator[Call]:
    for m, k, n, part, grid, block in (
        (70, 33, 50, "ILi64ELi32E", (2, 2), 512),
        (20, 17, 40, "ILi16ELi16E", (3, 2), 64),
    ):
        a, b, c = normal(rng, m, k), normal(rng, k, n), normal(rng, m, n)
        scalars = {0: ("i", m), 1: ("i", n), 2: ("i", k), 3: ("f", 1.5), 6: ("f", 0.5)}
        yield Call(
            "matmul",
            (a, b, c, 1.5, 0.5),
            {2: 1.5 * (a @ b) + 0.5 * c},
            (Launched(f"sgemm{part}", grid, block, scalars=scalars),),
            rtol=1e-4,
            atol=1e-4,
        )


@GROUP.add("softmax")
def softmax(rng: np.random.Generator) -> Iterator[Call]:
    for cols, threads in ((40, 32), (200, 128), (1000, 256)):
        x = normal(rng, 6, cols)
        e = np.exp(x - x.max(1, keepdims=True))
        yield Call(
            "softmax",
            (x, np.zeros_like(x)),
            {1: e / e.sum(1, keepdims=True)},
            (Launched(f"online_softmaxILi{threads}E", 6, threads, scalars={2: ("i", cols)}),),
            rtol=1e-4,
        )


@GROUP.add("inclusive_scan")
def scan(rng: np.random.Generator) -> Iterator[Call]:
    for n in (200, 3000):
        x = rng.integers(-99, 99, n).astype("int32")
        blocks = ceil_div(n, 256)
        rest = (Launched("4scan6totals", 1, 256), Launched("4scan3add", blocks - 1, 256))
        yield Call(
            "inclusive_scan",
            (x, np.zeros_like(x), np.zeros(256, "int32")),
            {1: x.cumsum()},
            (Launched("4scan6blocks", blocks, 256), *(rest if blocks > 1 else ())),
        )


@GROUP.add("heat")
def stencil_2d(rng: np.random.Generator) -> Iterator[Call]:
    field = normal(rng, 20, 35)
    now = field
    for _ in range(4):
        p = np.pad(now, 1, mode="edge")
        around = p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:]
        now = now + np.float32(0.2) * (around - 4 * now)
    grid_t = {2: ("2if", (20, 35, np.float32(0.2)))}
    yield Call(
        "heat",
        (field, np.zeros_like(field), 4, 0.2),
        {0: now},
        (Launched("heat_step", (3, 2), (16, 16), scalars=grid_t),) * 4,
        rtol=1e-3,
        atol=1e-4,
    )
