"""Triton: kernels compiled without a GPU, two specializations in one function, no Triton to run."""

from __future__ import annotations

import sys

import gpu

import tvmffi_cubin as tc

try:
    import triton
    import triton.language as tl
except ImportError:
    sys.exit(print("not built: Triton is not installed; run: pip install triton"))


# [docs:kernel]
@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    total = tl.load(x + offsets, mask=inside) + tl.load(y + offsets, mask=inside)
    tl.store(out + offsets, total, mask=inside)


# [docs:end]


def main() -> None:
    """Build; with a GPU, launch and compare with torch."""
    architecture = gpu.arch()  # [docs:skip]
    # [docs:build]
    instances = [
        tc.triton.compile(
            add,
            {"x": pointer, "y": pointer, "out": pointer, "n": "i32"},
            constexprs={"BLOCK": 1024},
            grid="cdiv(n, BLOCK)",
            arch=architecture,  # [docs:skip]
        )
        for pointer in ("*fp32:16", "*fp32")  # addresses that are multiples of 16, and any
    ]
    mod = tc.load_inline("triton_add", functions={"add": tc.Dispatch(instances)})
    # [docs:end]
    reason = gpu.no_launch()
    if reason:
        print(f"built, not launched: {reason}")
        return
    import torch

    x, y = torch.rand(2, 100_000, device="cuda")
    out = torch.empty_like(x)
    mod.add(x, y, out, x.numel())
    torch.testing.assert_close(out, x + y)
    mod.add(x[1:], y[1:], out[1:], x.numel() - 1)  # not aligned: the second instance
    torch.testing.assert_close(out, x + y)
    print("launched: the numbers are torch's")


if __name__ == "__main__":
    main()
