"""Kernels that Triton has compiled already, as functions of a module."""

import dataclasses
from types import SimpleNamespace

import pytest
from stub.cuda_array import cuda_array
from triton_kit import load, only, triton, triton_cache

import tvmffi_cubin as tc

kernels = pytest.importorskip("triton_functions", reason="Triton is not installed")

__all__ = ["triton_cache"]

SIGNATURE = {"x": "*fp32", "out": "*fp32", "stride": "constexpr", "n": "i32", "BLOCK": "constexpr"}
ATTRS = {(0,): [["tt.divisibility", 16]], (3,): [["tt.divisibility", 16]]}


@pytest.fixture(scope="module")
def kernel():
    """As `fn[grid](...)` would return it for a stride of 1, but compiled without a GPU."""
    constants = {(2,): 1, (4,): 64}
    source = triton.compiler.ASTSource(kernels.strided, SIGNATURE, constants, ATTRS)
    target = triton.backends.compiler.GPUTarget("cuda", 90, 32)
    return triton.compile(source, target=target, options={"num_warps": 2})


def test_a_compiled_kernel_is_launched_as_one_compiled_here(driver_stub, kernel):
    launch = tc.triton.from_compiled(kernel, grid="n // BLOCK")
    here = tc.triton.compile(
        kernels.strided,
        "*fp32:16, *fp32, i32:1, i32:16",
        grid="n // BLOCK",
        num_warps=2,
        arch="sm_90",
    )
    # Triton's name of the file may be another; all that is launched is the same.
    assert dataclasses.replace(launch, image=None) == dataclasses.replace(here, image=None)
    mod = load("triton_compiled", strided=launch)
    x = cuda_array(driver_stub, 128)
    mod.strided(x, x, 1, 128)
    assert only(driver_stub).values("PPiPP") == (x.data_ptr, x.data_ptr, 128, 0, 0)
    assert only(driver_stub).grid == (2, 1, 1)
    with pytest.raises(ValueError, match=r"\bstride\b"):
        mod.strided(x, x, 2, 128)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (
            {"src": {"attrs": {(0,): [["tt.pointer_range", 32]]}}},
            ValueError,
            r"relied on tt\.pointer_range of an argument, which is not checked",
        ),
        ({"metadata": {"triton_version": "3.5.1"}}, tc.ToolchainError, "Triton 3.5.1 is too old"),
    ],
)
def test_what_is_not_known_of_a_kernel_is_refused(kernel, change, error, message):
    parts = {
        "src": {x: getattr(kernel.src, x) for x in ("fn", "signature", "constants", "attrs")},
        "metadata": kernel.metadata._asdict(),
    }
    changed = SimpleNamespace(
        asm=kernel.asm,
        **{
            name: SimpleNamespace(**{**values, **change.get(name, {})})
            for name, values in parts.items()
        },
    )
    with pytest.raises(error, match=message):
        tc.triton.from_compiled(changed)
