// Everything a hand-written wrapper needs: embedded images, modules, kernels, launches.
//
//   EMBED_CUBIN(kernels);
//
//   void AddOne(tvm::ffi::TensorView x, tvm::ffi::TensorView y) {
//     static auto kernel = EMBED_CUBIN_GET_KERNEL(kernels, "add_one");
//     const int device = x.device().device_id;
//     tvmffi_cubin::LaunchConfig config((x.size(0) + 255) / 256, 256);
//     config.SetDevice(device);
//     config.SetStream(static_cast<CUstream>(TVMFFIEnvGetStream(kDLCUDA, device)));
//     tvmffi_cubin::CheckDriver(kernel.Launch(config, x.data_ptr(), y.data_ptr(), x.size(0)));
//   }
#pragma once
// The user's warning flags are for the user's own code.
#pragma GCC system_header

#include <tvm/ffi/extra/c_env_api.h>

#include "kernel.h"
#include "tensor_map.h"

/// Declares the image `name`; use at namespace scope.
///
/// A generated assembly unit holds the bytes and a table of addresses: of the first byte, of the
/// byte past the last, of a string with the architectures, and of one with the CUDA version that
/// made it. Code goes through the table because an image of several GiB may be out of reach of a
/// relative reference.
#define EMBED_CUBIN(name)                                                                         \
  extern "C" const unsigned char __tvm_ffi__cubin_##name[] __attribute__((visibility("hidden"))); \
  extern "C" __attribute__((visibility("hidden"))) const void* const __tvmffi_cubin_image_##name[4]

/// The first byte of an image that EMBED_CUBIN declared.
#define EMBEDDED_CUBIN_DATA(name) (__tvmffi_cubin_image_##name[0])

/// The byte past the image's last.
#define EMBEDDED_CUBIN_END(name) (__tvmffi_cubin_image_##name[1])

/// The CubinModule of an image that EMBED_CUBIN declared.
#define EMBED_CUBIN_MODULE(name) (::tvmffi_cubin::EmbeddedModule<__tvmffi_cubin_image_##name>())

/// A CubinKernel of that module; keep it in a function-local `static auto`.
#define EMBED_CUBIN_GET_KERNEL(name, kernel) (EMBED_CUBIN_MODULE(name).GetKernel(kernel))
