/*!
 * \file tvmffi_cubin/launcher/tensor.h
 * \brief Pointer arguments: dtype, rank, contiguity, alignment and device of a tensor, checked.
 */
#ifndef TVMFFI_CUBIN_LAUNCHER_TENSOR_H_
#define TVMFFI_CUBIN_LAUNCHER_TENSOR_H_

#include "../device_scope.h"
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

/*! \brief Whether the driver knows host memory as page-locked or managed, which a kernel can read.
 */
__attribute__((noinline, cold)) inline bool IsDeviceAccessible(const void* data) {
  const Driver* driver = OpenDriver();
  // Not its device pointer: the driver refuses to tell that in a thread without a context.
  CUmemorytype type = CU_MEMORYTYPE_HOST;
  return driver != nullptr && data != nullptr &&
         driver->cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                       reinterpret_cast<CUdeviceptr>(data)) == CUDA_SUCCESS;
}

/*! \brief Checks where a tensor lives and that all tensors of the call agree on it. */
inline int CheckDevice(const Place& place, const DLTensor& tensor, TensorDevice* common) {
  const Param& param = *place.param;
  if (__builtin_expect(tensor.device.device_type == kDLCUDA, 1)) {
    const int device = tensor.device.device_id;
    if (common->from == nullptr) {
      if (device < 0 || device >= kMaxDevices) {
        return Fail("ValueError",
                    "%s: argument %d (%s: %s): got a tensor on cuda:%d, wanted one on "
                    "cuda:0 to cuda:%d",
                    place.function, place.position, param.name, param.type, device,
                    kMaxDevices - 1);
      }
      *common = {device, &param};
    } else if (common->device != device) {
      return Fail("ValueError",
                  "%s: argument %d (%s: %s) is on cuda:%d and %s is on cuda:%d: all "
                  "tensors of a launch must be on one device",
                  place.function, place.position, param.name, param.type, device,
                  common->from->name, common->device);
    }
    return 0;
  }
  const int type = static_cast<int>(tensor.device.device_type);
  if (type == kDLCUDAHost || type == kDLCUDAManaged) return 0;
  if (type == kDLCPU && IsDeviceAccessible(tensor.data)) return 0;
  return Fail("ValueError",
              "%s: argument %d (%s: %s): got a tensor on %s, wanted one on a CUDA "
              "device (pinned and managed host memory will do): move it first, as with x.cuda()",
              place.function, place.position, param.name, param.type,
              DescribeDevice(tensor.device).chars);
}

/*! \brief Checks the element type against what the pointer points to. */
inline int CheckDType(const Place& place, const DLTensor& tensor) {
  const Param& param = *place.param;
  if (param.num_dtypes == 0) return 0;
  for (int i = 0; i < param.num_dtypes; ++i) {
    const DLDataType& wanted = param.dtypes[i];
    if (tensor.dtype.code == wanted.code && tensor.dtype.bits == wanted.bits &&
        tensor.dtype.lanes == wanted.lanes) {
      return 0;
    }
  }
  return Fail("TypeError", "%s: argument %d (%s: %s): got a tensor of dtype %s, wanted %s",
              place.function, place.position, param.name, param.type,
              DescribeDType(tensor.dtype).chars, param.dtype_names);
}

/*! \brief Checks declared rank, and the dimensions that expressions read. */
inline int CheckRank(const Place& place, const DLTensor& tensor) {
  const Param& param = *place.param;
  if (param.rank >= 0 && tensor.ndim != param.rank) {
    return Fail("ValueError", "%s: argument %d (%s: %s): got a tensor of rank %d, wanted rank %d",
                place.function, place.position, param.name, param.type, tensor.ndim, param.rank);
  }
  if (tensor.ndim < param.min_rank) {
    return Fail("ValueError",
                "%s: argument %d (%s: %s): got a tensor of rank %d, wanted rank %d or "
                "more: an expression of the launch reads dimension %d",
                place.function, place.position, param.name, param.type, tensor.ndim, param.min_rank,
                param.min_rank - 1);
  }
  return 0;
}

/*! \brief Whether an address is a multiple of what the pointer's target needs. */
inline bool IsAligned(const Place& place, const void* data) {
  return (reinterpret_cast<uintptr_t>(data) & (place.param->align - 1)) == 0;
}

__attribute__((noinline, cold)) inline int FailAlignment(const Place& place, const void* data) {
  return Fail("ValueError",
              "%s: argument %d (%s: %s): the data lies at %p, wanted an address that "
              "is a multiple of %u",
              place.function, place.position, place.param->name, place.param->type, data,
              place.param->align);
}

/*! \brief A tensor for a pointer parameter. */
inline int ConvertTensor(const Place& place, const DLTensor& tensor, Argument* out,
                         TensorDevice* common) {
  const Param& param = *place.param;
  if (CheckDevice(place, tensor, common) != 0 || CheckDType(place, tensor) != 0 ||
      CheckRank(place, tensor) != 0) {
    return -1;
  }
  if (!param.strided && !IsContiguous(tensor)) {
    return Fail("ValueError",
                "%s: argument %d (%s: %s): got a tensor that is not contiguous, wanted "
                "a contiguous one: call .contiguous(), or name it in strided= of its Launch if the "
                "kernel handles strides",
                place.function, place.position, param.name, param.type);
  }
  // By way of an integer: nothing may be added to an empty tensor's null pointer.
  const uintptr_t address = reinterpret_cast<uintptr_t>(tensor.data) + tensor.byte_offset;
  void* data = reinterpret_cast<void*>(address);
  if (!IsAligned(place, data) && !IsEmpty(tensor)) return FailAlignment(place, data);
  out->tensor = &tensor;
  out->storage.pointer = data;
  return 0;
}

/*! \brief A tensor, None (null) or a raw address (ctypes.c_void_p) for a pointer parameter. */
inline int ConvertPointer(const Place& place, const TVMFFIAny& any, Argument* out,
                          TensorDevice* common) {
  if (const DLTensor* tensor = AsTensor(any)) return ConvertTensor(place, *tensor, out, common);
  const bool is_none = any.type_index == kTVMFFINone;
  if (!is_none && any.type_index != kTVMFFIOpaquePtr) {
    return FailType(place, any,
                    "a tensor, None (a null pointer), or an address as ctypes.c_void_p");
  }
  if (place.param->in_expression || place.param->rank >= 0) {
    return Fail("ValueError",
                "%s: argument %d (%s: %s): got %s, wanted a tensor: its shape is read "
                "by the launch",
                place.function, place.position, place.param->name, place.param->type,
                is_none ? "None" : "an address");
  }
  out->storage.pointer = is_none ? nullptr : any.v_ptr;
  return IsAligned(place, out->storage.pointer) ? 0 : FailAlignment(place, out->storage.pointer);
}

/*! \brief Checks and converts one argument. */
inline int Convert(const Place& place, const TVMFFIAny& any, Argument* out, TensorDevice* common) {
  out->address = &out->storage;
  out->tensor = nullptr;
  if (place.param->kind == Kind::kPointer) return ConvertPointer(place, any, out, common);
  if (place.param->kind == Kind::kBytes) return ConvertBytes(place, any, out);
  return ConvertScalar(place, any, out);
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_LAUNCHER_TENSOR_H_
