// The namespace, attributes for rare code, and texts.
#pragma once

#include <stdarg.h>
#include <stdio.h>

// Hidden, because an inline variable is otherwise unique in the process (STB_GNU_UNIQUE), even
// across objects loaded with RTLD_LOCAL and built from different versions of these headers.
#define TVMFFI_CUBIN_BEGIN \
  namespace tvmffi_cubin { \
  inline namespace v0_1 __attribute__((visibility("hidden"))) {
#define TVMFFI_CUBIN_END \
  }                      \
  }

// Code that runs once per process, or after a failure, is optimized for size and never inlined.
#define TVMFFI_CUBIN_SHARED __attribute__((noinline)) inline  // not rare, but long
#define TVMFFI_CUBIN_COLD __attribute__((cold)) TVMFFI_CUBIN_SHARED
// The code that each launch runs is inlined into one function.
#define TVMFFI_CUBIN_HOT __attribute__((always_inline)) inline

// Room for `count` values, until the calling function returns.
#define TVMFFI_CUBIN_ALLOCA(Type, count) \
  static_cast<Type*>(__builtin_alloca(sizeof(Type) * static_cast<size_t>(count)))

TVMFFI_CUBIN_BEGIN

// A text that grows up to a fixed size; the rest is truncated.
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

  // Returns true, for callers that return whether they found something.
  __attribute__((format(printf, 2, 3))) TVMFFI_CUBIN_COLD bool Add(const char* format, ...) {
    va_list values;
    va_start(values, format);
    AddList(format, values);
    va_end(values);
    return true;
  }
};

TVMFFI_CUBIN_END
