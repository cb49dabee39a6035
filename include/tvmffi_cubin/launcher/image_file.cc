// What launchers share whose images lie in files of their own: an object like that of launcher.cc,
// apart from it, since few need it.
#include "file_kernel.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

Status LoadFileKernel(const Driver* driver, EmbeddedKernel* kernel, CUkernel* out) {
  Status status = LoadImageFile(driver, kernel->image);
  if (!status.ok()) return status;
  CUlibrary library = kernel->image->library.handle;
  const CUresult result = driver->cuLibraryGetKernel(out, library, kernel->symbol);
  if (result == CUDA_ERROR_NOT_FOUND) {
    status = FindByPattern(*kernel, out);
  } else if (result != CUDA_SUCCESS) {
    status = {result, "cuLibraryGetKernel"};
  }
  if (status.ok()) status = CheckParams(*kernel, *out);
  if (status.ok()) ReadFigures(driver, kernel, *out);
  return status;
}

int SetImageFile(EmbeddedImage* const* images, int num_images, const TVMFFIAny* args,
                 int num_args) {
  return SetFile(images, num_images, args, num_args);
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin
