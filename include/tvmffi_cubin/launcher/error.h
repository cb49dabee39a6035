/*!
 * \file tvmffi_cubin/launcher/error.h
 * \brief How a generated launcher raises: one call, kind and formatted text, into tvm-ffi's C API.
 */
#ifndef TVMFFI_CUBIN_LAUNCHER_ERROR_H_
#define TVMFFI_CUBIN_LAUNCHER_ERROR_H_

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <tvm/ffi/c_api.h>

#include "../core/namespace.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief Raises `kind` with a printf-formatted text; returns -1, what a tvm-ffi callee returns. */
__attribute__((cold, format(printf, 2, 3))) int Fail(const char* kind, const char* format, ...);

/*! \brief What stands in a status for a driver call where an error has been raised already. */
inline constexpr char kErrorIsRaised[] = "";

/*! \brief A short text in a buffer of its own, for use as one argument of Fail. */
struct Text {
  char chars[320] = "";
};

/*! \brief A DLPack dtype as people write it: "float32", "bfloat16", "int8x4". */
__attribute__((cold)) Text DescribeDType(DLDataType dtype);

/*! \brief A DLPack device as people write it: "cuda:1", "cpu". */
__attribute__((cold)) Text DescribeDevice(DLDevice device);

/*! \brief The tensor in an argument, however tvm-ffi carries it; null where it is none. */
inline const DLTensor* AsTensor(const TVMFFIAny& any) {
  if (any.type_index == kTVMFFIDLTensorPtr) return static_cast<const DLTensor*>(any.v_ptr);
  if (any.type_index == kTVMFFITensor) return TVMFFITensorGetDLTensorPtr(any.v_obj);
  return nullptr;
}

/*! \brief What an argument is, for "got ...". */
__attribute__((cold)) Text DescribeArgument(const TVMFFIAny& any);

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_LAUNCHER_ERROR_H_
