/*!
 * \file tvmffi_cubin/runtime/variable_address.h
 * \brief Device variables that host code names: found by the host variables that stand for them.
 */
#ifndef TVMFFI_CUBIN_RUNTIME_VARIABLE_ADDRESS_H_
#define TVMFFI_CUBIN_RUNTIME_VARIABLE_ADDRESS_H_

#include <cuda.h>
#include <stddef.h>

#include "../core/namespace.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

struct MixedTable;

/*! \brief A host variable that stands for a device's; static, entered as its library is loaded. */
struct VariableAddress {
  using Find = CUresult (*)(const VariableAddress& variable, CUdeviceptr* address, size_t* bytes);

  const void* shadow;
  const char* expression;
  const MixedTable* table;  // of the unit that names it
  Find find;
  VariableAddress* next;

  VariableAddress(const void* shadow_, const char* expression_, const MixedTable* table_,
                  Find find_);
};

/*! \brief All of them; only changed while the library is loaded. */
inline VariableAddress* variable_addresses = nullptr;

#ifndef TVMFFI_CUBIN_COLD_COMPILED

TVMFFI_CUBIN_COLD VariableAddress::VariableAddress(const void* shadow_, const char* expression_,
                                                   const MixedTable* table_, Find find_)
    : shadow(shadow_),
      expression(expression_),
      table(table_),
      find(find_),
      next(variable_addresses) {
  variable_addresses = this;
}

#endif  // TVMFFI_CUBIN_COLD_COMPILED

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_RUNTIME_VARIABLE_ADDRESS_H_
