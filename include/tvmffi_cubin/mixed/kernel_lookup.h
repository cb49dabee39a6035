/*!
 * \file tvmffi_cubin/mixed/kernel_lookup.h
 * \brief Kernels and device variables of a mixed source, found in its image at their first use.
 */
#ifndef TVMFFI_CUBIN_MIXED_KERNEL_LOOKUP_H_
#define TVMFFI_CUBIN_MIXED_KERNEL_LOOKUP_H_

#include <string>

#include "../module.h"
#include "../runtime/kernel_address.h"
#include "table.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*!
 * \brief The module of the mixed source's image, never destroyed.
 * \throws LaunchError The build has made no table.
 */
CubinModule& MixedModule();

/*! \brief The symbol of a row; null where there is no such row. */
const char* FindMixedSymbol(const MixedRow* rows, uint64_t num_rows, const char* name);

/*!
 * \brief Finds a slot's kernel and keeps it there. Of several threads all get the same.
 * \throws LaunchError As CubinModule::GetKernel, or the table does not have it.
 */
CubinKernel* FindMixedKernel(KernelSlot* slot);

/*! \brief The slot's kernel. */
inline CubinKernel* MixedKernel(KernelSlot* slot) {
  CubinKernel* kernel = __atomic_load_n(&slot->kernel, __ATOMIC_ACQUIRE);
  return __builtin_expect(kernel != nullptr, 1) ? kernel : FindMixedKernel(slot);
}

#ifndef TVMFFI_CUBIN_COLD_COMPILED

TVMFFI_CUBIN_COLD CubinModule& MixedModule() {
  if (&tvmffi_cubin_mixed_table == nullptr) {
    TVM_FFI_THROW(LaunchError) << "the library was linked without the table of its kernels, which "
                                  "builds of mixed sources make";
  }
  const void* const* image = tvmffi_cubin_mixed_table.image;
  static CubinModule* const module = new CubinModule(image[0], image);
  return *module;
}

TVMFFI_CUBIN_COLD const char* FindMixedSymbol(const MixedRow* rows, uint64_t num_rows,
                                              const char* name) {
  for (uint64_t i = 0; i < num_rows; ++i) {
    if (strcmp(rows[i].name, name) == 0) return rows[i].symbol;
  }
  return nullptr;
}

TVMFFI_CUBIN_COLD CubinKernel* FindMixedKernel(KernelSlot* slot) {
  CubinModule& module = MixedModule();
  const MixedTable& table = tvmffi_cubin_mixed_table;
  const char* name = slot->name();
  const char* symbol = FindMixedSymbol(table.kernels, table.num_kernels, name);
  if (symbol == nullptr) {
    TVM_FFI_THROW(LaunchError) << "the image was built without it ('" << name << "')";
  }
  auto* made = new CubinKernel(module.GetKernel(symbol));
  CubinKernel* first = nullptr;
  if (__atomic_compare_exchange_n(&slot->kernel, &first, made, false, __ATOMIC_ACQ_REL,
                                  __ATOMIC_ACQUIRE)) {
    return made;
  }
  delete made;
  return first;
}

#endif  // TVMFFI_CUBIN_COLD_COMPILED

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_MIXED_KERNEL_LOOKUP_H_
