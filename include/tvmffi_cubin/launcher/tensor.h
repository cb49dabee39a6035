/*!
 * \file tvmffi_cubin/launcher/tensor.h
 * \brief Pointer arguments: dtype, rank, contiguity, alignment and device of a tensor, checked.
 */
#ifndef TVMFFI_CUBIN_LAUNCHER_TENSOR_H_
#define TVMFFI_CUBIN_LAUNCHER_TENSOR_H_

#include "../core/device.h"
#include "argument.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief The device that a call's tensors agree on, and which parameter said so. */
struct TensorDevice {
  int device = -1;
  const Param* from = nullptr;
};

/*! \brief Whether a tensor has no elements. */
inline bool IsEmpty(const DLTensor& tensor) {
  for (int i = 0; i < tensor.ndim; ++i) {
    if (tensor.shape[i] == 0) return true;
  }
  return false;
}

/*! \brief Whether a tensor is row-major without gaps; dimensions of size 1 may have any stride. */
inline bool IsContiguous(const DLTensor& tensor) {
  if (tensor.strides == nullptr) return true;
  uint64_t expected = 1;  // wraps around where a broadcast tensor is larger than any memory
  for (int i = tensor.ndim - 1; i >= 0; --i) {
    if (tensor.shape[i] == 0) return true;
    if (tensor.shape[i] != 1 && static_cast<uint64_t>(tensor.strides[i]) != expected) {
      // A zero further out makes the tensor empty, and an empty one has nothing out of place.
      return IsEmpty(tensor);
    }
    expected *= static_cast<uint64_t>(tensor.shape[i]);
  }
  return true;
}

/*! \brief Checks where a tensor lives and that all tensors of the call agree on it. */
inline int CheckDevice(const char* function, const Param& param, int position,
                       const DLTensor& tensor, TensorDevice* common) {
  if (__builtin_expect(tensor.device.device_type == kDLCUDA, 1)) {
    const int device = tensor.device.device_id;
    if (common->from == nullptr) {
      if (device < 0 || device >= kMaxDevices) {
        return Fail("ValueError",
                    "%s: argument %d (%s: %s): got a tensor on cuda:%d, wanted one on "
                    "cuda:0 to cuda:%d",
                    function, position, param.name, param.type, device, kMaxDevices - 1);
      }
      *common = {device, &param};
    } else if (common->device != device) {
      return Fail("ValueError",
                  "%s: argument %d (%s: %s) is on cuda:%d and %s is on cuda:%d: all "
                  "tensors of a launch must be on one device",
                  function, position, param.name, param.type, device, common->from->name,
                  common->device);
    }
    return 0;
  }
  if (IsHostMemoryForKernels(tensor)) return 0;
  return Fail("ValueError",
              "%s: argument %d (%s: %s): got a tensor on %s, wanted one on a CUDA "
              "device (pinned and managed host memory will do): move it first, as with x.cuda()",
              function, position, param.name, param.type, DescribeDevice(tensor.device).chars);
}

/*! \brief Whether the element type is one that the pointer points to. */
inline bool IsWantedDType(const Param& param, const DLTensor& tensor) {
  if (param.num_dtypes == 0) return true;
  for (int i = 0; i < param.num_dtypes; ++i) {
    const DLDataType& wanted = param.dtypes[i];
    if (tensor.dtype.code == wanted.code && tensor.dtype.bits == wanted.bits &&
        tensor.dtype.lanes == wanted.lanes) {
      return true;
    }
  }
  return false;
}

/*! \brief Whether an address is a multiple of what the pointer's target needs. */
inline bool IsAligned(const Param& param, const void* data) {
  return (reinterpret_cast<uintptr_t>(data) & (param.align - 1)) == 0;
}

/*! \brief A tensor for a pointer parameter; its device is another question (CheckDevice). */
inline Problem ConvertTensor(const Param& param, const DLTensor& tensor, Argument* out) {
  if (!IsWantedDType(param, tensor)) return Problem::kDType;
  if (param.rank >= 0 && tensor.ndim != param.rank) return Problem::kRank;
  if (tensor.ndim < param.min_rank) return Problem::kFewDimensions;
  if (!param.strided && !IsContiguous(tensor)) return Problem::kNotContiguous;
  void* data = DataOf(tensor);
  if (!IsAligned(param, data) && !IsEmpty(tensor)) return Problem::kMisaligned;
  out->tensor = &tensor;
  out->storage.pointer = data;
  return Problem::kNone;
}

/*! \brief A tensor, None (null) or a raw address (ctypes.c_void_p) for a pointer parameter. */
inline Problem ConvertPointer(const Param& param, const TVMFFIAny& any, Argument* out) {
  if (const DLTensor* tensor = AsTensor(any)) return ConvertTensor(param, *tensor, out);
  const bool is_none = any.type_index == kTVMFFINone;
  if (!is_none && any.type_index != kTVMFFIOpaquePtr) return Problem::kType;
  if (param.in_expression || param.rank >= 0) return Problem::kNoTensor;
  out->storage.pointer = is_none ? nullptr : any.v_ptr;
  return IsAligned(param, out->storage.pointer) ? Problem::kNone : Problem::kMisaligned;
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_LAUNCHER_TENSOR_H_
