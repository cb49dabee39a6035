"""Triton's kernels on a real device: results are torch's, and Triton's own launches'."""

from __future__ import annotations

import pytest

import tvmffi_cubin as tc

torch = pytest.importorskip("torch", reason="the GPU tests compare with torch, which is missing")
triton = pytest.importorskip("triton", reason="Triton is not installed")
kernels = pytest.importorskip("triton_functions")

TILES = {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64, "GROUP": 8}
MAJOR = torch.cuda.get_device_capability()[0] if torch.cuda.is_available() else 0

needs_tma = pytest.mark.skipif(MAJOR < 9, reason="tensor maps are of compute capability 9.0 on")


@pytest.fixture(scope="module", autouse=True)
def triton_cache(tmp_path_factory: pytest.TempPathFactory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRITON_CACHE_DIR", str(tmp_path_factory.mktemp("triton")))
        yield


def load(**functions) -> tc.Module:
    return tc.load_inline("gpu_triton", functions=functions)


def blocks(meta):
    return (triton.cdiv(meta["n"], meta["BLOCK"]),)


def descriptors() -> tc.Launch:
    signature = dict.fromkeys("ab", "tensordesc<fp16[128,64]>") | dict.fromkeys("mnk", "i32")
    return tc.triton.compile(
        kernels.persistent_matmul,
        signature | {"c": "tensordesc<fp16[128,128]>"},
        constexprs=TILES,
        grid="min(num_sms // 2, ceil_div(m, BLOCK_M) * ceil_div(n, BLOCK_N))",
        num_warps=8,
    )


def in_kernel() -> tc.Launch:
    return tc.triton.compile(
        kernels.descriptor_matmul,
        "*fp16:16, *fp16:16, *fp16:16, i32, i32, i32",
        constexprs=TILES,
        grid="min(num_sms, ceil_div(m, BLOCK_M) * ceil_div(n, BLOCK_N))",
        num_warps=8,
    )


def operands(m: int, n: int, k: int):
    a = torch.randn(m, k, device="cuda").half()
    b = torch.randn(n, k, device="cuda").half()
    return a, b, torch.zeros(m, n, device="cuda", dtype=torch.float16)


@needs_tma
@pytest.mark.parametrize("make", [descriptors, in_kernel])
def test_a_persistent_matmul_over_descriptors(make):
    sizes = (2000, 1000, 264)
    a, b, c = operands(*sizes)
    load(matmul=make()).matmul(a, b, c, *sizes)
    torch.testing.assert_close(c, a @ b.T, atol=5e-2, rtol=1e-2)


def test_a_kernel_that_triton_has_launched_is_launched_from_here():
    x, y = torch.rand(2, 5000, device="cuda")
    out, again = torch.empty_like(x), torch.empty_like(x)
    kernel = kernels.add[blocks](x, y, out, 5000, BLOCK=1024)
    launch = tc.triton.from_compiled(kernel, grid="cdiv(n, BLOCK)")
    load(add=launch).add(x, y, again, 5000)
    assert torch.equal(again, out)


def test_examples_are_specialised_as_triton_itself_does():
    x, y, out = torch.rand(3, 4096, device="cuda")
    here = tc.triton.compile(kernels.add, [x, y, out, 4096], constexprs={"BLOCK": 1024})
    theirs = kernels.add[(4,)](x, y, out, 4096, BLOCK=1024)
    assert here.image.image == theirs.asm["cubin"]
    there = tc.triton.from_compiled(theirs)
    assert (here.params, here.multiple_of) == (there.params, there.multiple_of)
    again = torch.empty_like(out)
    load(add=here).add[4](x, y, again, 4096)
    assert torch.equal(again, x + y)
