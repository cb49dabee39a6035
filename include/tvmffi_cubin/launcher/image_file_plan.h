/*!
 * \file tvmffi_cubin/launcher/image_file_plan.h
 * \brief The tables of images that lie in files of their own, and the entry that works on them.
 */
#ifndef TVMFFI_CUBIN_LAUNCHER_IMAGE_FILE_PLAN_H_
#define TVMFFI_CUBIN_LAUNCHER_IMAGE_FILE_PLAN_H_

#include "plan.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief The file of an image that is not embedded. Constant-initialised. */
struct ImageFile {
  const char* path;  // from the shared object's folder on, unless it is absolute
  // LoadFileKernel, which by this only shared objects have that need it.
  Status (*load)(const Driver* driver, EmbeddedKernel* kernel, CUkern_st** out);
  char* folder = nullptr;         // in that folder's place; of malloc's
  TVMFFIObject* maker = nullptr;  // a tvm-ffi function that makes the file where it is missing
  int32_t lock = 0;
  int32_t makers = 0;  // calls of those that are under way
};

/*! \brief What is passed to a kernel that is only seen when its file is loaded. */
struct DeclaredParams {
  const uint32_t* sizes;  // in bytes
  int32_t most;           // of them are passed
  int32_t least;          // of them are the kernel's; the rest may be for expressions alone
  bool by_part;           // whether the kernel's name may be a part of that in the file
};

/*!
 * \brief Loads a kernel of an image that lies in a file, and the image where it is not loaded; the
 * device is current. What it answers may stand for an error that is raised, kErrorIsRaised.
 */
Status LoadFileKernel(const Driver* driver, EmbeddedKernel* kernel, CUkern_st** out);

/*!
 * \brief Says where the file of an image lies, and what makes it. The arguments: the image's name;
 * the folder, None for the shared object's; a function that is called with the image's name and the
 * path where it is missing, or None: what was told before stays.
 */
int SetImageFile(EmbeddedImage* const* images, int num_images, const TVMFFIAny* args, int num_args);

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_LAUNCHER_IMAGE_FILE_PLAN_H_
