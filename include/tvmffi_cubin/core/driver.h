// The CUDA driver's functions, `entry::cuX`: loaded on the first call, nothing to link. And gates,
// between those who use something and those who change it.
#pragma once

#include <cuda.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "text.h"

TVMFFI_CUBIN_BEGIN

// Maximum number of devices that one process can address here.
constexpr int kMaxDevices = 64;

// The outcome of a driver call: its result and, if it failed, the call's name.
struct Status {
  CUresult result = CUDA_SUCCESS;
  const char* call = "";
  bool ok() const { return result == CUDA_SUCCESS; }
};

// Lets many threads use something until one closes the gate to change it.
struct Gate {
  int32_t users = 0;
  int32_t closed = 0;  // new users then wait

  // Closes the gate and waits for the last users to leave.
  void Close() {
    while (__atomic_exchange_n(&closed, 1, __ATOMIC_SEQ_CST) != 0) usleep(20);
    while (__atomic_load_n(&users, __ATOMIC_SEQ_CST) != 0) usleep(20);
  }

  void Open() { __atomic_store_n(&closed, 0, __ATOMIC_SEQ_CST); }
};

// Uses what a gate guards, during its lifetime.
struct GateUse {
  Gate* const gate;

  explicit GateUse(Gate* gate_) : gate(gate_) {
    // Both sides announce themselves first and check the other second: one of them always sees.
    __atomic_fetch_add(&gate->users, 1, __ATOMIC_SEQ_CST);
    while (__builtin_expect(__atomic_load_n(&gate->closed, __ATOMIC_SEQ_CST) != 0, 0)) {
      __atomic_fetch_sub(&gate->users, 1, __ATOMIC_SEQ_CST);
      usleep(20);
      __atomic_fetch_add(&gate->users, 1, __ATOMIC_SEQ_CST);
    }
  }
  ~GateUse() { __atomic_fetch_sub(&gate->users, 1, __ATOMIC_SEQ_CST); }
};

// Keeps all others out, during its lifetime.
struct GateClosed {
  Gate* const gate;

  explicit GateClosed(Gate* gate_) : gate(gate_) { gate->Close(); }
  ~GateClosed() { gate->Open(); }
};

// The driver state of one shared object; constant-initialized, never destroyed.
struct DriverState {
  Gate gate;
  bool is_open = false;
  int version = 0;
  void* shared_object = nullptr;
  char problem[512] = "";  // why it could not be opened
};
inline DriverState driver_state;

// Whether the driver has been opened; does not open it.
inline bool IsDriverOpen() { return __atomic_load_n(&driver_state.is_open, __ATOMIC_ACQUIRE); }

// The end of a result's message.
inline const char* RemedyOf(CUresult result) {
  const bool is_forked = result == CUDA_ERROR_NOT_INITIALIZED;
  return is_forked ? ". CUDA does not survive a fork: start processes with the method 'spawn'" : "";
}

// Looks up a function in the shared object, which may not be initialized yet.
TVMFFI_CUBIN_COLD void* FindDriverSymbol(const char* name, int version) {
  using GetProcAddress = CUresult (*)(const char*, void**, int, cuuint64_t, void*);
  const auto get =
      reinterpret_cast<GetProcAddress>(dlsym(driver_state.shared_object, "cuGetProcAddress_v2"));
  void* symbol = nullptr;
  if (get == nullptr || get(name, &symbol, version, 0, nullptr) != CUDA_SUCCESS) return nullptr;
  return symbol;
}

// Opens and initializes the driver; on failure, sets `problem` and returns false.
TVMFFI_CUBIN_COLD bool OpenDriverNow() {
  DriverState* const state = &driver_state;
  const GateClosed alone(&state->gate);
  if (state->is_open) return true;
  const char* path = getenv("TVMFFI_CUBIN_DRIVER");
  if (path == nullptr || path[0] == '\0') path = "libcuda.so.1";
  const auto fail = [state](auto... words) {
    snprintf(state->problem, sizeof(state->problem), words...);
    return false;
  };
  state->shared_object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (state->shared_object == nullptr) {
    return fail("no CUDA driver: %s. Install NVIDIA's driver, or run on a machine with it",
                dlerror());
  }
  const auto get_version = reinterpret_cast<decltype(&::cuDriverGetVersion)>(
      FindDriverSymbol("cuDriverGetVersion", 12000));
  if (get_version == nullptr) {
    return fail("the CUDA driver %s is too old: CUDA 12.0 or newer is required", path);
  }
  get_version(&state->version);
  const auto init = reinterpret_cast<decltype(&::cuInit)>(FindDriverSymbol("cuInit", 12000));
  const CUresult result = init(0);
  if (result != CUDA_SUCCESS) {
    const char* name = "?";
    reinterpret_cast<decltype(&::cuGetErrorName)>(FindDriverSymbol("cuGetErrorName", 12000))(result,
                                                                                             &name);
    return fail("cuInit of the CUDA driver %s failed: %s (%d)%s", path, name, int{result},
                RemedyOf(result));
  }
  __atomic_store_n(&state->is_open, true, __ATOMIC_RELEASE);
  return true;
}

// Opens the driver unless it is open. A failure is not cached: a later call tries again.
inline bool OpenDriver() { return __builtin_expect(IsDriverOpen(), 1) || OpenDriverNow(); }

// A driver function, called by its CUDA name; constant-initialized.
template <typename Function>
struct DriverEntry {
  const char* name;  // CUDA's base name, without a version suffix
  int version;       // the CUDA version whose form of the function is wanted
  Function function = nullptr;

  // The function; null if there is no driver or it has no such function.
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

// Defines `entry::name`; cuda.h's renaming (cuMemAlloc_v2) applies to both definition and use.
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
           int{status.result}, meaning ? meaning : "", RemedyOf(status.result));
  return text;
}

TVMFFI_CUBIN_END
