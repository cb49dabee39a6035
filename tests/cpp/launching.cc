// Launches of every kind over tvmffi_cubin's own names, as tests ask for them.
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/function.h>
#include <tvmffi_cubin/tvmffi_cubin.h>

#include "configure.h"

EMBED_CUBIN(kernels);

using tvm::ffi::Array;
using tvm::ffi::TensorView;
using tvmffi_cubin::CheckDriver;
using tvmffi_cubin::Dim3;
using tvmffi_cubin::LaunchConfig;

tvmffi_cubin::CubinKernel& Kernel(const tvm::ffi::String& name) {
  static auto add_one = EMBED_CUBIN_GET_KERNEL(kernels, "add_one");
  static auto shared = EMBED_CUBIN_GET_KERNEL(kernels, "shared");
  static auto by_value = EMBED_CUBIN_GET_KERNEL(kernels, "by_value");
  static auto wide = EMBED_CUBIN_GET_KERNEL(kernels, "wide");
  return name == "shared"     ? shared
         : name == "by_value" ? by_value
         : name == "wide"     ? wide
                              : add_one;
}

void Run(TensorView rows, TensorView x, TensorView y) {
  LaunchConfig config(1, 32);
  Configure(&config, rows);
  CheckDriver(Kernel("add_one").Launch(config, x.data_ptr(), y.data_ptr(), x.size(0)));
}

void RunShared(TensorView rows, TensorView y) {
  LaunchConfig config(1, 32);
  Configure(&config, rows);
  CheckDriver(Kernel("shared").Launch(config, y.data_ptr(), static_cast<int>(y.size(0))));
}

void RunWide(TensorView rows, TensorView y) {
  LaunchConfig config(16, 32);
  Configure(&config, rows);
  CheckDriver(Kernel("wide").Launch(config, y.data_ptr()));
}

// Each of the ways to give what add_one takes.
void RunShaped(int way, TensorView x, TensorView y, int64_t stream_number) {
  auto& kernel = Kernel("add_one");
  void *in = x.data_ptr(), *out = y.data_ptr();
  int64_t n = x.size(0);
  void* args[] = {&in, &out, &n};
  CUstream stream = reinterpret_cast<CUstream>(stream_number);
  CUlaunchAttribute attributes[3] = {};
  attributes[0].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  attributes[0].value.clusterDim = {4, 2, 2};
  attributes[1].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE;
  attributes[1].value.clusterSchedulingPolicyPreference = CU_CLUSTER_SCHEDULING_POLICY_SPREAD;
  attributes[2].id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
  attributes[2].value.programmaticStreamSerializationAllowed = 1;
  CUlaunchConfig raw{8, 2, 2, 64, 1, 1, 0, stream, attributes, 3};
  switch (way) {
    case 2:
      return CheckDriver(kernel.Launch(args, {8, 2, 2}, 64, stream, 0, attributes, 3));
    case 3:
      return CheckDriver(kernel.LaunchEx(&raw, args));
  }
}

struct alignas(64) Block128 {
  unsigned char bytes[128];
};

void Typed(int way, TensorView y) {
  const LaunchConfig config(1, 32);
  float* out = static_cast<float*>(y.data_ptr());
  Block128 block;
  for (int i = 0; i < 128; ++i) block.bytes[i] = static_cast<unsigned char>(i);
  auto& by_value = Kernel("by_value");
  auto& add_one = Kernel("add_one");
  switch (way) {
    case 0:
      return CheckDriver(by_value.Launch(config, block, out));
    case 1:
      return CheckDriver(by_value.Launch(config, out, block));
    case 2:
      return CheckDriver(add_one.Launch(config, out, out));
    case 3:
      return CheckDriver(add_one.Launch(config, out, out, 32));
    case 8:
      return CheckDriver(tvmffi_cubin::CubinKernel().Launch(config, out));
    case 9: {
      auto kernel = EMBED_CUBIN_GET_KERNEL(kernels, "add_one");
      const tvmffi_cubin::CubinKernel taken = std::move(kernel);
      return CheckDriver(kernel.Launch(config, out));
    }
  }
}

Array<int64_t> Occupancy(TensorView rows, tvm::ffi::String name, int device) {
  LaunchConfig config(1, 32);
  Configure(&config, rows);
  config.SetDevice(device);
  const tvmffi_cubin::Occupancy found = Kernel(name).GetOccupancy(config);
  return {found.blocks_per_sm, found.cooperative_blocks, found.cluster_blocks, found.clusters};
}

TVM_FFI_DLL_EXPORT_TYPED_FUNC(run, Run);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(run_shared, RunShared);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(run_wide, RunWide);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(run_shaped, RunShaped);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(typed, Typed);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(occupancy, Occupancy);
