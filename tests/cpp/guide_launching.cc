// The launches that tvm-ffi's issue 497 asks for, by its names, in the dialect that is picked.
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/extra/cuda/cubin_launcher.h>
#include <tvm/ffi/function.h>

TVM_FFI_EMBED_CUBIN(kernels);

namespace api = tvm::ffi::cuda_api;

void Fill(CUlaunchAttribute* attributes) {
  attributes[0].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  attributes[0].value.clusterDim.x = 4;
  attributes[0].value.clusterDim.y = 2;
  attributes[0].value.clusterDim.z = 2;
  attributes[1].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE;
  attributes[1].value.clusterSchedulingPolicyPreference = CU_CLUSTER_SCHEDULING_POLICY_SPREAD;
  attributes[2].id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
  attributes[2].value.programmaticStreamSerializationAllowed = 1;
}

void Fill(cudaLaunchAttribute* attributes) {
  attributes[0].id = cudaLaunchAttributeClusterDimension;
  attributes[0].val.clusterDim = {4, 2, 2};
  attributes[1].id = cudaLaunchAttributeClusterSchedulingPolicyPreference;
  attributes[1].val.clusterSchedulingPolicyPreference = cudaClusterSchedulingPolicySpread;
  attributes[2].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[2].val.programmaticStreamSerializationAllowed = 1;
}

void Run(int way, tvm::ffi::TensorView x, tvm::ffi::TensorView y, int64_t stream_number) {
  static auto kernel = TVM_FFI_EMBED_CUBIN_GET_KERNEL(kernels, "add_one");
  void *in = x.data_ptr(), *out = y.data_ptr();
  int64_t n = x.size(0);
  void* args[] = {&in, &out, &n};
  api::StreamHandle stream = reinterpret_cast<api::StreamHandle>(stream_number);
  const tvm::ffi::dim3 grid(8, 2, 2), block(64);
  CUlaunchAttribute attributes[3] = {};
  cudaLaunchAttribute runtime_attributes[3] = {};
  Fill(attributes);
  Fill(runtime_attributes);
  CUlaunchConfig config{8, 2, 2, 64, 1, 1, 0, stream, attributes, 3};
  cudaLaunchConfig_t runtime_config{};
  runtime_config.gridDim = ::dim3(8, 2, 2);
  runtime_config.blockDim = ::dim3(64);
  runtime_config.stream = stream;
  runtime_config.attrs = runtime_attributes;
  runtime_config.numAttrs = 3;
  api::LaunchConfig own_config{};
  api::LaunchAttrType own_attribute{};
  api::ResultType result = api::kSuccess;
  switch (way) {
    case 0:
      result = kernel.Launch(args, grid, block, stream);
      break;
    case 1:
      result = kernel.Launch(args, grid, block, 0, 0);
      break;
    case 2:
      result = kernel.Launch(args, grid, block, nullptr, 0, nullptr, 0);
      break;
    case 3:
      result = kernel.Launch(args, grid, block, stream, 0, attributes, 3);
      break;
    case 4:
      result = kernel.Launch(args, grid, block, stream, 0, runtime_attributes, 3);
      break;
    case 5:
      result = kernel.LaunchEx(&config, args);
      break;
    case 6:
      result = kernel.LaunchEx(&runtime_config, args);
      break;
    case 7:
      result = kernel.LaunchEx(args, config);
      break;
    case 8:
      result = kernel.LaunchEx(args, runtime_config);
      break;
    case 9:
      result = api::ConstructLaunchConfig(kernel.GetHandle(), stream, 0, grid, block, 16,
                                          own_config, own_attribute);
      if (result == api::kSuccess) {
        own_attribute = {};
        api::LaunchAttrType three[3] = {};
        Fill(three);
        own_config.attrs = three;
        own_config.numAttrs = 3;
        result = kernel.LaunchEx(args, own_config);
      }
      break;
    case 10:
      result = kernel.Launch(args, grid, block, stream, 0, nullptr, 3);
      break;
    case 11:
      result = kernel.LaunchEx(static_cast<const CUlaunchConfig*>(nullptr), args);
      break;
    case 12:
      result = kernel.Launch(args, tvm::ffi::dim3(6, 2, 2), block, stream, 0, attributes, 3);
      break;
    case 13:
      runtime_config.dynamicSmemBytes = (size_t{1} << 32) + 16;
      result = kernel.LaunchEx(&runtime_config, args);
      break;
  }
  TVM_FFI_CHECK_CUBIN_LAUNCHER_CUDA_ERROR(result);
}

TVM_FFI_DLL_EXPORT_TYPED_FUNC(run, Run);
