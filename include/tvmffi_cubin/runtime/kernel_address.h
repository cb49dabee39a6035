/*!
 * \file tvmffi_cubin/runtime/kernel_address.h
 * \brief Kernels that host code names as functions: found by the functions' addresses.
 */
#ifndef TVMFFI_CUBIN_RUNTIME_KERNEL_ADDRESS_H_
#define TVMFFI_CUBIN_RUNTIME_KERNEL_ADDRESS_H_

#include <cuda.h>
#include <stddef.h>
#include <stdint.h>

#include "../core/namespace.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

class CubinKernel;
struct MixedTable;

/*! \brief One kernel of a mixed source; constant-initialised, filled at the kernel's first use. */
struct KernelSlot {
  const char* (*name)();  // by which the generated table knows it
  const size_t* sizes;    // of its parameters in host code
  size_t num_params;
  const MixedTable* (*table)();
  CubinKernel* kernel = nullptr;  // never destroyed, so it may be read without a lock
};

/*! \brief Of what is entered as a library is loaded: before objects of the user's, who may ask. */
#define TVMFFI_CUBIN_ENTERED_FIRST __attribute__((init_priority(101)))

/*! \brief A function that stands for a kernel; static, and entered as its library is loaded. */
struct KernelAddress {
  const void* function;
  KernelSlot* slot;
  // What runtime calls need of the kernel, which this header knows nothing of. Failures are noted
  // for cudaGetLastError.
  const struct KernelCalls* calls;
  KernelAddress* next;

  KernelAddress(const void* function_, KernelSlot* slot_, const KernelCalls* calls_);
};

/*! \brief How a kernel is reached from its slot. */
struct KernelCalls {
  /*! \brief The driver's handle. */
  CUresult (*find)(KernelSlot* slot, CUkernel* handle);
  CUresult (*launch)(KernelSlot* slot, const CUlaunchConfig& config, void** args);
  /*! \brief Lets launches have that much dynamic shared memory; what they have is not lowered. */
  CUresult (*raise_smem)(KernelSlot* slot, int device, int bytes);
};

/*! \brief All of them, by a hash of the address; only changed while the library is loaded. */
constexpr unsigned kAddressBuckets = 256;
inline KernelAddress* kernel_addresses[kAddressBuckets] = {};

/*! \brief Whether there are any: only a mixed source has them. */
inline bool has_kernel_addresses = false;

inline KernelAddress** AddressBucket(const void* function) {
  const auto number = reinterpret_cast<uintptr_t>(function);
  return &kernel_addresses[(number ^ number >> 8 ^ number >> 16) / 4 % kAddressBuckets];
}

#ifndef TVMFFI_CUBIN_COLD_COMPILED

TVMFFI_CUBIN_COLD KernelAddress::KernelAddress(const void* function_, KernelSlot* slot_,
                                               const KernelCalls* calls_)
    : function(function_), slot(slot_), calls(calls_), next(*AddressBucket(function_)) {
  *AddressBucket(function_) = this;
  has_kernel_addresses = true;
}

#endif  // TVMFFI_CUBIN_COLD_COMPILED

/*! \brief What stands for a kernel at an address; null where nothing does. */
inline const KernelAddress* FindKernelAddress(const void* function) {
  const KernelAddress* found = *AddressBucket(function);
  while (found != nullptr && found->function != function) found = found->next;
  return found;
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_RUNTIME_KERNEL_ADDRESS_H_
