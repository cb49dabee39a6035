// The CUDA driver's functions, `entry::cuX`: opened at the first call, nothing to link.
#pragma once

#include <cuda.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "text.h"

TVMFFI_CUBIN_BEGIN

// Most devices that one process can address here.
constexpr int kMaxDevices = 64;

// The outcome of a driver call: its result and, where it failed, the call's name.
struct Status {
  CUresult result = CUDA_SUCCESS;
  const char* call = "";
  bool ok() const { return result == CUDA_SUCCESS; }
};

// Holds a lock that is rarely contended and then for as long as an image takes to load.
class SpinLock {
 public:
  explicit SpinLock(int32_t* lock) : lock_(lock) {
    while (__atomic_exchange_n(lock_, 1, __ATOMIC_ACQUIRE) != 0) usleep(20);
  }
  ~SpinLock() { __atomic_store_n(lock_, 0, __ATOMIC_RELEASE); }

 private:
  int32_t* lock_;
};

// What one shared object knows of the driver; constant-initialised, never destroyed.
struct DriverState {
  int32_t lock = 0;
  bool is_open = false;
  pid_t opener = 0;
  int version = 0;
  void* shared_object = nullptr;
  char problem[512] = "";  // why it could not be opened
};
inline DriverState driver_state;

// Whether the driver has been opened; opens nothing.
inline bool IsDriverOpen() { return __atomic_load_n(&driver_state.is_open, __ATOMIC_ACQUIRE); }

// Whether this process is a fork of the one that opened the driver, which CUDA refuses.
inline bool InForkedChild() { return driver_state.opener != 0 && driver_state.opener != getpid(); }

// What to do about that, for the end of a message.
inline constexpr char kForkRemedy[] =
    ". This process was forked from one that had already used CUDA, which the driver does not "
    "support: start it with the multiprocessing method 'spawn' (or 'forkserver')";

// Looks a function up in the shared object, which may still be about to be initialised.
TVMFFI_CUBIN_COLD void* FindDriverSymbol(const char* name, int version) {
  using GetProcAddress = CUresult (*)(const char*, void**, int, cuuint64_t, void*);
  const auto get =
      reinterpret_cast<GetProcAddress>(dlsym(driver_state.shared_object, "cuGetProcAddress_v2"));
  void* symbol = nullptr;
  if (get == nullptr || get(name, &symbol, version, 0, nullptr) != CUDA_SUCCESS) return nullptr;
  return symbol;
}

// Opens and initialises the driver; false with its problem told.
TVMFFI_CUBIN_COLD bool OpenDriverNow() {
  DriverState* const state = &driver_state;
  const SpinLock hold(&state->lock);
  if (state->is_open) return true;
  state->opener = getpid();
  const char* path = getenv("TVMFFI_CUBIN_DRIVER");
  if (path == nullptr || path[0] == '\0') path = "libcuda.so.1";
  const auto fail = [state](auto... words) {
    snprintf(state->problem, sizeof(state->problem), words...);
    return false;
  };
  state->shared_object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (state->shared_object == nullptr) {
    return fail("no CUDA driver: %s. Install NVIDIA's driver, or run where there is one",
                dlerror());
  }
  const auto get_version = reinterpret_cast<decltype(&::cuDriverGetVersion)>(
      FindDriverSymbol("cuDriverGetVersion", 12000));
  if (get_version == nullptr || get_version(&state->version) != CUDA_SUCCESS ||
      state->version < 12000) {
    return fail("the CUDA driver %s is too old: one of CUDA 12.0 or newer is needed", path);
  }
  const auto init = reinterpret_cast<decltype(&::cuInit)>(FindDriverSymbol("cuInit", 12000));
  const CUresult result = init(0);
  if (result != CUDA_SUCCESS) {
    const char* name = "?";
    reinterpret_cast<decltype(&::cuGetErrorName)>(FindDriverSymbol("cuGetErrorName", 12000))(result,
                                                                                             &name);
    // Only a process that is not the first to call cuInit gets the second of these.
    const char* remedy = result == CUDA_ERROR_NO_DEVICE ? ": no GPU is visible to this process"
                         : result == CUDA_ERROR_NOT_INITIALIZED ? kForkRemedy
                                                                : "";
    return fail("cuInit of the CUDA driver %s failed: %s (%d)%s", path, name, int{result}, remedy);
  }
  __atomic_store_n(&state->is_open, true, __ATOMIC_RELEASE);
  return true;
}

// Opens the driver unless it is open. A failure is not kept: a later call tries again.
inline bool OpenDriver() { return __builtin_expect(IsDriverOpen(), 1) || OpenDriverNow(); }

// A function of the driver, called by its CUDA name; constant-initialised.
template <typename Function>
struct DriverEntry {
  const char* name;  // CUDA's base name, without a version suffix
  int version;       // of CUDA, whose form of the function is wanted
  Function function = nullptr;

  // The function; null where there is no driver or it has no such function.
  __attribute__((noinline, cold)) Function Find() {
    const auto found =
        reinterpret_cast<Function>(OpenDriver() ? FindDriverSymbol(name, version) : nullptr);
    __atomic_store_n(&function, found, __ATOMIC_RELEASE);
    return found;
  }

  template <typename... Arguments>
  CUresult operator()(Arguments... arguments) {
    Function found = __atomic_load_n(&function, __ATOMIC_ACQUIRE);
    if (__builtin_expect(found == nullptr, 0)) found = Find();
    if (__builtin_expect(found != nullptr, 1)) return found(arguments...);
    return IsDriverOpen() ? CUDA_ERROR_NOT_FOUND : CUDA_ERROR_NO_DEVICE;
  }
};

// Defines `entry::name`; cuda.h's own renaming (cuMemAlloc_v2) applies at both ends.
#define TVMFFI_CUBIN_DRIVER_ENTRY(name, version)                          \
  namespace entry {                                                       \
  inline DriverEntry<decltype(&::name)> name = {#name, version, nullptr}; \
  }

TVMFFI_CUBIN_DRIVER_ENTRY(cuGetErrorName, 12000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuGetErrorString, 12000)

// "cuX failed: CUDA_ERROR_Y (n): text", or why there is no driver.
TVMFFI_CUBIN_COLD Text DescribeStatus(const Status& status) {
  Text text;
  if (!IsDriverOpen()) {
    text.Add("%s", driver_state.problem);
    return text;
  }
  const char *name = nullptr, *meaning = nullptr;
  entry::cuGetErrorName(status.result, &name);
  entry::cuGetErrorString(status.result, &meaning);
  text.Add("%s failed: %s (%d): %s%s", status.call, name ? name : "unknown error",
           int{status.result}, meaning ? meaning : "", InForkedChild() ? kForkRemedy : "");
  return text;
}

TVMFFI_CUBIN_END
