/*!
 * \file tvmffi_cubin/mixed/device_only.h
 * \brief What stands in the host text for `__device__` functions, which it may name and not call.
 */
#ifndef TVMFFI_CUBIN_MIXED_DEVICE_ONLY_H_
#define TVMFFI_CUBIN_MIXED_DEVICE_ONLY_H_

#include <tvm/ffi/error.h>

#include "../core/namespace.h"

#ifdef __has_attribute
#if __has_attribute(error)
/*! \brief On a function: a call of it that is left when all else is compiled is an error. */
#define TVMFFI_CUBIN_DEVICE_ONLY \
  __attribute__((noinline, error("a __device__ function, which host code cannot call")))
#endif
#endif
#ifndef TVMFFI_CUBIN_DEVICE_ONLY
#define TVMFFI_CUBIN_DEVICE_ONLY
#endif

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief Throws what such a function throws that is called by its address. */
[[noreturn]] void ThrowDeviceOnly(const char* name);

#ifndef TVMFFI_CUBIN_COLD_COMPILED

[[noreturn]] TVMFFI_CUBIN_COLD void ThrowDeviceOnly(const char* name) {
  TVM_FFI_THROW(RuntimeError) << name << " is a __device__ function, and host code called it";
  __builtin_unreachable();
}

#endif  // TVMFFI_CUBIN_COLD_COMPILED

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_MIXED_DEVICE_ONLY_H_
