"""Cases of memory: shared, constant, global variables, copies, vectors, half precision."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .case import BFloat16, Call, Group, Launched
from .templates import normal

GROUP = Group()


@GROUP.add("reverse", "shift", "static_bytes")
def large_shared(rng: np.random.Generator) -> Iterator[Call]:
    x, d = normal(rng, 24 * 1024), normal(rng, 8 * 1024, dtype="float64")
    for _ in range(2):
        launch = Launched("reverse_large", 1, 512, 96 * 1024)
        yield Call("reverse", (x, np.zeros_like(x)), {1: x[::-1]}, (launch,))
    yield Call(
        "shift",
        (d, np.zeros_like(d), 77),
        {1: np.roll(d, -77)},
        (Launched("shift_large", 1, 256, 64 * 1024, scalars={2: ("i", 77)}),),
    )
    yield Call("static_bytes", (), returns=0)


@GROUP.add("smoothed", "filtered")
def constant_memory(rng: np.random.Generator) -> Iterator[Call]:
    x = normal(rng, 300)
    ends = np.pad(x, 2, mode="edge")
    weights = (0.0625, 0.25, 0.375, 0.25, 0.0625)
    y = sum(w * ends[k : k + 300] for k, w in enumerate(weights))
    yield Call("smoothed", (x, np.zeros_like(x)), {1: y}, (Launched("smooth", 3, 128),), atol=1e-5)
    for offsets, taps, scale in (([0, -1, 5], [1.0, 2.0, -0.5], 3.0), ([2], [4.0], 0.25)):
        y = scale * sum(w * np.roll(x, -o) for o, w in zip(offsets, taps, strict=True))
        yield Call(
            "filtered",
            (x, np.zeros_like(x), offsets, taps, scale),
            {1: y},
            (Launched("filter", 3, 128),),
            atol=1e-4,
        )


@GROUP.add("run")
def device_globals(rng: np.random.Generator) -> Iterator[Call]:
    for n, shift in ((1000, 0.5), (600, -0.25)):
        x = normal(rng, n)
        bins, _ = np.histogram(x + np.float32(shift), [-np.inf, -1, 0, 1, np.inf])
        yield Call(
            "run",
            (x, np.zeros(4, "int32"), shift),
            {1: bins},
            (Launched("count", -(-n // 256), 256), Launched("copy_histogram", 1, 4)),
            computed=n,
        )


@GROUP.add("axpy", "multiply", "convert_to_float", "convert_to_bf16")
def half_math(rng: np.random.Generator) -> Iterator[Call]:
    x, y = normal(rng, 200, dtype="float16"), normal(rng, 200, dtype="float16")
    half = {2: ("e", 1.5), 3: ("i", 100)}
    yield Call(
        "axpy",
        (x, y, 1.5),
        {1: x.astype("float32") * 1.5 + y},
        (Launched("axpy_half2", 2, 64, scalars=half),),
        rtol=2e-3,
        atol=2e-3,
    )
    f = normal(rng, 200)
    # 0x4020 is 2.5.
    pairs = Launched("multiply_pairs", 2, 64, scalars={2: ("H", 0x4020)})
    yield Call(
        "multiply",
        (BFloat16(f), BFloat16(np.zeros_like(f)), 2.5),
        {1: f * 2.5},
        (pairs,),
        rtol=2e-2,
        atol=1e-2,
    )
    out = np.zeros(200, "float32")
    for tensor, values, part, rtol in (
        (x, x.astype("float32"), "If6__half", 1e-6),
        (BFloat16(f), f, "If13__nv_bfloat16", 1e-2),
    ):
        launch = Launched(f"convert{part}", 2, 128)
        yield Call("convert_to_float", (tensor, out), {1: values}, (launch,), rtol=rtol)
    yield Call(
        "convert_to_bf16",
        (f, BFloat16(out)),
        {1: f},
        (Launched("convertI13__nv_bfloat16f", 2, 128),),
        rtol=1e-2,
    )


@GROUP.add("pipeline", "first_square")
def streams_and_copies(rng: np.random.Generator) -> Iterator[Call]:
    x, host = normal(rng, 100), normal(rng, 100)
    yield Call(
        "pipeline",
        (x, np.zeros_like(x), [float(v) for v in host]),
        {1: x * x + host},
        (Launched("square", 4, 32), *(Launched("add_in_place", 4, 32),) * 2),
    )
    yield Call(
        "first_square",
        (x, np.zeros_like(x)),
        {1: x * x},
        (Launched("square", 4, 32, on_stream_0=True),),
        computed=float(x[0] * x[0]),
    )


@GROUP.add("turn")
def async_copies(rng: np.random.Generator) -> Iterator[Call]:
    x = normal(rng, 256)
    turned = x.reshape(4, 64)[:, ::-1].ravel()
    for way, kernel in enumerate(("by_pipeline", "by_group", "by_barrier")):
        most = np.zeros(1, "int64")
        counted = most + (2**14 - 1 if way == 2 else 0)
        yield Call(
            "turn",
            (x, np.zeros_like(x), most, way),
            {1: turned, 2: counted},
            (Launched(f"turned_{kernel}", 4, 64),),
        )


@GROUP.add("reverse", "means", "rotate_all")
def dynamic_shared(rng: np.random.Generator) -> Iterator[Call]:
    x = normal(rng, 5, 200)
    yield Call(
        "reverse", (x, np.zeros_like(x)), {1: x[:, ::-1]}, (Launched("reverse_rows", 5, 96, 800),)
    )
    values, groups = normal(rng, 500), rng.integers(0, 9, 500).astype("int32")
    means = np.array([values[groups == g].mean() if (groups == g).any() else 0 for g in range(10)])
    yield Call(
        "means",
        (values, groups, np.zeros(10, "float32")),
        {2: means},
        (Launched("group_means", 1, 256, 80),),
        rtol=1e-4,
        atol=1e-5,
    )
    doubles, shorts = normal(rng, 48, dtype="float64"), np.arange(48, dtype="int16")
    yield Call(
        "rotate_all",
        (doubles, shorts, 5),
        {0: np.roll(doubles, -5), 1: np.roll(shorts, -5)},
        (Launched("rotateIdE", 1, 48, 384), Launched("rotateIsE", 1, 48, 96)),
    )
