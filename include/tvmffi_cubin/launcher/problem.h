/*!
 * \file tvmffi_cubin/launcher/problem.h
 * \brief Why an argument does not go with a parameter: found out in a few instructions, told in
 * words only where somebody is to read them.
 */
#ifndef TVMFFI_CUBIN_LAUNCHER_PROBLEM_H_
#define TVMFFI_CUBIN_LAUNCHER_PROBLEM_H_

#include "error.h"
#include "plan.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief What is wrong with an argument; what came and what was wanted is looked up anew. */
enum class Problem : uint8_t {
  kNone,
  kType,
  kRange,
  kBeyondExpressions,  // a uint64 that expressions, which are signed, cannot hold
  kStructSize,
  kDType,
  kRank,
  kFewDimensions,  // an expression reads one that the tensor lacks
  kNotContiguous,
  kMisaligned,
  kNoTensor,  // None or an address, where an expression reads a tensor's shape
  kNotMultiple,
  kOtherValue,
  kHalf,        // a float of 2 bytes, which may be fp16 or bf16
  kUnreadable,  // the address of a tensor map where none can be
};

/*! \brief Content of a bytes argument, in whichever form tvm-ffi carries it. */
inline bool AsBytes(const TVMFFIAny& any, TVMFFIByteArray* out) {
  if (any.type_index == kTVMFFIBytes) {
    *out = *TVMFFIBytesGetByteArrayPtr(any.v_obj);
  } else if (any.type_index == kTVMFFIByteArrayPtr) {
    *out = *static_cast<const TVMFFIByteArray*>(any.v_ptr);
  } else if (any.type_index == kTVMFFISmallBytes) {
    *out = TVMFFISmallBytesGetContentByteArray(&any);
  } else {
    return false;
  }
  return true;
}

/*! \brief Where a tensor's elements begin. */
inline void* DataOf(const DLTensor& tensor) {
  // By way of an integer: nothing may be added to an empty tensor's null pointer.
  return reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(tensor.data) + tensor.byte_offset);
}

/*! \brief Puts a problem in words, "got ..., wanted ..."; returns the error's kind. */
__attribute__((cold)) const char* DescribeProblem(const Param& param, const TVMFFIAny& any,
                                                  Problem problem, Text* text);

/*! \brief Raises "f: argument 2 (n: int): got ..., wanted ..."; `position` is from 1. */
__attribute__((cold)) int FailArgument(const char* function, const Param& param, int position,
                                       const TVMFFIAny& any, Problem problem);

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_LAUNCHER_PROBLEM_H_
