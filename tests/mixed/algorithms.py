"""Cases of what kernels compute: reductions and scans by CUB."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .case import Call, Group, Launched
from .templates import normal

GROUP = Group()


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
