/*!
 * \file tvmffi_cubin/mixed/device_variable.h
 * \brief Device variables that host code names: a shadow in host memory stands for each.
 */
#ifndef TVMFFI_CUBIN_MIXED_DEVICE_VARIABLE_H_
#define TVMFFI_CUBIN_MIXED_DEVICE_VARIABLE_H_

#include <memory>

#include "../runtime/variable_address.h"
#include "kernel_lookup.h"

#ifndef TVMFFI_CUBIN_COLD_COMPILED
#include "../runtime/symbol.h"
#endif

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief Finds a variable in the mixed source's image, in the current context. */
CUresult FindMixedVariable(const VariableAddress& variable, CUdeviceptr* address, size_t* bytes);

#ifndef TVMFFI_CUBIN_COLD_COMPILED

TVMFFI_CUBIN_COLD CUresult FindMixedVariable(const VariableAddress& variable, CUdeviceptr* address,
                                             size_t* bytes) {
  try {
    const MixedTable& table = *variable.table;
    const CUlibrary library = MixedModule(table).GetHandle();
    const char* symbol = FindMixedSymbol(table.variables, table.num_variables, variable.expression);
    if (symbol == nullptr) return static_cast<CUresult>(cudaErrorInvalidSymbol);
    CaptureScope relaxed;  // at the first use in a context the image is loaded there
    return entry::cuLibraryGetGlobal(address, bytes, library, symbol);
  } catch (const std::exception&) {
    return !OpenDriver() ? CUDA_ERROR_NO_DEVICE : CUDA_ERROR_INVALID_IMAGE;
  }
}

#endif  // TVMFFI_CUBIN_COLD_COMPILED

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#define TVMFFI_CUBIN_JOIN_(a, b) a##b
#define TVMFFI_CUBIN_JOIN(a, b) TVMFFI_CUBIN_JOIN_(a, b)

/*! \brief Has calls that take a symbol know a variable; at namespace scope, behind it. */
#define TVMFFI_CUBIN_DEVICE_VARIABLE(expression)                                       \
  TVMFFI_CUBIN_ENTERED_FIRST static ::tvmffi_cubin::VariableAddress TVMFFI_CUBIN_JOIN( \
      tvmffi_cubin_variable_, __COUNTER__)(std::addressof(expression), #expression,    \
                                           ::tvmffi_cubin::UnitTable(),                \
                                           &::tvmffi_cubin::FindMixedVariable);

#endif  // TVMFFI_CUBIN_MIXED_DEVICE_VARIABLE_H_
