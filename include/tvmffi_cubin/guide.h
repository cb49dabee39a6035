/*!
 * \file tvmffi_cubin/guide.h
 * \brief What tvm-ffi's CUBIN launcher header calls in place of CUDA's libraries (compat/tvm).
 *
 * Its CubinKernel is a bare handle. Here a handle stands for a CubinKernel of ours, which opts into
 * large shared memory and clusters, goes to the stream's device, appends bound parameters and
 * explains refusals.
 */
#pragma once
#pragma GCC system_header

#include <cuda.h>
#include <cuda_runtime.h>

#if CUDART_VERSION < 12080
typedef struct CUlib_st* cudaLibrary_t;
#endif

#ifndef TVMFFI_CUBIN_COLD_COMPILED
#include <mutex>
#include <unordered_map>
#endif

#include "kernel.h"

TVMFFI_CUBIN_BEGIN

/*! \brief A code of the driver's and the runtime's at once: the two share their numbers. */
struct GuideResult {
  int code = 0;

  constexpr GuideResult() = default;
  constexpr GuideResult(CUresult result) : code(result) {}
  constexpr GuideResult(cudaError_t error) : code(error) {}
  constexpr operator CUresult() const { return static_cast<CUresult>(code); }
  constexpr operator cudaError_t() const { return static_cast<cudaError_t>(code); }
  constexpr explicit operator int() const { return code; }

  template <typename Code>
  friend constexpr bool operator==(GuideResult left, Code right) {
    return left.code == static_cast<int>(right);
  }
  template <typename Code>
  friend constexpr bool operator!=(GuideResult left, Code right) {
    return left.code != static_cast<int>(right);
  }
};

GuideResult LoadGuideLibrary(CUlibrary* library, const void* image);
GuideResult UnloadGuideLibrary(CUlibrary library);
GuideResult FindGuideKernel(CUkernel* kernel, CUlibrary library, const char* name);

/*! \brief Raises a kernel's dynamic shared memory; what others launch with is not lowered. */
GuideResult SetGuideSmem(CUkernel kernel, int device, int bytes);

/*! \brief Launches; `kernel` is a CUkernel, whatever its type is called. */
GuideResult LaunchGuideKernel(const void* kernel, const CUlaunchConfig& config, void** args);

/*! \brief Throws a LaunchError with what is known of the thread's last refusal, told once. */
[[noreturn]] void ThrowGuideError(int code);

#ifndef TVMFFI_CUBIN_COLD_COMPILED

/*! \brief What is kept of kernels by their handles, until a library is unloaded. */
struct GuideKernels {
  std::mutex mutex;
  std::unordered_map<CUkernel, std::shared_ptr<CubinKernel>> kernels;

  /*! \brief Never destroyed: static kernels launch to the process's end. */
  static GuideKernels& Global() {
    static GuideKernels* const kernels = new GuideKernels;
    return *kernels;
  }

  std::shared_ptr<CubinKernel> Find(CUkernel handle) {
    std::lock_guard<std::mutex> hold(mutex);
    std::shared_ptr<CubinKernel>& kernel = kernels[handle];
    if (kernel == nullptr) kernel = std::make_shared<CubinKernel>(handle);
    return kernel;
  }
};

/*! \brief Notes what a failure means, for the check macro. */
TVMFFI_CUBIN_COLD GuideResult NoteGuideError(const Status& status, const std::string& otherwise) {
  const std::string text = DescribeImageError(status, ImageFacts(), otherwise);
  launch_problem.result = status.result;
  snprintf(launch_problem.text, sizeof(launch_problem.text), "%s", text.c_str());
  return status.result;
}

TVMFFI_CUBIN_COLD GuideResult LoadGuideLibrary(CUlibrary* library, const void* image) {
  if (!OpenDriver()) return CUDA_ERROR_NO_DEVICE;
  WatchExit();
  Library loaded;
  loaded.image = image;
  const Status status = loaded.Load();
  *library = loaded.handle;
  return status.ok() ? GuideResult{} : NoteGuideError(status, "the image cannot be loaded");
}

TVMFFI_CUBIN_COLD GuideResult UnloadGuideLibrary(CUlibrary library) {
  {
    // The driver may hand out the same handles again, for kernels of another library.
    GuideKernels& known = GuideKernels::Global();
    std::lock_guard<std::mutex> hold(known.mutex);
    known.kernels.clear();
  }
  if (exit_begun) return CUDA_SUCCESS;
  Library loaded;
  loaded.handle = library;
  return loaded.Unload().result;
}

TVMFFI_CUBIN_COLD GuideResult FindGuideKernel(CUkernel* kernel, CUlibrary library,
                                              const char* name) {
  CaptureScope relaxed;
  const Status status{entry::cuLibraryGetKernel(kernel, library, name), "cuLibraryGetKernel"};
  return status.ok() ? GuideResult{} : NoteGuideError(status, DescribeMissing(library, name));
}

TVMFFI_CUBIN_COLD GuideResult SetGuideSmem(CUkernel kernel, int device, int bytes) {
  return GuideKernels::Global().Find(kernel)->SetMaxDynamicSmem(device, bytes).result;
}

TVMFFI_CUBIN_SHARED GuideResult LaunchGuideKernel(const void* kernel, const CUlaunchConfig& config,
                                                  void** args) {
  const auto handle = static_cast<CUkernel>(const_cast<void*>(kernel));
  // What an earlier refusal was about would else be told of another call's failure.
  launch_problem.result = CUDA_SUCCESS;
  return GuideKernels::Global().Find(handle)->Launch(args, config).result;
}

[[noreturn]] TVMFFI_CUBIN_COLD void ThrowGuideError(int code) {
  const auto result = static_cast<CUresult>(code);
  const char *name = nullptr, *text = nullptr;
  entry::cuGetErrorName(result, &name);
  entry::cuGetErrorString(result, &text);
  std::string known = IsDriverOpen() ? "" : std::string(": ") + DriverProblem();
  if (launch_problem.result == result) known = std::string("; ") + launch_problem.text;
  launch_problem.result = CUDA_SUCCESS;
  TVM_FFI_THROW(LaunchError) << "CUDA Error: " << (name != nullptr ? name : "CUDA_ERROR_NO_DEVICE")
                             << " (" << code << "): " << (text != nullptr ? text : "no driver")
                             << known << (InForkedChild() ? kForkRemedy : "");
  __builtin_unreachable();
}

#endif  // TVMFFI_CUBIN_COLD_COMPILED

TVMFFI_CUBIN_END
