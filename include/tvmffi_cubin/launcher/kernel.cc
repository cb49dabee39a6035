#include "kernel.h"

#include "../core/device.h"
#include "../core/library.h"
#include "image_file_plan.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

Status LoadKernelNow(const Driver* driver, EmbeddedKernel* kernel, CUkernel* out) {
  CaptureScope relaxed;
  EmbeddedImage* image = kernel->image;
  if (image->file != nullptr) {
    const Status status = image->file->load(driver, kernel, out);
    if (status.ok()) __atomic_store_n(&kernel->handle, *out, __ATOMIC_SEQ_CST);
    return status;
  }
  __atomic_store_n(&image->library.image, image->table[0], __ATOMIC_RELAXED);
  const Status status = image->library.Load(driver);
  if (!status.ok()) return status;
  const CUresult result = driver->cuLibraryGetKernel(out, image->library.handle, kernel->symbol);
  if (result != CUDA_SUCCESS) return {result, "cuLibraryGetKernel"};
  __atomic_store_n(&kernel->handle, *out, __ATOMIC_SEQ_CST);
  return {};
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin
