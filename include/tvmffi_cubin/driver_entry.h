/*!
 * \file tvmffi_cubin/driver_entry.h
 * \brief Driver entry points beyond the table of driver.h: each is looked up when first called.
 */
#ifndef TVMFFI_CUBIN_DRIVER_ENTRY_H_
#define TVMFFI_CUBIN_DRIVER_ENTRY_H_

#include "driver.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

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
    found = reinterpret_cast<Function>(FindDriverSymbol(driver_state.shared_object, name, version));
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

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_DRIVER_ENTRY_H_
