/*!
 * \file tvmffi_cubin/mixed/table.h
 * \brief What a build knows of a mixed source's kernels and device variables: symbols by name.
 */
#ifndef TVMFFI_CUBIN_MIXED_TABLE_H_
#define TVMFFI_CUBIN_MIXED_TABLE_H_

#include <stdint.h>

#include "../core/namespace.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief A name of the host's text and what it is in the image. */
struct MixedRow {
  const char* name;  // of a kernel the name of its KernelStub's type, of a variable the expression
  const char* symbol;  // in the image
};

/*! \brief From which line on a file of the host's text stands elsewhere than it was compiled. */
struct MixedLines {
  const char* file;
  int32_t first;
  int32_t shift;
};

class CubinModule;

/*! \brief Of one unit of mixed sources. Written by the build as an assembly unit. */
struct MixedTable {
  const MixedRow* kernels;
  uint64_t num_kernels;
  const MixedRow* variables;
  uint64_t num_variables;
  const void* const* image;  // as EMBED_CUBIN declares it
  const MixedLines* lines;   // of each file in order
  uint64_t num_lines;
  CubinModule** module;  // of the image, where one has been made; never destroyed
};

/*!
 * \brief The unit's own table: defined by TVMFFI_CUBIN_MIXED_UNIT, once the unit has a name. What
 * is the same in several units, and linked once, has that of one whose image has it.
 */
static const MixedTable* UnitTable();

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

/*! \brief Begins the text of a unit; no other in the library has its tag. */
#define TVMFFI_CUBIN_MIXED_UNIT(tag)                               \
  extern "C" __attribute__((visibility("hidden")))                 \
  const ::tvmffi_cubin::MixedTable tvmffi_cubin_mixed_table_##tag; \
  namespace tvmffi_cubin {                                         \
  TVMFFI_CUBIN_BEGIN_NAMESPACE                                     \
  __attribute__((unused)) static const MixedTable* UnitTable() {   \
    return &tvmffi_cubin_mixed_table_##tag;                        \
  }                                                                \
  TVMFFI_CUBIN_END_NAMESPACE                                       \
  }

#endif  // TVMFFI_CUBIN_MIXED_TABLE_H_
