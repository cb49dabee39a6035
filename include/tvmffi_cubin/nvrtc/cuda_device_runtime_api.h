// The device runtime's header without CUDA 13's warning about its own internal header.
#pragma once

#ifndef __CUDA_INCLUDE_COMPILER_INTERNAL_HEADERS__
#define __CUDA_INCLUDE_COMPILER_INTERNAL_HEADERS__
#define TVMFFI_CUBIN_NVRTC_INTERNAL_HEADERS_
#endif
#include_next <cuda_device_runtime_api.h>
#ifdef TVMFFI_CUBIN_NVRTC_INTERNAL_HEADERS_
#undef __CUDA_INCLUDE_COMPILER_INTERNAL_HEADERS__
#undef TVMFFI_CUBIN_NVRTC_INTERNAL_HEADERS_
#endif
