// The CUDA driver's functions, `entry::cuX`: opened at the first call, nothing to link. And gates,
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

// Most devices that one process can address here.
constexpr int kMaxDevices = 64;

// The outcome of a driver call: its result and, where it failed, the call's name.
struct Status {
  CUresult result = CUDA_SUCCESS;
  const char* call = "";
  bool ok() const { return result == CUDA_SUCCESS; }
};

// Lets many use something until somebody closes it to change that.
struct Gate {
  int32_t users = 0;
  int32_t closed = 0;  // users then wait before they begin

  // Closes the gate, behind which the last users have gone.
  void Close() {
    while (__atomic_exchange_n(&closed, 1, __ATOMIC_SEQ_CST) != 0) usleep(20);
    while (__atomic_load_n(&users, __ATOMIC_SEQ_CST) != 0) usleep(20);
  }

  void Open() { __atomic_store_n(&closed, 0, __ATOMIC_SEQ_CST); }
};

// Uses what a gate guards for as long as it lives.
struct GateUse {
  Gate* const gate;

  explicit GateUse(Gate* gate_) : gate(gate_) {
    // Both sides announce themselves first and look at the other second: one of them always sees.
    __atomic_fetch_add(&gate->users, 1, __ATOMIC_SEQ_CST);
    while (__builtin_expect(__atomic_load_n(&gate->closed, __ATOMIC_SEQ_CST) != 0, 0)) {
      __atomic_fetch_sub(&gate->users, 1, __ATOMIC_SEQ_CST);
      usleep(20);
      __atomic_fetch_add(&gate->users, 1, __ATOMIC_SEQ_CST);
    }
  }
  ~GateUse() { __atomic_fetch_sub(&gate->users, 1, __ATOMIC_SEQ_CST); }
};

// Keeps all others out for as long as it lives.
struct GateClosed {
  Gate* const gate;

  explicit GateClosed(Gate* gate_) : gate(gate_) { gate->Close(); }
  ~GateClosed() { gate->Open(); }
};

// What one shared object knows of the driver; constant-initialised, never destroyed.
struct DriverState {
  Gate gate;
  bool is_open = false;
  int version = 0;
  void* shared_object = nullptr;
  char problem[512] = "";  // why it could not be opened
};
inline DriverState driver_state;

// Whether the driver has been opened; opens nothing.
inline bool IsDriverOpen() { return __atomic_load_n(&driver_state.is_open, __ATOMIC_ACQUIRE); }

// What ends the message of a result.
inline const char* RemedyOf(CUresult result) {
  const bool is_forked = result == CUDA_ERROR_NOT_INITIALIZED;
  return is_forked ? ". CUDA does not outlive a fork: start processes by the method 'spawn'" : "";
}

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
    return fail("no CUDA driver: %s. Install NVIDIA's driver, or run where there is one",
                dlerror());
  }
  const auto get_version = reinterpret_cast<decltype(&::cuDriverGetVersion)>(
      FindDriverSymbol("cuDriverGetVersion", 12000));
  if (get_version == nullptr) {
    return fail("the CUDA driver %s is too old: one of CUDA 12.0 or newer is needed", path);
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
           int{status.result}, meaning ? meaning : "", RemedyOf(status.result));
  return text;
}

TVMFFI_CUBIN_END
