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


@pytest.mark.parametrize(("m", "n", "k"), [(512, 512, 512), (300, 200, 136)])
def test_matmul_in_groups(m, n, k):
    launch = tc.triton.compile(
        kernels.matmul,
        dict.fromkeys("abc", "*fp16:16")
        | dict.fromkeys(("m", "n", "k", "stride_am", "stride_bk", "stride_cm"), "i32")
        | dict.fromkeys(("stride_ak", "stride_bn", "stride_cn"), "i32:1"),
        constexprs=TILES,
        grid="cdiv(m, BLOCK_M) * cdiv(n, BLOCK_N)",
        num_warps=8,
        num_stages=3,
    )
    a = torch.randn(m, k, device="cuda").half()
    b = torch.randn(k, n, device="cuda").half()
    c = torch.empty(m, n, device="cuda", dtype=torch.float16)
    load(matmul=launch).matmul(a, b, c, m, n, k, *a.stride(), *b.stride(), *c.stride())
    torch.testing.assert_close(c, a @ b, atol=1e-2, rtol=1e-2)


def descriptors(num_ctas: int = 1) -> tc.Launch:
    signature = dict.fromkeys("ab", "tensordesc<fp16[128,64]>") | dict.fromkeys("mnk", "i32")
    return tc.triton.compile(
        kernels.persistent_matmul,
        signature | {"c": "tensordesc<fp16[128,128]>"},
        constexprs=TILES,
        grid="min(num_sms // 2, ceil_div(m, BLOCK_M) * ceil_div(n, BLOCK_N))",
        num_warps=8,
        num_ctas=num_ctas,
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


@pytest.mark.parametrize("make", [descriptors, in_kernel])
@pytest.mark.parametrize("sizes", [(512, 512, 256), (2000, 1000, 264)])
def test_a_persistent_matmul_over_descriptors(make, sizes):
    if make is in_kernel and MAJOR < 9:
        pytest.skip("tensor maps are of compute capability 9.0 on")
    a, b, c = operands(*sizes)
    load(matmul=make()).matmul(a, b, c, *sizes)
    torch.testing.assert_close(c, a @ b.T, atol=5e-2, rtol=1e-2)


@needs_tma
def test_global_scratch_is_each_launch_s_own_on_every_stream():
    mod = load(matmul=in_kernel())
    a, b, _ = operands(512, 512, 256)
    outs = [torch.zeros(512, 512, device="cuda", dtype=torch.float16) for _ in range(16)]
    streams = [torch.cuda.Stream() for _ in range(4)]
    torch.cuda.synchronize()
    for number, out in enumerate(outs):
        mod.matmul.on(streams[number % 4])(a, b, out, 512, 512, 256)
    torch.cuda.synchronize()
    for out in outs:
        torch.testing.assert_close(out, a @ b.T, atol=5e-2, rtol=1e-2)


def test_a_kernel_that_triton_has_launched_is_launched_from_here():
    x, y = torch.rand(2, 5000, device="cuda")
    out, again = torch.empty_like(x), torch.empty_like(x)
    kernel = kernels.add[blocks](x, y, out, 5000, BLOCK=1024)
    launch = tc.triton.from_compiled(kernel, grid="cdiv(n, BLOCK)")
    load(add=launch).add(x, y, again, 5000)
    assert torch.equal(again, out)
    one = kernels.strided[(1,)](x, out, 1, 64)
    strided = load(strided=tc.triton.from_compiled(one, grid=1)).strided
    again.zero_()
    strided(x, again, 1, 64)
    assert torch.equal(again[:64], x[:64])
    with pytest.raises(ValueError, match=r"\bstride\b"):
        strided(x, again, 2, 64)


def test_examples_are_specialised_as_triton_itself_does():
    x, y, out = torch.rand(3, 4096, device="cuda")
    here = tc.triton.compile(kernels.add, [x, y, out, 4096], constexprs={"BLOCK": 1024})
    theirs = kernels.add[(4,)](x, y, out, 4096, BLOCK=1024)
    assert here.image.image == theirs.asm["cubin"]
    there = tc.triton.from_compiled(theirs)
    assert (here.params, here.multiple_of) == (there.params, there.multiple_of)
