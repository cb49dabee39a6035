/*!
 * \file tvmffi_cubin/kernel_entries.h
 * \brief Driver entry points that tell what is in an image and what its kernels take.
 */
#ifndef TVMFFI_CUBIN_KERNEL_ENTRIES_H_
#define TVMFFI_CUBIN_KERNEL_ENTRIES_H_

#include "driver_entry.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

TVMFFI_CUBIN_DRIVER_ENTRY(cuKernelGetName, 12030)
TVMFFI_CUBIN_DRIVER_ENTRY(cuKernelGetParamInfo, 12040)
TVMFFI_CUBIN_DRIVER_ENTRY(cuLibraryGetKernelCount, 12040)
TVMFFI_CUBIN_DRIVER_ENTRY(cuLibraryEnumerateKernels, 12040)

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_KERNEL_ENTRIES_H_
