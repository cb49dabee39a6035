/*!
 * \file tvmffi_cubin/tvmffi_cubin.h
 * \brief All that a wrapper of one's own needs: embedded images, modules, kernels, launches.
 *
 * \code{.cpp}
 * EMBED_CUBIN(kernels);
 *
 * void AddOne(tvm::ffi::TensorView x, tvm::ffi::TensorView y) {
 *   static auto kernel = EMBED_CUBIN_GET_KERNEL(kernels, "add_one");
 *   void *in = x.data_ptr(), *out = y.data_ptr();
 *   int64_t n = x.size(0);
 *   void* args[] = {&in, &out, &n};
 *   DLDevice device = x.device();
 *   tvmffi_cubin::LaunchConfig config((n + 255) / 256, 256);
 *   config.SetStream(static_cast<CUstream>(
 *       TVMFFIEnvGetStream(device.device_type, device.device_id)));
 *   tvmffi_cubin::CheckDriver(kernel.Launch(args, config, device.device_id));
 * }
 * \endcode
 */
#ifndef TVMFFI_CUBIN_TVMFFI_CUBIN_H_
#define TVMFFI_CUBIN_TVMFFI_CUBIN_H_
// The user's flags ask for warnings about the user's own text.
#pragma GCC system_header

#include <tvm/ffi/extra/c_env_api.h>

#include "check_driver.h"
#include "embed.h"
#include "kernel.h"
#include "launch_config.h"
#include "module.h"
#include "tensor_map.h"

/*! \brief The CubinModule of an image that EMBED_CUBIN declared. */
#define EMBED_CUBIN_MODULE(name) (::tvmffi_cubin::EmbeddedModule<__tvmffi_cubin_image_##name>())

/*! \brief A CubinKernel of it, best kept in a function-local `static auto`. */
#define EMBED_CUBIN_GET_KERNEL(name, kernel) \
  (::tvmffi_cubin::EmbeddedModule<__tvmffi_cubin_image_##name>().GetKernel(kernel))

#endif  // TVMFFI_CUBIN_TVMFFI_CUBIN_H_
