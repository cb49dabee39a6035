// LaunchConfig: how to launch a kernel. CheckDriver: throws if a driver call fails.
#pragma once

#include <tvm/ffi/error.h>

#include "core/limits.h"

TVMFFI_CUBIN_BEGIN

/// Throws an error of a kind with a printf-style message: a stream would compile slowly.
[[noreturn]] __attribute__((format(printf, 2, 3))) TVMFFI_CUBIN_COLD void Throw(const char* kind,
                                                                                const char* format,
                                                                                ...) {
  Text text;
  va_list values;
  va_start(values, format);
  text.AddList(format, values);
  va_end(values);
  throw ::tvm::ffi::Error(kind, text.chars, TVMFFIBacktrace(nullptr, 0, nullptr, 0));
}

/// Throws a LaunchError, or a LaunchLimitError if a launch exceeded a limit, which the launching
/// thread knows until its next rejected launch: "limit: cuX failed: CUDA_ERROR_Y (n): text".
/// \param what The prefix of the message.
[[noreturn]] TVMFFI_CUBIN_COLD void ThrowLaunchError(const Status& status, const char* what = "") {
  const bool is_limit = status.call == kLaunchCall && status.result == launch_problem.result;
  if (is_limit) what = launch_problem.text;
  Throw(is_limit ? "LaunchLimitError" : "LaunchError", "%s%s%s", what, what[0] == '\0' ? "" : ": ",
        DescribeStatus(status).chars);
}

/// Throws a LaunchError, or a LaunchLimitError, unless the call succeeded.
inline void CheckDriver(const Status& status) {
  if (__builtin_expect(!status.ok(), 0)) ThrowLaunchError(status);
}

/// The same for a bare result, with the name of the call.
inline void CheckDriver(CUresult result, const char* call = "a CUDA driver call") {
  CheckDriver(Status{result, call});
}

/// One to three dimensions; omitted ones are 1.
struct Dim3 {
  uint32_t x, y, z;
  constexpr Dim3(uint32_t x_ = 1, uint32_t y_ = 1, uint32_t z_ = 1) : x(x_), y(y_), z(z_) {}
};

/// How to launch a kernel.
///
/// It points into itself, so it cannot be copied; setters return it, so they can be chained:
/// `LaunchConfig(blocks, 256).SetStream(stream).SetCluster({2, 2}).SetCooperative()`. Setting an
/// attribute again replaces its value. The driver decides which settings can be combined: a launch
/// that it rejects is a LaunchError.
class __attribute__((visibility("default"))) LaunchConfig {
 public:
  /// Maximum number of attributes per launch: more than CUDA has kinds of.
  static constexpr unsigned kMaxAttributes = 24;

  /// \param grid Blocks in each dimension, even with clusters. (For a kernel with `__block_size__`
  /// and a cluster in it, the driver counts clusters, and gets this value unchanged.)
  /// \param block Threads in each dimension.
  LaunchConfig(Dim3 grid, Dim3 block) {
    config_.attrs = attributes_;
    SetGrid(grid);
    SetBlock(block);
  }
  LaunchConfig(const LaunchConfig&) = delete;
  LaunchConfig& operator=(const LaunchConfig&) = delete;

  LaunchConfig& SetGrid(Dim3 grid) {
    config_.gridDimX = grid.x, config_.gridDimY = grid.y, config_.gridDimZ = grid.z;
    return *this;
  }
  LaunchConfig& SetBlock(Dim3 block) {
    config_.blockDimX = block.x, config_.blockDimY = block.y, config_.blockDimZ = block.z;
    return *this;
  }

  /// Dynamic shared memory in bytes, by default 0; more than 48 KB is opted in to.
  LaunchConfig& SetDynamicSmemBytes(uint32_t bytes) {
    config_.sharedMemBytes = bytes;
    return *this;
  }

  /// The stream, by default the default stream; cudaStream_t is the same type.
  LaunchConfig& SetStream(CUstream stream) {
    config_.hStream = stream;
    return *this;
  }

  /// The device. -1, the default: the stream's; for a default stream the current one, 0 in a thread
  /// that has none. A launch leaves the thread's current device unchanged.
  LaunchConfig& SetDevice(int device) {
    device_ = device;
    return *this;
  }

  /// Blocks per cluster; more than 8 in total are opted in to. {1, 1, 1} is a cluster, too.
  LaunchConfig& SetCluster(Dim3 cluster) {
    return Put(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, cluster);
  }

  /// Whether blocks of clusters are spread over multiprocessors or load-balanced among them.
  LaunchConfig& SetClusterSchedulingPolicy(CUclusterSchedulingPolicy policy) {
    return Put(CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE, int{policy});
  }

  /// Lets the kernel start while the previous one on the stream still runs; it waits for that one's
  /// results itself (cudaGridDependencySynchronize). False adds nothing.
  LaunchConfig& SetProgrammaticDependentLaunch(bool allowed = true) {
    return allowed ? Put(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, 1) : *this;
  }

  /// Makes all blocks resident at once, so that the grid can synchronize; false adds nothing.
  LaunchConfig& SetCooperative(bool cooperative = true) {
    return cooperative ? Put(CU_LAUNCH_ATTRIBUTE_COOPERATIVE, 1) : *this;
  }

  /// Any attribute: a priority, an event, a preferred cluster, ...
  LaunchConfig& SetAttribute(const CUlaunchAttribute& attribute) {
    return Put(attribute.id, attribute.value);
  }

  /// The configuration for the driver; valid as long as this object.
  const CUlaunchConfig& Get() const { return config_; }

  /// The device that SetDevice has set.
  int GetDevice() const { return device_; }

 private:
  /// Stores a member of the attribute's union, which starts at its first byte, then zeros.
  template <typename Value>
  LaunchConfig& Put(CUlaunchAttributeID id, const Value& value) {
    unsigned i = 0;
    while (i < config_.numAttrs && attributes_[i].id != id) ++i;
    if (i == kMaxAttributes) Throw("ValueError", "LaunchConfig: more than %u attributes", i);
    if (i == config_.numAttrs) ++config_.numAttrs;
    CUlaunchAttribute made{};
    made.id = id;
    memcpy(&made.value, &value, sizeof(value));  // may be one of this object's
    attributes_[i] = made;
    return *this;
  }

  CUlaunchConfig config_{};
  int device_ = -1;
  // Zeroed one by one when set: most launches have none, and all of them take 1.7 KB.
  CUlaunchAttribute attributes_[kMaxAttributes];
};

TVMFFI_CUBIN_END
