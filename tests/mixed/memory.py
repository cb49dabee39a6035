"""Cases of memory and of what kernels compute: variables, copies, half precision, CUB."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .case import BFloat16, Call, Launched, case, normal


@case("reverse", "shift")
def shared_memory(rng: np.random.Generator) -> Iterator[Call]:
    x, d = normal(rng, 5, 20_000), normal(rng, 8 * 1024, dtype="float64")
    for _ in range(2):
        launch = Launched("reverse_rows", 5, 96, 80_000)
        yield Call("reverse", (x, np.zeros_like(x)), {1: x[:, ::-1]}, (launch,))
    yield Call(
        "shift",
        (d, np.zeros_like(d), 77),
        {1: np.roll(d, -77)},
        (Launched("shift_large", 1, 256, 64 * 1024, scalars={2: ("i", 77)}),),
    )


@case("filtered")
def constant_memory(rng: np.random.Generator) -> Iterator[Call]:
    x = normal(rng, 300)
    for offsets, taps, scale in (([0, -1, 5], [1.0, 2.0, -0.5], 3.0), ([2], [4.0], 0.25)):
        y = scale * sum(w * np.roll(x, -o) for o, w in zip(offsets, taps, strict=True))
        yield Call(
            "filtered",
            (x, np.zeros_like(x), offsets, taps, scale),
            {1: y},
            (Launched("filter", 3, 128),),
            atol=1e-4,
        )


@case("run")
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


@case("axpy", "convert_to_float", "convert_to_bf16")
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


@case("turn")
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


@case("running_max")
def cub_sizes(rng: np.random.Generator) -> Iterator[Call]:
    x = normal(rng, 128)
    yield Call(
        "running_max",
        (x,),
        {0: np.maximum.accumulate(x)},
        (Launched("scan_block", 1, 128, 1024),),
        returns=lambda size: 16 <= size <= 1024,
    )
