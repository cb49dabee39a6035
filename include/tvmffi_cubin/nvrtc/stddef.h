// Sizes and offsets; size_t and ptrdiff_t are NVRTC's own.
#ifndef TVMFFI_CUBIN_NVRTC_STDDEF_H_
#define TVMFFI_CUBIN_NVRTC_STDDEF_H_

typedef decltype(nullptr) nullptr_t;

typedef struct {
  alignas(16) long long integer;
  alignas(16) double real;
} max_align_t;

#ifndef offsetof
#define offsetof(type, member) (::size_t)((char*) &(((type*) 0)->member) - (char*) 0)
#endif

#endif  // TVMFFI_CUBIN_NVRTC_STDDEF_H_
