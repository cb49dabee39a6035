/*!
 * \file tvmffi_cubin/mixed/host.h
 * \brief What the host side of a mixed source is compiled against: CUDA's own runtime header with
 * what it has for nvcc, and what nvcc adds of its own. qualifiers.h comes after all headers.
 */
#ifndef TVMFFI_CUBIN_MIXED_HOST_H_
#define TVMFFI_CUBIN_MIXED_HOST_H_
// The user's flags ask for warnings about the user's own text.
#pragma GCC system_header

#ifndef __GXX_RTTI
#error "-fno-rtti: the kernels of a mixed source are known by their types' names; leave it out"
#endif

#ifndef TVMFFI_CUBIN_WITH_CUDART
#define TVMFFI_CUBIN_WITH_CUDART
#endif

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "launch.h"

#ifdef __CUDACC__
#include <cuda_runtime.h>
#else
// Device functions are for the other side: what declares them does nothing here.
#define __COMMON_FUNCTIONS_H__
#define __DEVICE_FUNCTIONS_H__
#define __MATH_FUNCTIONS_H__
#define __CUDACC__
#include <cuda_runtime.h>
#undef __CUDACC__
#endif
#include "device_words.h"
#include "host_math.h"
#include "runtime.h"

// Of headers that are not for this side.
namespace cub {}
namespace cooperative_groups {}
namespace nvcuda {
namespace wmma {}
}  // namespace nvcuda

#endif  // TVMFFI_CUBIN_MIXED_HOST_H_
