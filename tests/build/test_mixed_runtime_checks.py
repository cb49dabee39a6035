"""What the runtime's calls of mixed sources refuse, as CUDA's reference has it."""

from __future__ import annotations

import pytest
import tvm_ffi
from mixed_loader import load
from stub.driver_stub import DriverStub

INVALID_VALUE, NO_CHANNELS, WRONG_DIRECTION, NO_ARRAY = 1, 20, 21, 400
SUCCESS, NOT_FOUND = 0, 1

NULLS = {
    "cudaGetDeviceCount": "cudaGetDeviceCount(nullptr)",
    "cudaGetDevice": "cudaGetDevice(nullptr)",
    "cudaGetDeviceProperties": "cudaGetDeviceProperties(nullptr, 0)",
    "cudaDriverGetVersion": "cudaDriverGetVersion(nullptr)",
    "cudaRuntimeGetVersion": "cudaRuntimeGetVersion(nullptr)",
    "cudaFuncGetAttributes": "cudaFuncGetAttributes(nullptr, touch)",
    "cudaPointerGetAttributes": "cudaPointerGetAttributes(nullptr, nullptr)",
    "cudaStreamIsCapturing": "cudaStreamIsCapturing(nullptr, nullptr)",
    "cudaLaunchKernelExC": "cudaLaunchKernelExC(nullptr, (const void*)touch, nullptr)",
    "cudaOccupancyMaxActiveClusters": "cudaOccupancyMaxActiveClusters(&count, touch, nullptr)",
    "cudaGraphAddKernelNode": "cudaGraphAddKernelNode(&node, graph, nullptr, 0, nullptr)",
    "cudaMemcpy3D": "cudaMemcpy3D(nullptr)",
    "cudaMemcpy3DAsync": "cudaMemcpy3DAsync(nullptr, nullptr)",
    "cudaMallocPitch": "cudaMallocPitch((void**)nullptr, nullptr, 8, 8)",
    "cudaMalloc3D": "cudaMalloc3D(nullptr, {8, 8, 8})",
    "cudaMallocArray": "cudaMallocArray(nullptr, &floats, 8)",
    "cudaGetChannelDesc": "cudaGetChannelDesc(nullptr, array)",
    "cudaCreateTextureObject": "cudaCreateTextureObject(&texture, nullptr, nullptr, nullptr)",
    "cudaCreateSurfaceObject": "cudaCreateSurfaceObject(&texture, nullptr)",
    "cudaGraphAddHostNode": "cudaGraphAddHostNode(&node, graph, nullptr, 0, nullptr)",
    "cudaGraphAddMemcpyNode": "cudaGraphAddMemcpyNode(&node, graph, nullptr, 0, nullptr)",
    "cudaGraphAddMemsetNode": "cudaGraphAddMemsetNode(&node, graph, nullptr, 0, nullptr)",
    "cudaGraphExecUpdate": "cudaGraphExecUpdate(nullptr, graph, nullptr)",
    "cudaGraphNodeGetType": "cudaGraphNodeGetType(nullptr, nullptr)",
    "cudaThreadExchangeStreamCaptureMode": "cudaThreadExchangeStreamCaptureMode(nullptr)",
    "cudaGetSymbolAddress": "cudaGetSymbolAddress((void**)nullptr, table)",
    "cudaGetSymbolSize": "cudaGetSymbolSize(nullptr, table)",
    "cudaGetDriverEntryPoint": "cudaGetDriverEntryPoint(nullptr, nullptr, cudaEnableDefault)",
}
SOURCE = """
#include <cuda_runtime.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/string.h>
__constant__ float table[4];
__global__ void touch(float* x) { *x = table[0]; }

struct Arrays {
  cudaArray_t floats, bytes;
  Arrays() {
    const auto four = cudaCreateChannelDesc<float>(), one = cudaCreateChannelDesc<char>();
    cudaMallocArray(&floats, &four, 8, 2);
    cudaMallocArray(&bytes, &one, 8, 2);
  }
  ~Arrays() { cudaFreeArray(floats), cudaFreeArray(bytes); }
};

tvm::ffi::Map<tvm::ffi::String, int64_t> nulls() {
  const auto floats = cudaCreateChannelDesc<float>();
  cudaArray_t array = nullptr;
  cudaTextureObject_t texture = 0;
  cudaGraphNode_t node;
  cudaGraph_t graph;
  int count;
  cudaGraphCreate(&graph, 0);
  tvm::ffi::Map<tvm::ffi::String, int64_t> told;
  NULLS
  return told;
}

int64_t rows(int kind, bool is_to_array, bool is_array) {
  Arrays arrays;
  float values[16] = {};
  const auto direction = static_cast<cudaMemcpyKind>(kind);
  cudaArray_t array = is_array ? arrays.floats : nullptr;
  return is_to_array ? cudaMemcpy2DToArray(array, 0, 0, values, 32, 32, 2, direction)
                     : cudaMemcpy2DFromArray(values, 32, array, 0, 0, 32, 2, direction);
}

int64_t box(int kind, int sides) {
  Arrays arrays;
  float values[16] = {};
  cudaMemcpy3DParms copy{};
  if (sides & 1) copy.srcArray = arrays.floats;
  else copy.srcPtr = make_cudaPitchedPtr(values, 32, 8, 2);
  if (sides & 2) copy.dstArray = sides & 1 ? arrays.bytes : arrays.floats;
  else copy.dstPtr = make_cudaPitchedPtr(values, 32, 8, 2);
  copy.extent = make_cudaExtent(8, 2, 1);
  copy.kind = static_cast<cudaMemcpyKind>(kind);
  cudaGraph_t graph;
  cudaGraphNode_t node;
  cudaGraphCreate(&graph, 0);
  const int64_t added = cudaGraphAddMemcpyNode(&node, graph, nullptr, 0, &copy);
  cudaGraphDestroy(graph);
  return added * 1000 + cudaMemcpy3D(&copy);
}

int64_t channels(int x, int y, int z, int w) {
  const auto wanted = cudaCreateChannelDesc(x, y, z, w, cudaChannelFormatKindUnsigned);
  cudaArray_t array = nullptr;
  const cudaError_t error = cudaMallocArray(&array, &wanted, 8);
  cudaFreeArray(array);
  return error;
}

int64_t texture(bool is_normalized) {
  Arrays arrays;
  cudaResourceDesc resource{};
  resource.res.array.array = arrays.floats;
  cudaTextureDesc texture{};
  texture.addressMode[0] = cudaAddressModeWrap;
  texture.addressMode[1] = cudaAddressModeMirror;
  texture.addressMode[2] = cudaAddressModeBorder;
  texture.normalizedCoords = is_normalized;
  cudaTextureObject_t made;
  return cudaCreateTextureObject(&made, &resource, &texture, nullptr);
}

int64_t managed(int64_t bytes) {
  void* memory = nullptr;
  const cudaError_t error = cudaMallocManaged(&memory, bytes);
  if (memory != nullptr) cudaFree(memory);
  return error;
}

// What it returns, what it told, and whether there is a function.
tvm::ffi::Array<int64_t> entry(tvm::ffi::String name) {
  void* function = &function;
  auto told = cudaDriverEntryPointVersionNotSufficent;
  const int64_t error = cudaGetDriverEntryPoint(name.c_str(), &function, cudaEnableDefault, &told);
  return {error, told, function != nullptr};
}

int64_t symbol() {
  void* address;
  return cudaGetSymbolAddress(&address, table);
}

void run() { touch<<<1, 1>>>(nullptr); }
"""
CALLS = "\n".join(
    f'  told.Set("{name}", {call} * 1000 + cudaGetLastError());' for name, call in NULLS.items()
)
FUNCTIONS = ["nulls", "rows", "box", "channels", "texture", "managed", "entry", "symbol", "run"]
HOST_TO_HOST, HOST_TO_DEVICE, DEVICE_TO_HOST, DEVICE_TO_DEVICE, DEFAULT = range(5)


@pytest.fixture(scope="module")
def built(_own_environment: None) -> tvm_ffi.Module:
    return load(SOURCE.replace("NULLS", CALLS), FUNCTIONS, name="checks")


@pytest.fixture
def mod(built: tvm_ffi.Module, driver_stub: DriverStub) -> tvm_ffi.Module:
    return built


def test_null_where_a_call_reads_or_writes_is_an_invalid_value(mod) -> None:
    assert dict(mod.nulls()) == dict.fromkeys(NULLS, INVALID_VALUE * 1001)


@pytest.mark.parametrize("is_to_array", [True, False])
def test_an_array_is_on_the_device_whatever_the_direction_says(is_to_array, mod) -> None:
    for kind in (HOST_TO_HOST, HOST_TO_DEVICE, DEVICE_TO_HOST, DEVICE_TO_DEVICE, DEFAULT):
        assert mod.rows(kind, is_to_array, True) == SUCCESS
    assert mod.rows(7, is_to_array, True) == WRONG_DIRECTION


@pytest.mark.parametrize("is_to_array", [True, False])
def test_no_array_is_no_handle(is_to_array, mod) -> None:
    assert mod.rows(DEFAULT, is_to_array, False) == NO_ARRAY


@pytest.mark.parametrize(
    ("kind", "sides", "error"),
    [
        (HOST_TO_DEVICE, 2, SUCCESS),
        (HOST_TO_HOST, 2, SUCCESS),
        (DEVICE_TO_HOST, 1, SUCCESS),
        (HOST_TO_HOST, 1, SUCCESS),
        (HOST_TO_HOST, 0, SUCCESS),
        (9, 0, WRONG_DIRECTION),
        (DEVICE_TO_DEVICE, 3, INVALID_VALUE),  # their elements differ
    ],
)
def test_a_box_is_copied_as_its_direction_says(kind, sides, error, mod) -> None:
    assert mod.box(kind, sides) == error * 1001


@pytest.mark.parametrize(
    ("bits", "error"),
    [((8, 8, 0, 0), SUCCESS), ((8, 8, 0, 8), NO_CHANNELS), ((8, 0, 8, 0), NO_CHANNELS)],
)
def test_channels_leave_no_gap(bits, error, mod) -> None:
    assert mod.channels(*bits) == error


@pytest.mark.parametrize(("is_normalized", "modes"), [(True, [0, 2, 3]), (False, [1, 1, 3])])
def test_coordinates_that_are_not_normalized_are_clamped(
    is_normalized, modes, mod, driver_stub
) -> None:
    assert mod.texture(is_normalized) == SUCCESS
    (call,) = driver_stub.calls("cuTexObjectCreate")
    assert call.args["address"] == modes


def test_no_managed_memory_is_an_error(mod) -> None:
    assert mod.managed(0) == INVALID_VALUE
    assert mod.managed(16) == SUCCESS


def test_a_function_that_the_driver_has_not_is_told_and_no_error(mod, driver_stub) -> None:
    assert list(mod.entry("cuInit")) == [SUCCESS, SUCCESS, 1]
    assert list(mod.entry("cuNowhere")) == [SUCCESS, NOT_FOUND, 0]
    driver_stub.set_driver_version(12040)  # older than the runtime
    assert list(mod.entry("cuInit")) == [SUCCESS, SUCCESS, 1]
    driver_stub.fail("cuGetProcAddress", INVALID_VALUE)
    assert list(mod.entry("cuInit")) == [INVALID_VALUE, NOT_FOUND, 0]


def test_variables_are_found_while_streams_are_captured(mod, driver_stub) -> None:
    # At its first use in a context a driver loads the image, which a capture forbids.
    assert mod.symbol() == 0
    calls = (call.function for call in driver_stub.log())
    names = [name for name in calls if name != "cuGetProcAddress"]
    at = names.index("cuLibraryGetGlobal")
    assert names[at - 1] == names[at + 1] == "cuThreadExchangeStreamCaptureMode"
