// One call of a function: its state during evaluation, and its launches.
#pragma once

#include "argument.h"
#include "image.h"

TVMFFI_CUBIN_BEGIN

// What a caller sets for its calls, overriding the function's own.
struct CallOptions {
  uint64_t given = 0;  // a bit for each figure (from 0), the stream (7), each attribute (from 8)
  CUlaunchConfig config = {1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, 0};
};

inline constexpr CallOptions kNoOptions;

// One evaluated launch of a call.
struct Launch {
  CUlaunchConfig config;
  const LaunchPlan* plan;
  void** params;
};

// One call of one instance of a function; lives on the caller's stack.
struct Call {
  const FunctionPlan& function;
  const Instance& instance;
  const CallOptions& options;
  Argument* const arguments;
  int device = -1;                                  // -1: not known yet
  bool has_stream = (options.given >> 7 & 1) != 0;  // the caller or the function sets the stream
  CUstream stream = options.config.hStream;
  Launch* launches = nullptr;  // those that have blocks
  int num_launches = 0;

  // For the launch being evaluated or launched.
  int number = 0;
  Argument* computed = nullptr;             // kernel arguments from expressions
  int64_t* map_words = nullptr;             // of the map being evaluated
  CUlaunchAttribute* attributes = nullptr;  // room for all that the launch may have
  unsigned num_attributes = 0;              // so far
  const char* failure = nullptr;            // what went wrong first; kRaised: already raised
  const char* where = nullptr;              // the expression, as the user wrote it

  // "f", or for one of several launches "f: launch 2 of 3".
  TVMFFI_CUBIN_COLD Text Site() const {
    Text text;
    text.Add("%s", function.name);
    if (instance.num_launches > 1 && launches != nullptr) {
      const auto place = static_cast<int>(launches[number].plan - instance.launches) + 1;
      text.Add(": launch %d of %d", place, instance.num_launches);
    }
    return text;
  }

  // Raises an error: the launch's kernel cannot be loaded, or its launch is rejected.
  TVMFFI_CUBIN_COLD int Fail(const Status& status) const {
    return FailKernel(Site().chars, *launches[number].plan->kernel, device, status);
  }

  // Raises an error for the limit that the launch exceeds, if one is known; `answer` is the
  // driver's result, if it has rejected the launch.
  TVMFFI_CUBIN_COLD int CheckLimits(CUresult answer = CUDA_SUCCESS) const {
    const Launch& launch = launches[number];
    const EmbeddedKernel& kernel = *launch.plan->kernel;
    Text found;
    if (!AddLimit(kernel.handle, device, launch.config, answer, &found)) return 0;
    return tvmffi_cubin::Fail("LaunchLimitError", "%s: launch of %s: %s", Site().chars,
                              kernel.display, found.chars);
  }
};

// Launches a kernel whose grid the driver counts in clusters. It is checked here, because a partial
// cluster would be dropped silently.
TVMFFI_CUBIN_SHARED Status LaunchInClusters(const EmbeddedKernel& kernel, CUlaunchConfig config,
                                            void** params) {
  unsigned* const grid = &config.gridDimX;  // and the others after it
  for (int i = 0; i < 3; ++i) {
    if (grid[i] % kernel.cluster[i] != 0) {
      return {CUDA_ERROR_INVALID_CLUSTER_SIZE, "cuLaunchKernelEx"};
    }
    grid[i] /= kernel.cluster[i];
  }
  return LaunchKernel(kernel.handle, config, params);
}

// Launches in order, with all memory in place; the device is current.
TVMFFI_CUBIN_HOT int LaunchInOrder(Call* call) {
  for (int i = 0; i < call->num_launches; ++i) {
    const Launch& launch = call->launches[i];
    const EmbeddedKernel& kernel = *launch.plan->kernel;
    const Status status = __builtin_expect(kernel.cluster[0] != 0, 0)
                              ? LaunchInClusters(kernel, launch.config, launch.params)
                              : LaunchKernel(kernel.handle, launch.config, launch.params);
    if (__builtin_expect(!status.ok(), 0)) {
      call->number = i;
      return call->CheckLimits(status.result) != 0 ? -1 : call->Fail(status);
    }
  }
  return 0;
}

TVMFFI_CUBIN_END
