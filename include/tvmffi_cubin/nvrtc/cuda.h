// The part of the driver API's header that device code uses: tensor maps and handles.
#pragma once

#ifndef CUDA_VERSION
#define CUDA_VERSION (__CUDACC_VER_MAJOR__ * 1000 + __CUDACC_VER_MINOR__ * 10)
#endif

// Named as in the real header, so that a kernel's mangled name is the same as in host code.
typedef struct CUtensorMap_st {
  alignas(__CUDACC_VER_MAJOR__ < 13 ? 64 : 128) unsigned long long opaque[16];
} CUtensorMap;

typedef unsigned long long CUdeviceptr;
typedef int CUdevice;
typedef struct CUctx_st* CUcontext;
typedef struct CUmod_st* CUmodule;
typedef struct CUfunc_st* CUfunction;
typedef struct CUstream_st* CUstream;
typedef struct CUevent_st* CUevent;
typedef unsigned long long CUtexObject;
typedef unsigned long long CUsurfObject;
