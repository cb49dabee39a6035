/*!
 * \file tvmffi_cubin/launcher/options.h
 * \brief What a caller sets for one call, read from in front of its arguments.
 */
#ifndef TVMFFI_CUBIN_LAUNCHER_OPTIONS_H_
#define TVMFFI_CUBIN_LAUNCHER_OPTIONS_H_

#include "../core/driver.h"
#include "error.h"
#include "plan.h"
#include "problem.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief What a caller sets for one call, in place of what the function says. */
struct CallOptions {
  bool has_stream = false;
  bool has_grid = false;
  bool has_block = false;
  bool has_smem = false;
  CUstream stream = nullptr;
  int64_t grid[3] = {1, 1, 1};
  int64_t block[3] = {1, 1, 1};
  int64_t dynamic_smem_bytes = 0;
  const char* attributes = nullptr;  // an array of LaunchAttribute, not aligned
  int32_t num_attributes = 0;
};
/*! \brief Those of a plain call; not made anew for each. */
inline constexpr CallOptions kNoOptions;
constexpr int kNumOptions = 9;  // stream, grid x y z, block x y z, dynamic_smem_bytes, attributes
constexpr int kMaxGivenAttributes = 64;

/*! \brief One option: None leaves it as it is. */
inline int ReadOption(const char* function, const char* what, const TVMFFIAny& any, int64_t* out,
                      bool* present) {
  *present = any.type_index != kTVMFFINone;
  if (!*present) return 0;
  if (any.type_index != kTVMFFIInt) {
    return Fail("TypeError", "%s: %s: got %s, wanted an int", function, what,
                DescribeArgument(any).chars);
  }
  *out = any.v_int64;
  return 0;
}

/*! \brief The attributes among the options. */
inline int ReadAttributes(const char* function, const TVMFFIAny& any, CallOptions* options) {
  if (any.type_index == kTVMFFINone) return 0;
  TVMFFIByteArray content;
  constexpr size_t kSize = sizeof(LaunchAttribute);
  if (!AsBytes(any, &content)) {
    return Fail("TypeError", "%s: attributes: got %s, wanted bytes", function,
                DescribeArgument(any).chars);
  }
  if (content.size % kSize != 0 || content.size > kSize * kMaxGivenAttributes) {
    return Fail("ValueError", "%s: attributes: got %zu bytes, wanted a multiple of %zu up to %zu",
                function, content.size, kSize, kSize * kMaxGivenAttributes);
  }
  options->attributes = content.data;
  options->num_attributes = static_cast<int32_t>(content.size / kSize);
  return 0;
}

/*! \brief The options in front of the arguments of a call. */
__attribute__((always_inline)) inline int ReadOptions(const char* function, const TVMFFIAny* args,
                                                      int num_args, CallOptions* options) {
  if (num_args < kNumOptions) {
    return Fail("TypeError", "%s: got %d options, wanted %d", function, num_args, kNumOptions);
  }
  if (args[0].type_index == kTVMFFIOpaquePtr) {
    options->has_stream = true;
    options->stream = static_cast<CUstream>(args[0].v_ptr);
  } else {
    int64_t stream = 0;
    if (ReadOption(function, "stream", args[0], &stream, &options->has_stream) != 0) return -1;
    options->stream = reinterpret_cast<CUstream>(stream);
  }
  for (int i = 0; i < 3; ++i) {
    bool has_grid = false, has_block = false;
    if (ReadOption(function, "grid", args[1 + i], &options->grid[i], &has_grid) != 0 ||
        ReadOption(function, "block", args[4 + i], &options->block[i], &has_block) != 0) {
      return -1;
    }
    options->has_grid |= has_grid;
    options->has_block |= has_block;
  }
  if (ReadOption(function, "dynamic_smem_bytes", args[7], &options->dynamic_smem_bytes,
                 &options->has_smem) != 0) {
    return -1;
  }
  return ReadAttributes(function, args[8], options);
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_LAUNCHER_OPTIONS_H_
