/*!
 * \file tvmffi_cubin/launcher/launch.h
 * \brief One call of a function; loading its kernels at their first use, and launching them.
 */
#pragma once

#include "argument.h"
#include "file.h"

TVMFFI_CUBIN_BEGIN

/*! \brief Whether a refusal means that the image lacks the kernel for this architecture. */
TVMFFI_CUBIN_COLD bool LacksKernel(const EmbeddedKernel& kernel, CUresult result) {
  return kernel.arches != nullptr &&
         (result == CUDA_ERROR_NOT_FOUND || result == CUDA_ERROR_INVALID_HANDLE);
}

/*!
 * \brief Raises that a kernel's load or launch failed, and what that means.
 * \param label Begins the message: "f", "f: launch 2 of 3".
 * \param config The launch that was refused; null where loading failed.
 */
TVMFFI_CUBIN_COLD int FailKernel(const char* label, const EmbeddedKernel& kernel, int device,
                                 const CUlaunchConfig* config, const Status& status) {
  if (status.call == kRaised) return -1;
  const EmbeddedImage& image = *kernel.image;
  const Text reason = DescribeStatus(status);
  Text found, hint;
  if (image.library.AddRefusal(status.result, device, &found)) {
    return Fail("LaunchError", "%s: the image %s %s (%s)", label, image.name, found.chars,
                reason.chars);
  }
  if (config != nullptr && AddLimit(kernel.handle, device, *config, status.result, &found)) {
    return Fail("LaunchLimitError", "%s: launch of %s: %s", label, kernel.display, found.chars);
  }
  if (LacksKernel(kernel, status.result)) {
    hint.Add(". The image has it for %s alone, by a condition on the architecture; this is sm_%d",
             kernel.arches, DeviceArch(device));
  }
  return Fail("LaunchError", "%s: kernel %s of image %s on device %d: %s%s", label, kernel.display,
              image.name, device, reason.chars, hint.chars);
}

/*! \brief Loads a kernel, and its image where that is not loaded. */
TVMFFI_CUBIN_COLD Status LoadKernelNow(EmbeddedKernel* kernel) {
  CaptureScope relaxed;
  Status status = LoadImage(kernel->image);
  if (!status.ok()) return status;
  CUkernel handle = nullptr;
  const CUlibrary library = kernel->image->library.handle;
  status = {entry::cuLibraryGetKernel(&handle, library, kernel->symbol), "cuLibraryGetKernel"};
  if (kernel->image->path != nullptr) {
    if (status.result == CUDA_ERROR_NOT_FOUND) status = FindByPart(*kernel, &handle);
    if (status.ok()) status = CheckParams(*kernel, handle);
  }
  if (status.ok()) __atomic_store_n(&kernel->handle, handle, __ATOMIC_SEQ_CST);
  return status;
}

/*! \brief Loads a kernel and its image unless they are. */
inline Status LoadKernel(EmbeddedKernel* kernel) {
  const bool is_loaded = __atomic_load_n(&kernel->handle, __ATOMIC_SEQ_CST) != nullptr;
  return __builtin_expect(is_loaded, 1) ? Status() : LoadKernelNow(kernel);
}

/*! \brief How much of a kernel fits a device at once; loads it. Its image's gate is held. */
TVMFFI_CUBIN_COLD Status OccupancyOf(EmbeddedKernel* kernel, int device,
                                     const CUlaunchConfig& config, Occupancy* found) {
  DeviceScope scope;
  Status status = scope.Enter(device);
  if (status.ok()) status = LoadKernel(kernel);
  return status.ok() ? FindOccupancy(kernel->handle, device, config, found) : status;
}

/*! \brief What a caller sets for its calls, in place of what the function says. */
struct CallOptions {
  bool has_stream = false;
  uint32_t replaced = 0;    // a bit for each Step::Target that is given
  uint64_t attributes = 0;  // a bit for each attribute that is given
  CUlaunchConfig config = {1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, 0};
};

/*! \brief Those of a plain call. */
inline constexpr CallOptions kNoOptions;

/*! \brief One launch of a call, evaluated. */
struct Launch {
  CUlaunchConfig config;
  const LaunchPlan* plan;
  void** params;
  bool is_empty;  // the grid has no blocks: nothing is to be done
};

/*! \brief One call of one instance of a function; lives on the caller's stack. */
struct Call {
  const FunctionPlan& function;
  const Instance& instance;
  const CallOptions& options;
  Argument* const arguments;
  int device = -1;                       // -1: not known yet
  bool has_stream = options.has_stream;  // the caller or the function names the stream
  CUstream stream = options.config.hStream;
  Launch* launches = nullptr;

  // Of the launch that is being evaluated.
  int number = 0;
  Argument* computed = nullptr;             // kernel arguments that expressions give
  int64_t* map_words = nullptr;             // of the map that is being evaluated
  CUlaunchAttribute* attributes = nullptr;  // room for all that the launch may carry
  unsigned num_attributes = 0;              // so far
  const char* failure = nullptr;            // what went wrong first; kRaised: and is raised
  const char* where = nullptr;              // in which expression, as the user wrote it

  /*! \brief "f", and of several launches "f: launch 2 of 3". */
  TVMFFI_CUBIN_COLD Text Site() const {
    Text text;
    text.Add("%s", function.name);
    if (instance.num_launches > 1) text.Add(": launch %d of %d", number + 1, instance.num_launches);
    return text;
  }

  /*! \brief Raises that the launch's kernel cannot be loaded, or is refused with `config`. */
  TVMFFI_CUBIN_COLD int Fail(const Status& status, const CUlaunchConfig* config = nullptr) const {
    return FailKernel(Site().chars, *instance.launches[number].kernel, device, config, status);
  }
};

/*!
 * \brief Launches a kernel whose grid the driver counts in clusters. It is checked here, since a
 * part of a cluster would be lost in silence.
 */
__attribute__((noinline)) inline Status LaunchInClusters(const EmbeddedKernel& kernel,
                                                         CUlaunchConfig config, void** params) {
  unsigned* const grid = &config.gridDimX;  // and the others behind it
  for (int i = 0; i < 3; ++i) {
    if (grid[i] % kernel.cluster[i] != 0) {
      return {CUDA_ERROR_INVALID_CLUSTER_SIZE, "cuLaunchKernelEx"};
    }
    grid[i] /= kernel.cluster[i];
  }
  return LaunchKernel(kernel.handle, config, params);
}

/*! \brief Launches in order what has all its memory; the device is current. */
__attribute__((always_inline)) inline int LaunchInOrder(Call* call) {
  for (int i = 0; i < call->instance.num_launches; ++i) {
    const Launch& launch = call->launches[i];
    if (launch.is_empty) continue;
    const EmbeddedKernel& kernel = *launch.plan->kernel;
    const Status status = __builtin_expect(kernel.grid_in_clusters, 0)
                              ? LaunchInClusters(kernel, launch.config, launch.params)
                              : LaunchKernel(kernel.handle, launch.config, launch.params);
    if (__builtin_expect(!status.ok(), 0)) {
      call->number = i;
      return call->Fail(status, &launch.config);
    }
  }
  return 0;
}

TVMFFI_CUBIN_END
