// Launches with several attributes, as tvm-ffi's issue 497 needs, in the dialect that is picked.
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
  const tvm::ffi::dim3 grid(way == 4 ? 6 : 8, 2, 2), block(64);
  api::LaunchConfig config{};
  api::LaunchAttrType attributes[3] = {};
  api::ResultType result = api::kSuccess;
  switch (way) {
    case 0:
      result = kernel.Launch(args, grid, block, stream);
      break;
    case 1:
      result = kernel.Launch(args, grid, block, 0, 0);
      break;
    case 2:
      result = api::LaunchKernel(kernel.GetHandle(), args, grid, block, stream);
      break;
    default:
      result = api::ConstructLaunchConfig(kernel.GetHandle(), stream, 0, grid, block, 16, config,
                                          attributes[0]);
      attributes[0] = {};
      Fill(attributes);
      config.attrs = attributes;
      config.numAttrs = 3;
      if (result == api::kSuccess) result = kernel.LaunchEx(args, config);
  }
  TVM_FFI_CHECK_CUBIN_LAUNCHER_CUDA_ERROR(result);
}

TVM_FFI_DLL_EXPORT_TYPED_FUNC(run, Run);
