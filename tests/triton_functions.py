"""Triton functions that tests compile, in the manner of Triton's tutorials. Imports Triton."""

import triton
import triton.language as tl


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    total = tl.load(x + offsets, mask=inside) + tl.load(y + offsets, mask=inside)
    tl.store(out + offsets, total, mask=inside)


@triton.jit
def tile_of(tile, m_tiles, n_tiles, GROUP: tl.constexpr):
    """Tiles in groups of rows, so that those that run together share what they load."""
    group = tile // (GROUP * n_tiles)
    first = group * GROUP
    size = min(m_tiles - first, GROUP)
    within = tile % (GROUP * n_tiles)
    return first + within % size, within // size


@triton.jit
def persistent_tile(
    a, b, c, m, n, k, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
    GROUP: tl.constexpr,
):  # fmt: skip
    m_tiles, n_tiles = tl.cdiv(m, BLOCK_M), tl.cdiv(n, BLOCK_N)
    for tile in tl.range(tl.program_id(0), m_tiles * n_tiles, tl.num_programs(0)):
        tile_m, tile_n = tile_of(tile, m_tiles, n_tiles, GROUP)
        total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for start in range(0, k, BLOCK_K):
            left = a.load([tile_m * BLOCK_M, start])
            right = b.load([tile_n * BLOCK_N, start])
            total = tl.dot(left, right.T, total)
        c.store([tile_m * BLOCK_M, tile_n * BLOCK_N], total.to(tl.float16))


@triton.jit
def persistent_matmul(
    a, b, c, m, n, k, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
    GROUP: tl.constexpr,
):  # fmt: skip
    """C = A B^T over tensor descriptors that the host makes."""
    persistent_tile(a, b, c, m, n, k, BLOCK_M, BLOCK_N, BLOCK_K, GROUP)


@triton.jit
def descriptor_matmul(
    a, b, c, m, n, k, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
    GROUP: tl.constexpr,
):  # fmt: skip
    """C = A B^T over tensor descriptors that the kernel makes, in global scratch memory."""
    left = tl.make_tensor_descriptor(
        a, shape=[m, k], strides=[k, 1], block_shape=[BLOCK_M, BLOCK_K]
    )
    right = tl.make_tensor_descriptor(
        b, shape=[n, k], strides=[k, 1], block_shape=[BLOCK_N, BLOCK_K]
    )
    out = tl.make_tensor_descriptor(c, shape=[m, n], strides=[n, 1], block_shape=[BLOCK_M, BLOCK_N])
    persistent_tile(left, right, out, m, n, k, BLOCK_M, BLOCK_N, BLOCK_K, GROUP)


@triton.jit
def strided(x, out, stride, n, BLOCK: tl.constexpr = 64):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.load(x + offsets * stride, mask=offsets < n), mask=offsets < n)


@triton.jit
def maybe_biased(x, bias, out, n, BLOCK: tl.constexpr = 64):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + offsets, mask=offsets < n)
    if bias is not None:
        values += tl.load(bias + offsets, mask=offsets < n)
    tl.store(out + offsets, values, mask=offsets < n)


@triton.jit
def take_all(out, i1, i8, i16, i32, i64, u8, u16, u32, u64, fp16, bf16, fp32, fp64):
    total = i8.to(tl.float64) + i16 + i32 + i64 + u8 + u16 + u32 + u64 + fp16 + bf16 + fp32 + fp64
    if i1:
        total += 1
    tl.store(out, total)


@triton.jit
def from_tuple(out, pair, n):
    tl.store(out, pair[0] * n + pair[1])


@triton.jit
def tile_sum(x, out, ROWS: tl.constexpr):
    block = x.load([tl.program_id(0) * ROWS, 0]).to(tl.float32)
    tl.store(out + tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.sum(block, axis=1))
