/*!
 * \file tvmffi_cubin/launcher/options.h
 * \brief What a caller sets for one call, read from in front of its arguments.
 */
#ifndef TVMFFI_CUBIN_LAUNCHER_OPTIONS_H_
#define TVMFFI_CUBIN_LAUNCHER_OPTIONS_H_

#include "error.h"
#include "plan.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief What a caller sets for one call, in place of what the function says. */
struct CallOptions {
  bool has_stream = false;
  bool has_shape = false;
  bool has_smem = false;
  CUstream stream = nullptr;
  int64_t grid[3] = {1, 1, 1};
  int64_t block[3] = {1, 1, 1};
  int64_t dynamic_smem_bytes = 0;
};
constexpr int kNumOptions = 8;  // stream, grid x y z, block x y z, dynamic_smem_bytes

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
    options->has_shape |= has_grid || has_block;
  }
  return ReadOption(function, "dynamic_smem_bytes", args[7], &options->dynamic_smem_bytes,
                    &options->has_smem);
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_LAUNCHER_OPTIONS_H_
