// TensorMap: describes a tensor to the Tensor Memory Accelerator (TMA), as the argument for a
// kernel's `const __grid_constant__ CUtensorMap` parameter.
//
//   using namespace tvmffi_cubin;
//   // x is a TensorView of shape (m, k): boxes of 64 rows and 64 columns.
//   TensorMap map(x, TensorMapOptions::Tiled({64, 64}).SetSwizzle(CU_TENSOR_MAP_SWIZZLE_128B));
//   void* args[] = {&map, &n};
#pragma once

#include <utility>

#include "core/tensor_map.h"
#include "launch_config.h"

TVMFFI_CUBIN_BEGIN

/// A tensor map: a 128-byte value, to be made anew for each launch. It holds the tensor's address
/// and keeps nothing alive.
class __attribute__((visibility("default"))) TensorMap {
 public:
  /// An empty map, to be assigned to.
  TensorMap() = default;

  /// Makes the map of a tensor.
  /// \param tensor The tensor, on a CUDA device or in pinned or managed memory. The map takes its
  /// strides, of which the innermost must be 1.
  /// \throws ValueError, TypeError The driver does not support such a map; the message has the
  /// value and the limit.
  /// \throws LaunchError The driver rejects it for another reason.
  TensorMap(const DLTensor& tensor, const TensorMapOptions& options) {
    const bool on_cuda = tensor.device.device_type == kDLCUDA;
    if (!on_cuda && !IsHostMemoryForKernels(tensor)) {
      Throw("ValueError", "TensorMap: the tensor is on the host, expected one on a CUDA device");
    }
    CheckRank(options, tensor.ndim);
    Text text;
    TensorMapMemory memory;
    if (const char* kind = DescribeMemory(options, &tensor, DataOf(tensor), &memory, &text)) {
      Throw(kind, "TensorMap: %s", text.chars);
    }
    Make(options, memory, on_cuda ? tensor.device.device_id : -1);
  }

  /// The same for a tvm::ffi::TensorView or Tensor.
  template <typename Tensor, typename = decltype(std::declval<const Tensor&>().byte_offset())>
  TensorMap(const Tensor& tensor, const TensorMapOptions& options)
      : TensorMap(DLTensor{tensor.data_ptr(), tensor.device(),
                           static_cast<int32_t>(tensor.shape().size()), tensor.dtype(),
                           const_cast<int64_t*>(tensor.shape().data()),
                           const_cast<int64_t*>(tensor.strides().data()),
                           static_cast<uint64_t>(tensor.byte_offset())},
                  options) {}

  /// Makes a map of memory, without a tensor.
  /// \param memory Type, address, rank, shape in elements and strides in bytes. The data type in
  /// the options is ignored.
  /// \param device The device it is for; -1: the current one.
  static TensorMap OfMemory(const TensorMapMemory& memory, const TensorMapOptions& options,
                            int device = -1) {
    CheckRank(options, memory.rank);
    TensorMap map;
    map.Make(options, memory, device);
    return map;
  }

  /// The map as encoded by the driver.
  const CUtensorMap& Get() const { return map_; }

 private:
  static void CheckRank(const TensorMapOptions& options, int rank) {
    if (rank == options.rank) return;
    Throw("ValueError", "TensorMap: rank is %d, but the map is for rank %d", rank, options.rank);
  }

  void Make(const TensorMapOptions& options, const TensorMapMemory& memory, int device) {
    Text text;
    DeviceScope scope;
    if (device >= 0) CheckDriver(scope.Enter(device));
    // Not directly into this object: gcc 12 aligns the temporary of `map = TensorMap(...)` to only
    // 16 bytes, and the driver requires 64.
    CUtensorMap made;
    if (const char* kind = EncodeTensorMap(options, memory, &made, &text)) {
      Throw(kind, "TensorMap: %s", text.chars);
    }
    __builtin_memcpy(static_cast<void*>(this), &made, sizeof(made));
  }

  CUtensorMap map_{};
};

TVMFFI_CUBIN_END
