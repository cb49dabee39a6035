/*!
 * \file tvmffi_cubin/mixed/source_lines.h
 * \brief Where lines of the host text are now: its object may be older than what moved them.
 *
 * A change of a kernel moves the host code below it, and does not compile it again. So what says
 * its line when it runs asks here: launches, and tvm-ffi's errors (see qualifiers.h).
 */
#ifndef TVMFFI_CUBIN_MIXED_SOURCE_LINES_H_
#define TVMFFI_CUBIN_MIXED_SOURCE_LINES_H_

#include <string.h>

#include "../core/namespace.h"
#include "table.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief The line in the user's file now of what a unit was compiled with as another. */
int CurrentLine(const MixedTable& table, const char* file, int line);

#ifndef TVMFFI_CUBIN_COLD_COMPILED

TVMFFI_CUBIN_COLD int CurrentLine(const MixedTable& table, const char* file, int line) {
  int shift = 0;
  for (uint64_t i = 0; i < table.num_lines; ++i) {
    const MixedLines& row = table.lines[i];
    if (row.first <= line && strcmp(row.file, file) == 0) shift = row.shift;
  }
  return line + shift;
}

#endif  // TVMFFI_CUBIN_COLD_COMPILED

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_MIXED_SOURCE_LINES_H_
