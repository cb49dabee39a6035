/*!
 * \file tvmffi_cubin/core/driver.h
 * \brief The CUDA driver behind one seam: dlopen and cuGetProcAddress at first use, nothing to
 * link.
 */
#ifndef TVMFFI_CUBIN_CORE_DRIVER_H_
#define TVMFFI_CUBIN_CORE_DRIVER_H_

#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "state.h"

/*! \brief The entry points that every driver from 12.0 on has; one is called by its CUDA name. */
#define TVMFFI_CUBIN_DRIVER_ENTRIES(V) \
  V(cuInit)                            \
  V(cuDriverGetVersion)                \
  V(cuGetErrorName)                    \
  V(cuGetErrorString)                  \
  V(cuDeviceGet)                       \
  V(cuDeviceGetCount)                  \
  V(cuDeviceGetName)                   \
  V(cuDeviceGetAttribute)              \
  V(cuDevicePrimaryCtxRetain)          \
  V(cuDevicePrimaryCtxRelease)         \
  V(cuCtxGetDevice)                    \
  V(cuCtxGetCurrent)                   \
  V(cuCtxPushCurrent)                  \
  V(cuCtxPopCurrent)                   \
  V(cuStreamGetCtx)                    \
  V(cuLibraryLoadData)                 \
  V(cuLibraryUnload)                   \
  V(cuLibraryGetKernel)                \
  V(cuKernelGetAttribute)              \
  V(cuKernelSetAttribute)              \
  V(cuPointerGetAttribute)             \
  V(cuLaunchKernelEx)

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief The table of entry points, filled once a process by OpenDriver. */
struct Driver {
#define TVMFFI_CUBIN_DECLARE_ENTRY(name) decltype(&::name) name;
  TVMFFI_CUBIN_DRIVER_ENTRIES(TVMFFI_CUBIN_DECLARE_ENTRY)
#undef TVMFFI_CUBIN_DECLARE_ENTRY
};

/*! \brief The outcome of a driver call: its result and, where it failed, the call's name. */
struct Status {
  CUresult result = CUDA_SUCCESS;
  const char* call = "";
  // Of a launch that was refused for going over a limit: the number of its LaunchProblem, else 0.
  uint64_t limit = 0;
  bool ok() const { return result == CUDA_SUCCESS; }
};

/*! \brief What one shared object knows of the driver; constant-initialised, never destroyed. */
struct DriverState {
  int32_t lock = 0;
  pid_t opener = 0;
  int version = 0;
  const Driver* ready = nullptr;
  void* shared_object = nullptr;
  Driver table{};
  char problem[512] = "";
};
inline DriverState driver_state;

/*! \brief What to do where a process inherited the driver's state; the driver refuses all calls. */
constexpr const char kForkRemedy[] =
    ". This process was forked from one that had already used CUDA, which the driver does not "
    "support: start it with the multiprocessing method 'spawn' (or 'forkserver')";

/*! \brief Whether this process is a fork of the one that opened the driver; asked after failures.
 */
inline bool InForkedChild() { return driver_state.opener != 0 && driver_state.opener != getpid(); }

/*! \brief Looks a symbol up by its CUDA base name; null where this driver has none. */
void* FindDriverSymbol(const char* name, int version = 12000);

/*! \brief Opens and initialises the driver; null, and why in `problem`, where that fails. */
const Driver* OpenDriverNow();

/*!
 * \brief The driver, opened at first use; null where there is none (see DriverProblem). A failure
 * is not remembered: a later call tries again.
 */
inline const Driver* OpenDriver() {
  const Driver* ready = __atomic_load_n(&driver_state.ready, __ATOMIC_ACQUIRE);
  return __builtin_expect(ready != nullptr, 1) ? ready : OpenDriverNow();
}

/*! \brief Why OpenDriver returned null. */
inline const char* DriverProblem() { return driver_state.problem; }

/*! \brief Writes "cuX failed: CUDA_ERROR_Y (n): text", in a forked child the remedy, too. */
void DescribeStatus(const Status& status, char* text, size_t size);

/*! \brief One entry point, called like the function; constant-initialised. */
template <typename Function>
struct DriverEntry {
  const char* name;  // CUDA's base name, without a version suffix
  int version;       // of CUDA, whose form of the function is wanted
  Function function = nullptr;

  /*! \brief The function; null where there is no driver or it has no such function. */
  Function Find() {
    Function found = __atomic_load_n(&function, __ATOMIC_ACQUIRE);
    if (__builtin_expect(found != nullptr, 1)) return found;
    if (OpenDriver() == nullptr) return nullptr;
    found = reinterpret_cast<Function>(FindDriverSymbol(name, version));
    __atomic_store_n(&function, found, __ATOMIC_RELEASE);
    return found;
  }

  template <typename... Arguments>
  CUresult operator()(Arguments... arguments) {
    const Function found = Find();
    if (__builtin_expect(found != nullptr, 1)) return found(arguments...);
    return OpenDriver() == nullptr ? CUDA_ERROR_NO_DEVICE : CUDA_ERROR_NOT_FOUND;
  }
};

/*! \brief Defines `entry::name`; cuda.h's own renaming (cuMemAlloc_v2) applies at both ends. */
#define TVMFFI_CUBIN_DRIVER_ENTRY(name, version)                          \
  namespace entry {                                                       \
  inline DriverEntry<decltype(&::name)> name = {#name, version, nullptr}; \
  }

#ifndef TVMFFI_CUBIN_COLD_COMPILED

TVMFFI_CUBIN_COLD void* FindDriverSymbol(const char* name, int version) {
  using GetProcAddress = CUresult (*)(const char*, void**, int, cuuint64_t, void*);
  const auto get =
      reinterpret_cast<GetProcAddress>(dlsym(driver_state.shared_object, "cuGetProcAddress_v2"));
  void* symbol = nullptr;
  if (get == nullptr || get(name, &symbol, version, 0, nullptr) != CUDA_SUCCESS) return nullptr;
  return symbol;
}

TVMFFI_CUBIN_COLD const Driver* OpenDriverNow() {
  DriverState* const state = &driver_state;
  const SpinLock hold(&state->lock);
  if (state->ready != nullptr) return state->ready;
  state->opener = getpid();
  const char* path = getenv("TVMFFI_CUBIN_DRIVER");
  if (path == nullptr || path[0] == '\0') path = "libcuda.so.1";
  const auto fail = [state](auto... words) -> const Driver* {
    snprintf(state->problem, sizeof(state->problem), words...);
    return nullptr;
  };
  state->shared_object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (state->shared_object == nullptr) {
    return fail("no CUDA driver: %s. Install NVIDIA's driver, or run where there is one",
                dlerror());
  }
#define TVMFFI_CUBIN_FIND_ENTRY(name)                                                            \
  state->table.name = reinterpret_cast<decltype(&::name)>(FindDriverSymbol(#name));              \
  if (state->table.name == nullptr) {                                                            \
    return fail("the CUDA driver %s has no " #name ": a driver of CUDA 12.0 or newer is needed", \
                path);                                                                           \
  }
  TVMFFI_CUBIN_DRIVER_ENTRIES(TVMFFI_CUBIN_FIND_ENTRY)
#undef TVMFFI_CUBIN_FIND_ENTRY
  const CUresult result = state->table.cuInit(0);
  if (result != CUDA_SUCCESS) {
    const char* name = "?";
    state->table.cuGetErrorName(result, &name);
    // Only a process that is not the first to call cuInit gets the second of these.
    return fail("cuInit of the CUDA driver %s failed: %s (%d)%s", path, name, int{result},
                result == CUDA_ERROR_NO_DEVICE         ? ": no GPU is visible to this process"
                : result == CUDA_ERROR_NOT_INITIALIZED ? kForkRemedy
                                                       : "");
  }
  state->table.cuDriverGetVersion(&state->version);
  __atomic_store_n(&state->ready, &state->table, __ATOMIC_RELEASE);
  return state->ready;
}

TVMFFI_CUBIN_COLD void DescribeStatus(const Status& status, char* text, size_t size) {
  const Driver* driver = __atomic_load_n(&driver_state.ready, __ATOMIC_ACQUIRE);
  if (driver == nullptr) {
    snprintf(text, size, "%s", DriverProblem());
    return;
  }
  const char *name = nullptr, *meaning = nullptr;
  driver->cuGetErrorName(status.result, &name);
  driver->cuGetErrorString(status.result, &meaning);
  snprintf(text, size, "%s failed: %s (%d): %s%s", status.call, name ? name : "unknown error",
           int{status.result}, meaning ? meaning : "", InForkedChild() ? kForkRemedy : "");
}

#endif  // TVMFFI_CUBIN_COLD_COMPILED

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_CORE_DRIVER_H_
