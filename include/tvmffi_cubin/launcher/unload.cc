// Gives back what launches have loaded and retained, all of it, whatever is refused.
#include "../core/library.h"
#include "error.h"
#include "image_file_plan.h"
#include "image_use.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief What the driver has refused: how often, and the first refusal with what it was about. */
struct Refusals {
  int count = 0;
  Status first;
  Text about;

  __attribute__((format(printf, 3, 4))) void Note(const Status& status, const char* format, ...) {
    if (status.ok() || count++ > 0) return;
    first = status;
    va_list values;
    va_start(values, format);
    vsnprintf(about.chars, sizeof(about.chars), format, values);
    va_end(values);
  }
};

/*! \brief Whether anything is loaded or retained. */
static bool HoldsAnything(EmbeddedImage* const* images, int num_images) {
  for (int i = 0; i < num_images; ++i) {
    if (images[i]->library.handle != nullptr) return true;
  }
  for (CUcontext context : primary_contexts) {
    if (context != nullptr) return true;
  }
  return false;
}

/*! \brief Forgets kernels that are about to be unloaded. */
static void ForgetKernels(EmbeddedKernel* kernels, int num_kernels) {
  for (int i = 0; i < num_kernels; ++i) {
    __atomic_store_n(&kernels[i].handle, nullptr, __ATOMIC_SEQ_CST);
    kernels[i].smem.Reset();
    kernels[i].clusters.Reset();
    if (kernels[i].declared != nullptr) {
      __atomic_store_n(&kernels[i].max_threads, 0u, __ATOMIC_RELAXED);
    }
  }
}

/*! \brief The image of which the file is just being made; null where there is none. */
static const EmbeddedImage* FindMade(EmbeddedImage* const* images, int num_images) {
  for (int i = 0; i < num_images; ++i) {
    const ImageFile* file = images[i]->file;
    if (file != nullptr && __atomic_load_n(&file->makers, __ATOMIC_SEQ_CST) != 0) return images[i];
  }
  return nullptr;
}

/*!
 * \brief Waits for the launches that are under way, or returns the image that one of them has made:
 * who makes it may run for minutes, launch other kernels of the module, or be who unloads.
 */
static const EmbeddedImage* WaitForLaunches(EmbeddedImage* const* images, int num_images) {
  for (int i = 0; i < num_images; ++i) {
    while (__atomic_load_n(&images[i]->gate.users, __ATOMIC_SEQ_CST) != 0) {
      if (const EmbeddedImage* made = FindMade(images, num_images)) return made;
      usleep(20);
    }
  }
  return nullptr;
}

/*!
 * \brief Unloads all images and releases all contexts, once no launch is under way; or nothing, and
 * tells which image is being made.
 */
static Refusals UnloadAll(const Driver* driver, EmbeddedImage* const* images, int num_images,
                          EmbeddedKernel* kernels, int num_kernels, const EmbeddedImage** made) {
  Refusals refusals;
  // All are closed before anything goes: a launch of any image may have any context current.
  for (int i = 0; i < num_images; ++i) CloseGate(&images[i]->gate);
  *made = WaitForLaunches(images, num_images);
  if (*made != nullptr) {
    for (int i = 0; i < num_images; ++i) OpenGate(&images[i]->gate);
    return refusals;
  }
  ForgetKernels(kernels, num_kernels);
  for (int i = 0; i < num_images; ++i) {
    refusals.Note(images[i]->library.Unload(), "the image %s", images[i]->name);
  }
  for (int i = 0; i < kMaxDevices; ++i) {
    refusals.Note(ReleasePrimaryContext(driver, i), "the context of device %d", i);
  }
  for (int i = 0; i < num_images; ++i) OpenGate(&images[i]->gate);
  return refusals;
}

/*! \brief Raises what was refused. */
static int FailUnload(const Refusals& refusals) {
  Text text, more;
  DescribeStatus(refusals.first, text.chars, sizeof(text.chars));
  if (refusals.count > 1) {
    snprintf(more.chars, sizeof(more.chars), ", the first of %d refusals", refusals.count);
  }
  return Fail("LaunchError",
              "unload: %s (%s%s). The rest is unloaded, and another unload() tries again what is "
              "left",
              text.chars, refusals.about.chars, more.chars);
}

int Unload(EmbeddedImage* const* images, int num_images, EmbeddedKernel* kernels, int num_kernels) {
  const Driver* driver = __atomic_load_n(&driver_state.ready, __ATOMIC_ACQUIRE);
  if (driver == nullptr) return 0;
  Refusals refusals;
  const EmbeddedImage* made = nullptr;
  if (!InForkedChild()) {
    refusals = UnloadAll(driver, images, num_images, kernels, num_kernels, &made);
  } else if (HoldsAnything(images, num_images)) {
    // The launches that other threads had begun never end here, and the driver refuses all calls.
    refusals.Note({CUDA_ERROR_NOT_INITIALIZED, "cuLibraryUnload"}, "all images");
  }
  if (made != nullptr) {
    return Fail("LaunchError",
                "unload: nothing is unloaded, since the image %s is just being made for a launch: "
                "unload after that, and not in what makes it",
                made->name);
  }
  return refusals.count == 0 ? 0 : FailUnload(refusals);
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin
