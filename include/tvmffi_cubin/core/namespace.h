// The namespace's version and visibility, and how rare code is compiled.
#pragma once

// Hidden, because an inline variable is otherwise one for the whole process (STB_GNU_UNIQUE), even
// between objects loaded with RTLD_LOCAL and built from different versions of these headers.
#define TVMFFI_CUBIN_BEGIN \
  namespace tvmffi_cubin { \
  inline namespace v0_1 __attribute__((visibility("hidden"))) {
#define TVMFFI_CUBIN_END \
  }                      \
  }

// What runs once a process, or after a failure, is compiled for size and never inlined.
#define TVMFFI_CUBIN_SHARED __attribute__((noinline)) inline  // not rare, but long
#define TVMFFI_CUBIN_COLD __attribute__((cold)) TVMFFI_CUBIN_SHARED
