/*!
 * \file tvmffi_cubin/guide.h
 * \brief What tvm-ffi's CUBIN launcher header calls in place of CUDA's libraries (compat/tvm).
 *
 * Its CubinKernel is a bare handle. What a launch of ours keeps of a kernel (limits that were
 * raised, parameters' sizes) is found by that handle, so it opts into large shared memory and
 * clusters, goes to the stream's device, appends bound parameters and explains refusals.
 */
#ifndef TVMFFI_CUBIN_GUIDE_H_
#define TVMFFI_CUBIN_GUIDE_H_
#pragma GCC system_header

#include <cuda.h>
#include <cuda_runtime.h>

#include <ostream>

#ifndef TVMFFI_CUBIN_COLD_COMPILED
#include <memory>
#include <mutex>
#include <unordered_map>
#endif

#include "module.h"
#include "runtime/launch.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief A code that is CUresult, cudaError_t and int at once; true where it is an error. */
class __attribute__((visibility("default"))) GuideResult {
 public:
  constexpr GuideResult() = default;
  constexpr GuideResult(CUresult result) : code_(static_cast<int>(result)) {}
  constexpr GuideResult(cudaError_t error) : code_(static_cast<int>(error)) {}

  constexpr operator int() const { return code_; }
  constexpr explicit operator bool() const { return code_ != 0; }

  // A template, so that each integer type is converted to exactly: with `operator int` alone,
  // `unsigned u = result` could go by way of either enumeration as well.
  template <typename T, typename = std::enable_if_t<
                            std::is_same_v<T, CUresult> || std::is_same_v<T, cudaError_t> ||
                            (std::is_integral_v<T> && !std::is_same_v<T, bool>)>>
  constexpr operator T() const {
    if constexpr (std::is_same_v<T, CUresult>) return ToDriver(static_cast<cudaError_t>(code_));
    return static_cast<T>(code_);
  }

  friend std::ostream& operator<<(std::ostream& out, GuideResult result) {
    return out << result.code_;
  }

 private:
  int code_ = 0;
};

template <typename Left, typename Right>
using GuideComparison =
    std::enable_if_t<std::is_same_v<Left, GuideResult> || std::is_same_v<Right, GuideResult>, bool>;
template <typename Left, typename Right>
constexpr GuideComparison<Left, Right> operator==(Left left, Right right) {
  return static_cast<int>(left) == static_cast<int>(right);
}
template <typename Left, typename Right>
constexpr GuideComparison<Left, Right> operator!=(Left left, Right right) {
  return static_cast<int>(left) != static_cast<int>(right);
}

/*! \brief "name (number): meaning", and what is noted of the thread's last refusal, once. */
std::string DescribeGuideError(CUresult error);
std::string DescribeGuideError(cudaError_t error);
inline std::string DescribeGuideError(GuideResult error) {
  return DescribeGuideError(static_cast<CUresult>(error));
}

/*! \brief The driver's name and text for a code; where there is no driver, that and why. */
CUresult GuideErrorName(CUresult error, const char** name);
CUresult GuideErrorText(CUresult error, const char** text);

GuideResult LoadGuideLibrary(CUlibrary* library, const void* image);
GuideResult UnloadGuideLibrary(CUlibrary library);
GuideResult FindGuideKernel(CUkernel* kernel, CUlibrary library, const char* name);

/*! \brief Raises a kernel's dynamic shared memory; what others launch with is not lowered. */
GuideResult SetGuideSmem(CUkernel kernel, int device, int bytes);

/*! \brief Launches; `kernel` is a CUkernel, whatever its type is called. */
GuideResult LaunchGuideKernel(const void* kernel, const CUlaunchConfig& config, void** args);

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

/*! \brief Notes what a failure means, for the check macros, and cudaGetLastError's code. */
TVMFFI_CUBIN_COLD GuideResult NoteGuideError(CUresult result, const std::string& text) {
  launch_problem.result = result;
  snprintf(launch_problem.text, sizeof(launch_problem.text), "%s", text.c_str());
  return NoteRuntimeError(result);
}

TVMFFI_CUBIN_COLD GuideResult LoadGuideLibrary(CUlibrary* library, const void* image) {
  if (!OpenDriver()) return NoteRuntimeError(CUDA_ERROR_NO_DEVICE);
  WatchExit();
  Library loaded;
  loaded.image = image;
  const Status status = loaded.Load();
  *library = loaded.handle;
  if (status.ok()) return status.result;
  return NoteGuideError(status.result,
                        DescribeImageError(status, ImageFacts(), "the image cannot be loaded"));
}

TVMFFI_CUBIN_COLD GuideResult UnloadGuideLibrary(CUlibrary library) {
  {
    // The driver may hand out the same handles again, for kernels of another library.
    GuideKernels& known = GuideKernels::Global();
    std::lock_guard<std::mutex> hold(known.mutex);
    known.kernels.clear();
  }
  if (exit_begun || InForkedChild()) return CUDA_SUCCESS;
  Library loaded;
  loaded.handle = library;
  return loaded.Unload().result;
}

TVMFFI_CUBIN_COLD GuideResult FindGuideKernel(CUkernel* kernel, CUlibrary library,
                                              const char* name) {
  CaptureScope relaxed;
  const CUresult result = entry::cuLibraryGetKernel(kernel, library, name);
  if (result == CUDA_SUCCESS || !OpenDriver()) return NoteRuntimeError(result);
  return NoteGuideError(result, DescribeImageError({result, "cuLibraryGetKernel"}, ImageFacts(),
                                                   DescribeMissing(library, name)));
}

TVMFFI_CUBIN_COLD GuideResult SetGuideSmem(CUkernel kernel, int device, int bytes) {
  return GuideKernels::Global().Find(kernel)->SetMaxDynamicSmem(device, bytes).result;
}

TVMFFI_CUBIN_SHARED GuideResult LaunchGuideKernel(const void* kernel, const CUlaunchConfig& config,
                                                  void** args) {
  const auto handle = static_cast<CUkernel>(const_cast<void*>(kernel));
  // What an earlier refusal was about would else be told of another call's failure.
  launch_problem.result = CUDA_SUCCESS;
  return NoteRuntimeError(GuideKernels::Global().Find(handle)->Launch(args, config).result);
}

TVMFFI_CUBIN_COLD std::string FinishGuideError(std::string text, int code) {
  text += " (" + std::to_string(code) + "): ";
  text += cudaGetErrorString(static_cast<cudaError_t>(code));
  LaunchProblem* problem = &launch_problem;
  if (code != 0 && static_cast<int>(problem->result) == code) {
    text += std::string("; ") + problem->text;
    problem->result = CUDA_SUCCESS;
  }
  return InForkedChild() ? text + kForkRemedy : text;
}

TVMFFI_CUBIN_COLD std::string DescribeGuideError(CUresult error) {
  const char* name;
  GuideErrorName(error, &name);
  return FinishGuideError(name, static_cast<int>(error));
}

TVMFFI_CUBIN_COLD std::string DescribeGuideError(cudaError_t error) {
  return FinishGuideError(cudaGetErrorName(error), static_cast<int>(error));
}

TVMFFI_CUBIN_COLD CUresult GuideErrorName(CUresult error, const char** name) {
  *name = nullptr;
  entry::cuGetErrorName(error, name);
  if (*name == nullptr) {
    *name = error == CUDA_ERROR_NO_DEVICE ? "CUDA_ERROR_NO_DEVICE" : "unrecognized error code";
  }
  return CUDA_SUCCESS;
}

TVMFFI_CUBIN_COLD CUresult GuideErrorText(CUresult error, const char** text) {
  *text = ErrorMeaning(error);
  return CUDA_SUCCESS;
}

#endif  // TVMFFI_CUBIN_COLD_COMPILED

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

/*! \brief Throws a LaunchError unless a statement's code, of a type, is that of success. */
#define TVMFFI_CUBIN_CHECK(type, words, stmt)                                              \
  do {                                                                                     \
    const type tvmffi_cubin_code = (stmt);                                                 \
    if (__builtin_expect(static_cast<int>(tvmffi_cubin_code) != 0, 0)) {                   \
      TVM_FFI_THROW(LaunchError) << words                                                  \
                                 << ::tvmffi_cubin::DescribeGuideError(tvmffi_cubin_code); \
    }                                                                                      \
  } while (0)

#endif  // TVMFFI_CUBIN_GUIDE_H_
