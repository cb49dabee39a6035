/*!
 * \file tvmffi_cubin/mixed/mixed.h
 * \brief What the host text of a mixed source is compiled against; qualifiers.h comes after it.
 */
#ifndef TVMFFI_CUBIN_MIXED_MIXED_H_
#define TVMFFI_CUBIN_MIXED_MIXED_H_
// The user's flags ask for warnings about the user's own text.
#pragma GCC system_header

#ifdef TVMFFI_CUBIN_WITH_CUDART
#error "TVMFFI_CUBIN_WITH_CUDART: libcudart knows no kernel of a mixed source; leave it out"
#endif
#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#error "per-thread default streams need compiler=\"nvcc\": or write cudaStreamPerThread as a stream"
#endif

#ifndef __GXX_RTTI
#error "-fno-rtti: the kernels of a mixed source are known by their types' names; leave it out"
#endif

#include <cuda_runtime.h>

#include "checked_export.h"
#include "device_only.h"
#include "device_variable.h"
#include "host_math.h"
#include "kernel_launch.h"
#include "kernel_stub.h"
#include "refused_calls.h"
#include "runtime_templates.h"
#include "source_lines.h"
#include "throw.h"

#endif  // TVMFFI_CUBIN_MIXED_MIXED_H_
