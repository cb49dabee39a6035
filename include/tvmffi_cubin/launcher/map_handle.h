/*!
 * \file tvmffi_cubin/launcher/map_handle.h
 * \brief A tensor map that the caller has made: a by-value argument that is passed by its address.
 */
#ifndef TVMFFI_CUBIN_LAUNCHER_MAP_HANDLE_H_
#define TVMFFI_CUBIN_LAUNCHER_MAP_HANDLE_H_

#include <errno.h>
#include <sys/uio.h>
#include <unistd.h>

#include "problem.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*!
 * \brief Whether memory of this process can be read: the kernel is asked, which reads it and does
 * not crash. Where it may not be asked, as in some containers, the caller is believed.
 */
inline bool IsReadable(void* address, size_t size) {
  char copy[128];
  iovec to{copy, size}, from{address, size};
  if (size > sizeof(copy)) return false;
  const ssize_t count = process_vm_readv(getpid(), &to, 1, &from, 1, 0);
  return count == static_cast<ssize_t>(size) || (count < 0 && errno != EFAULT);
}

/*! \brief The address of a tensor map; the driver copies from there, wherever that is. */
__attribute__((noinline, cold)) inline Problem ConvertMapHandle(const Param& param,
                                                                const TVMFFIAny& any,
                                                                Argument* out) {
  if (any.type_index != kTVMFFIOpaquePtr) return Problem::kType;
  if (any.v_ptr == nullptr || !IsReadable(any.v_ptr, param.size)) return Problem::kUnreadable;
  out->address = any.v_ptr;
  return Problem::kNone;
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_LAUNCHER_MAP_HANDLE_H_
