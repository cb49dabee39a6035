/*!
 * \file tvmffi_cubin/mixed/launch_notes.h
 * \brief What is kept of launches that failed; included by kernel_launch.h.
 */
#ifndef TVMFFI_CUBIN_MIXED_LAUNCH_NOTES_H_
#define TVMFFI_CUBIN_MIXED_LAUNCH_NOTES_H_

#include <cxxabi.h>

#include <exception>

#include "kernel_launch.h"
#include "source_lines.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

#ifndef TVMFFI_CUBIN_COLD_COMPILED

/*! \brief A symbol as people write it. */
TVMFFI_CUBIN_COLD std::string Demangled(const char* symbol) {
  int status = 0;
  char* text = abi::__cxa_demangle(symbol, nullptr, nullptr, &status);
  std::string result = text != nullptr ? text : symbol;
  free(text);
  // Of an instance of a template it tells the return type, which all kernels have.
  return result.compare(0, 5, "void ") == 0 ? result.substr(5) : result;
}

/*! \brief A slot's kernel as people write it. */
TVMFFI_CUBIN_COLD std::string KernelOfSlot(const KernelSlot* slot) {
  const std::string type = Demangled(slot->name());
  const size_t begin = type.find("<&"), end = type.rfind('>');
  if (begin == std::string::npos || end == std::string::npos) return type;
  std::string kernel = type.substr(begin + 2, end - begin - 2);
  if (kernel[0] == '(') kernel = kernel.substr(1, kernel.size() - 2);
  return kernel.compare(0, 5, "void ") == 0 ? kernel.substr(5) : kernel;
}

TVMFFI_CUBIN_COLD void NoteLaunchFailure(cudaError_t error, bool is_limit, const LaunchSite* site,
                                         const std::string& what) {
  last_runtime_error = error;
  LaunchFailure* failure = &launch_failure;
  if (failure->is_pending) return;  // the first is what went wrong
  failure->is_pending = true;
  failure->is_limit = is_limit;
  std::string where;
  if (site != nullptr) {
    const int line = CurrentLine(*site->table(), site->file, site->line);
    where = std::string(site->file) + ":" + std::to_string(line) + ": ";
  }
  snprintf(failure->text, sizeof(failure->text), "%s%s", where.c_str(), what.c_str());
}

TVMFFI_CUBIN_COLD cudaError_t LaunchErrorCode(CUresult result, const CUlaunchConfig& config) {
  if (result != CUDA_ERROR_INVALID_VALUE) return ToRuntime(result);
  // What the runtime says of shapes that no device takes; of the rest it says "invalid argument".
  const uint64_t threads = Volume(config.blockDimX, config.blockDimY, config.blockDimZ);
  const uint64_t blocks = Volume(config.gridDimX, config.gridDimY, config.gridDimZ);
  const bool is_shape = blocks == 0 || threads == 0 || threads > 1024 || config.blockDimZ > 64 ||
                        config.gridDimX > INT32_MAX || config.gridDimY > 65535 ||
                        config.gridDimZ > 65535;
  return is_shape ? cudaErrorInvalidConfiguration : cudaErrorInvalidValue;
}

TVMFFI_CUBIN_COLD cudaError_t RefusalCode(const Status& status, const CUlaunchConfig& config) {
  const cudaError_t error = LaunchErrorCode(status.result, config);
  // So that checks of the runtime's code tell the limit as well.
  if (status.is_limit) launch_problem.result = static_cast<CUresult>(error);
  return error;
}

/*! \brief Tells the bytes of shared memory as they were given, where they are told cut. */
TVMFFI_CUBIN_COLD void TellGivenSmem(const KernelLaunch& launch, std::string* text) {
  const std::string told = "dynamic_smem_bytes is ", cut = std::to_string(UINT32_MAX);
  const size_t at = text->find(told + cut);
  if (at == std::string::npos) return;
  text->replace(at + told.size(), cut.size(), std::to_string(launch.given_smem()));
}

TVMFFI_CUBIN_COLD void NoteRefusedLaunch(const Status& status, const KernelLaunch& launch,
                                         const KernelSlot* slot) {
  const char* symbol = KernelName(slot->kernel->GetHandle());
  // Not every driver tells it, and none in a process that was forked.
  const std::string name = strcmp(symbol, "a kernel") == 0 ? KernelOfSlot(slot) : Demangled(symbol);
  std::string text = StatusText(status);
  const size_t at = text.find(symbol);
  if (at != std::string::npos) {
    text.replace(at, strlen(symbol), name);
  } else {
    text = "launch of " + name + ": " + text;
  }
  TellGivenSmem(launch, &text);
  const cudaError_t error = RefusalCode(status, launch.config());
  NoteLaunchFailure(error, status.is_limit, &launch.site(), text);
}

TVMFFI_CUBIN_COLD CubinKernel* FindToLaunch(KernelSlot* slot, const LaunchSite* site) {
  try {
    return FindMixedKernel(slot);
  } catch (const std::exception& error) {
    const tvm::ffi::Error* ours = dynamic_cast<const tvm::ffi::Error*>(&error);
    const std::string what = ours != nullptr ? std::string(ours->message()) : error.what();
    const bool no_driver = !OpenDriver();
    NoteLaunchFailure(no_driver ? cudaErrorNoDevice : cudaErrorInvalidDeviceFunction, false, site,
                      "launch of " + KernelOfSlot(slot) + ": " + what);
    return nullptr;
  }
}

TVMFFI_CUBIN_COLD void NoteUnconfigured(KernelSlot* slot) {
  NoteLaunchFailure(cudaErrorMissingConfiguration, false, nullptr,
                    KernelOfSlot(slot) +
                        " is a kernel and was called as a function: launch it "
                        "with <<<grid, block>>>");
}

TVMFFI_CUBIN_COLD void KernelLaunch::Drop() {
  // Not always the innermost: one that an exception ends may lie below others that go with it.
  for (KernelLaunch** at = &pending_launch; *at != nullptr; at = &(*at)->previous_) {
    if (*at != this) continue;
    *at = previous_;
    break;
  }
  if (std::uncaught_exceptions() != 0) return;
  NoteLaunchFailure(cudaErrorInvalidDeviceFunction, false, &site_,
                    "what is called behind <<<...>>> is no kernel of this source");
}

#endif  // TVMFFI_CUBIN_COLD_COMPILED

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_MIXED_LAUNCH_NOTES_H_
