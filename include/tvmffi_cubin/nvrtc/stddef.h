// Sizes and offsets; size_t and ptrdiff_t are NVRTC's own.
#pragma once

typedef decltype(nullptr) nullptr_t;

typedef struct {
  alignas(16) long long __integer;
  alignas(16) double __floating;
} max_align_t;

#ifndef offsetof
#define offsetof(type, member) (::size_t)__INTADDR__(&((type*)0)->member)
#endif
