"""The attention launcher of tvm-ffi's issue 497, in both spellings: one launch with everything."""

from __future__ import annotations

import ast
import struct
from pathlib import Path

import pytest
import tvm_ffi
from stub.cuda_array import cuda_array
from stub.driver_stub import DriverStub

import tvmffi_cubin as tc

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "attention_launcher.py"

GUIDE = r"""
#include <tvm/ffi/extra/cuda/cubin_launcher.h>

TVM_FFI_EMBED_CUBIN(attention);

void Attention(tvm::ffi::TensorView q, tvm::ffi::TensorView k, tvm::ffi::TensorView v,
               tvm::ffi::TensorView out) {
  static auto kernel = TVM_FFI_EMBED_CUBIN_GET_KERNEL(attention, "attend");
  void *q_ptr = q.data_ptr(), *k_ptr = k.data_ptr(), *v_ptr = v.data_ptr(), *o_ptr = out.data_ptr();
  int n = static_cast<int>(k.size(2));
  void* args[] = {&q_ptr, &k_ptr, &v_ptr, &o_ptr, &n};
  CUlaunchAttribute attrs[3] = {};
  attrs[0].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  attrs[0].value.clusterDim.x = 4;
  attrs[0].value.clusterDim.y = 2;
  attrs[0].value.clusterDim.z = 1;
  attrs[1].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE;
  attrs[1].value.clusterSchedulingPolicyPreference = CU_CLUSTER_SCHEDULING_POLICY_SPREAD;
  attrs[2].id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
  attrs[2].value.programmaticStreamSerializationAllowed = 1;
  CUlaunchConfig config{};
  config.gridDimX = 4;
  config.gridDimY = static_cast<unsigned>(q.size(1));
  config.gridDimZ = static_cast<unsigned>(q.size(0));
  config.blockDimX = 64;
  config.blockDimY = config.blockDimZ = 1;
  config.sharedMemBytes = n / 4 * sizeof(float);
  config.hStream = static_cast<CUstream>(TVMFFIEnvGetStream(kDLCUDA, q.device().device_id));
  config.attrs = attrs;
  config.numAttrs = 3;
  TVM_FFI_CHECK_CUBIN_LAUNCHER_CUDA_ERROR(kernel.LaunchEx(args, config));
}
"""


def constants() -> dict[str, str]:
    """The texts that the example consists of."""
    assigned = [x for x in ast.parse(EXAMPLE.read_text()).body if isinstance(x, ast.Assign)]
    return {ast.unparse(x.targets[0]): x.value.value for x in assigned
            if isinstance(x.value, ast.Constant)}  # fmt: skip


@pytest.fixture(scope="module")
def cubin() -> tc.Cubin:
    """Compiled ahead: the launchers below know nothing of its source."""
    return tc.nvrtc.compile(constants()["KERNEL"], arch="sm_90a")


@pytest.fixture(scope="module", params=["own", "guide"])
def attention(request: pytest.FixtureRequest, cubin: tc.Cubin) -> tc.Module:
    source = constants()["LAUNCHER"] if request.param == "own" else GUIDE
    name = f"attention_{request.param}"
    return tc.load_inline(
        name, source, functions="Attention", embed_cubin={"attention": cubin},
        extra_cflags=["-DTVM_FFI_CUBIN_LAUNCHER_USE_DRIVER_API=1"],
    )  # fmt: skip


def tensors(driver_stub: DriverStub, heads: int = 8, n: int = 1024, device: int = 0) -> list:
    shapes = ((3, heads, 1, 64), (3, heads, n, 64), (3, heads, n, 64), (3, heads, 1, 64))
    # One row over and over: keys and values of which nobody reads an element may have GiB.
    return [cuda_array(driver_stub, x, strides=(0, 0, 0, 1), device=device) for x in shapes]


def test_cluster_policy_and_dependent_launch_go_on_one_launch(
    attention: tc.Module, driver_stub: DriverStub
) -> None:
    q, k, v, out = tensors(driver_stub, device=1)
    with (
        driver_stub.stream(device=1) as stream,
        tvm_ffi.use_raw_stream(tvm_ffi.device("cuda", 1), stream),
        driver_stub.current_device(0),
    ):
        attention.Attention(q, k, v, out)
        assert driver_stub.object_counts().pushed_contexts == 1
    (launch,) = driver_stub.launches()
    assert (launch.kernel, launch.device, launch.stream) == ("attend", 1, stream)
    assert (launch.grid, launch.block) == ((4, 8, 3), (64, 1, 1))
    assert launch.dynamic_smem_bytes == 1024
    assert launch.attributes == {
        4: struct.pack("<3I", 4, 2, 1).ljust(64, b"\0"),
        5: struct.pack("<i", 1).ljust(64, b"\0"),
        6: struct.pack("<i", 1).ljust(64, b"\0"),
    }
    pointers = [x.data_ptr for x in (q, k, v, out)]
    assert launch.values("PPPPi") == (*pointers, 1024)
