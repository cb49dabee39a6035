// What the public types promise at compile time; there is nothing to run.
#ifdef TVM_FFI_CUBIN_LAUNCHER_USE_DRIVER_API
#define DIALECT_NAMED
#endif
#include <tvm/ffi/extra/cuda/cubin_launcher.h>
#include <tvm/ffi/extra/cuda/device_guard.h>
#include <tvmffi_cubin/tvmffi_cubin.h>

#include <cstddef>
#include <type_traits>
#include <utility>

namespace {

template <typename T>
constexpr bool kMovesOnly =
    std::is_nothrow_move_constructible_v<T> && std::is_nothrow_move_assignable_v<T> &&
    !std::is_copy_constructible_v<T> && !std::is_copy_assignable_v<T>;

static_assert(kMovesOnly<tvmffi_cubin::CubinKernel>);
static_assert(kMovesOnly<tvm::ffi::CubinKernel>);
static_assert(kMovesOnly<tvm::ffi::CubinModule>);

// A LaunchConfig points into itself, so it stays where it is made.
using tvmffi_cubin::LaunchConfig;
static_assert(!std::is_copy_constructible_v<LaunchConfig>);
static_assert(!std::is_move_constructible_v<LaunchConfig>);

// Every way to launch, each with one meaning.
template <typename Kernel, typename... Args>
using LaunchOf = decltype(std::declval<Kernel&>().Launch(std::declval<Args>()...));
template <typename Result, typename... Args>
constexpr bool kLaunches = std::is_same_v<LaunchOf<tvmffi_cubin::CubinKernel, Args...>, Result>;
using tvmffi_cubin::Dim3;
using tvmffi_cubin::Status;
using Pointers = void**;
static_assert(kLaunches<Status, Pointers, const LaunchConfig&>);
static_assert(kLaunches<Status, Pointers, int, int, cudaStream_t>);
static_assert(kLaunches<Status, Pointers, Dim3, Dim3, std::nullptr_t, int>);
static_assert(kLaunches<Status, std::nullptr_t, Dim3, Dim3, CUstream, uint32_t,
                        const CUlaunchAttribute*, unsigned>);
// Attributes without their number would be dropped in silence.
template <typename Nothing, typename... Args>
constexpr bool kRefuses = true;
template <typename Kernel, typename... Args>
constexpr bool kRefuses<std::void_t<LaunchOf<Kernel, Args...>>, Kernel, Args...> = false;
template <typename Kernel, typename Dim>
constexpr bool kRefusesNoNumber =
    kRefuses<void, Kernel, Pointers, Dim, Dim, CUstream, uint32_t, CUlaunchAttribute*> &&
    !kRefuses<void, Kernel, Pointers, Dim, Dim, CUstream, uint32_t>;
static_assert(kRefusesNoNumber<tvmffi_cubin::CubinKernel, Dim3>);
static_assert(kRefusesNoNumber<tvm::ffi::CubinKernel, tvm::ffi::dim3>);
// A TensorMap is a kernel's argument as it is.
using tvmffi_cubin::TensorMap;
static_assert(sizeof(TensorMap) == 128 && alignof(TensorMap) == alignof(CUtensorMap));
static_assert(std::is_trivially_copyable_v<TensorMap>);
// CUDA's handles are the same types in both of its APIs.
namespace api = tvm::ffi::cuda_api;
static_assert(std::is_same_v<api::StreamHandle, cudaStream_t>);
static_assert(std::is_same_v<api::StreamHandle, CUstream>);

using Launched = decltype(std::declval<tvm::ffi::CubinKernel&>().Launch(
    nullptr, tvm::ffi::dim3(1), tvm::ffi::dim3(1), nullptr));
static_assert(std::is_same_v<Launched, api::ResultType>);

// Wrappers ask with #if which structs there are, whether or not they have named a dialect.
#ifndef TVM_FFI_CUBIN_LAUNCHER_USE_DRIVER_API
#error "the header says which dialect's structs it uses"
#endif
#if TVM_FFI_CUBIN_LAUNCHER_USE_DRIVER_API
static_assert(std::is_same_v<api::LaunchConfig, CUlaunchConfig>);
#else
static_assert(std::is_same_v<api::LaunchConfig, cudaLaunchConfig_t>);
#endif

#ifndef DIALECT_NAMED
// With no dialect named, a result is both at once.
static_assert(std::is_convertible_v<Launched, CUresult>);
static_assert(std::is_convertible_v<Launched, cudaError_t>);
constexpr Launched kInvalid = cudaErrorInvalidValue;
static_assert(kInvalid == CUDA_ERROR_INVALID_VALUE && kInvalid == cudaErrorInvalidValue);
static_assert(kInvalid != CUDA_SUCCESS && kInvalid != cudaSuccess && kInvalid != api::kSuccess);
#elif TVM_FFI_CUBIN_LAUNCHER_USE_DRIVER_API
static_assert(std::is_same_v<Launched, CUresult>);
#else
static_assert(std::is_same_v<Launched, cudaError_t>);
#endif

}  // namespace
