// A text that grows up to a fixed size; the rest is cut off.
#pragma once

#include <stdarg.h>
#include <stdio.h>

#include "namespace.h"

TVMFFI_CUBIN_BEGIN

struct Text {
  char chars[4096];
  size_t used = 0;

  Text() { chars[0] = '\0'; }

  __attribute__((format(printf, 2, 0))) TVMFFI_CUBIN_COLD void AddList(const char* format,
                                                                       va_list values) {
    const int length = vsnprintf(chars + used, sizeof(chars) - used, format, values);
    if (length > 0) used += static_cast<size_t>(length);
    if (used >= sizeof(chars)) used = sizeof(chars) - 1;
  }

  // Returns true, with which those end that say whether they have found something.
  __attribute__((format(printf, 2, 3))) TVMFFI_CUBIN_COLD bool Add(const char* format, ...) {
    va_list values;
    va_start(values, format);
    AddList(format, values);
    va_end(values);
    return true;
  }
};

TVMFFI_CUBIN_END
