// Comes before every source that NVRTC compiles: what nvcc offers without an include.
#ifndef TVMFFI_CUBIN_NVRTC_PRELUDE_H_
#define TVMFFI_CUBIN_NVRTC_PRELUDE_H_

#include "cmath"

// The same types as CCCL's, where 64 bits are long long: a second typedef must name the same type.
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
typedef long long intptr_t;
typedef unsigned long long uintptr_t;
typedef long long intmax_t;
typedef unsigned long long uintmax_t;

typedef long ssize_t;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;

namespace std {
using ::ptrdiff_t;
using ::size_t;
using nullptr_t = decltype(nullptr);
}  // namespace std

// Templates, so that the ordinary functions of cuda_device_runtime_api.h, which a source may
// include itself, neither redefine them nor make a call ambiguous.

// Waits until the grids that this one depends on have finished and their writes are visible.
template <class = void>
__device__ __forceinline__ void cudaGridDependencySynchronize() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// Lets the grids that depend on this one start, once every block has come here or ended.
template <class = void>
__device__ __forceinline__ void cudaTriggerProgrammaticLaunchCompletion() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

#endif  // TVMFFI_CUBIN_NVRTC_PRELUDE_H_
