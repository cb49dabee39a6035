/*!
 * \file tvmffi_cubin/mixed/kernel_lookup.h
 * \brief Kernels and device variables of a mixed source, found in its image at their first use.
 */
#ifndef TVMFFI_CUBIN_MIXED_KERNEL_LOOKUP_H_
#define TVMFFI_CUBIN_MIXED_KERNEL_LOOKUP_H_

#include <stdint.h>

#include "../core/namespace.h"
#include "../runtime/kernel_address.h"
#include "table.h"

#ifndef TVMFFI_CUBIN_COLD_COMPILED
#include <algorithm>
#include <memory>

#include "../kernel.h"
#endif

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

#ifndef TVMFFI_CUBIN_COLD_COMPILED

/*! \brief The module of a unit's image, never destroyed; of several threads all get the same. */
CubinModule& MixedModule(const MixedTable& table);

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

TVMFFI_CUBIN_COLD CubinModule& MixedModule(const MixedTable& table) {
  CubinModule* module = __atomic_load_n(table.module, __ATOMIC_ACQUIRE);
  if (module != nullptr) return *module;
  auto made = std::make_unique<CubinModule>(table.image[0], table.image);
  const bool is_first = __atomic_compare_exchange_n(table.module, &module, made.get(), false,
                                                    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
  return is_first ? *made.release() : *module;
}

TVMFFI_CUBIN_COLD const char* FindMixedSymbol(const MixedRow* rows, uint64_t num_rows,
                                              const char* name) {
  for (uint64_t i = 0; i < num_rows; ++i) {
    if (strcmp(rows[i].name, name) == 0) return rows[i].symbol;
  }
  return nullptr;
}

/*! \brief Throws a LaunchError where the two compilers see other parameters. */
TVMFFI_CUBIN_COLD void CheckSameParameters(const KernelSlot* slot, CubinKernel* kernel) {
  DeviceScope scope;
  EnterLaunch(nullptr, -1, &scope);
  const std::vector<size_t>* device = kernel->state_->parameters.Find(kernel->GetHandle());
  if (device == nullptr) return;  // the driver does not tell, or not now
  // What is bound is the device's alone. The launch itself refuses a kernel that has too few.
  const size_t bound = NumBoundParams();
  const size_t count = device->size() - std::min(device->size(), bound);
  for (size_t i = 0; i < count && i < slot->num_params; ++i) {
    if ((*device)[i] == slot->sizes[i]) continue;
    TVM_FFI_THROW(LaunchError) << "parameter " << i + 1 << " has " << slot->sizes[i]
                               << " bytes in host code and " << (*device)[i]
                               << " in device code: its type must be the same in both (is it "
                                  "declared by __CUDA_ARCH__, or with a long double?)";
  }
  if (count == slot->num_params) return;
  TVM_FFI_THROW(LaunchError) << "the kernel has " << slot->num_params
                             << " parameters in host code and " << count << " in device code";
}

TVMFFI_CUBIN_COLD CubinKernel* FindMixedKernel(KernelSlot* slot) {
  const MixedTable& table = *slot->table();
  CubinModule& module = MixedModule(table);
  const char* name = slot->name();
  const char* symbol = FindMixedSymbol(table.kernels, table.num_kernels, name);
  if (symbol == nullptr) {
    TVM_FFI_THROW(LaunchError) << "the image was built without it ('" << name << "')";
  }
  auto made = std::make_unique<CubinKernel>(module.GetKernel(symbol));
  CheckSameParameters(slot, made.get());
  CubinKernel* first = nullptr;
  const bool is_first = __atomic_compare_exchange_n(&slot->kernel, &first, made.get(), false,
                                                    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
  return is_first ? made.release() : first;
}

#endif  // TVMFFI_CUBIN_COLD_COMPILED

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_MIXED_KERNEL_LOOKUP_H_
