// Thrust's version, after which CUB's iterators of CUDA 12.6 take headers of Thrust that NVRTC
// refuses: they come before it.
#ifndef TVMFFI_CUBIN_NVRTC_THRUST_VERSION_H_
#define TVMFFI_CUBIN_NVRTC_THRUST_VERSION_H_

#if __CUDACC_VER_MAJOR__ == 12 && __CUDACC_VER_MINOR__ < 8
#include <cub/iterator/cache_modified_input_iterator.cuh>
#endif
#include_next <thrust/version.h>

#endif  // TVMFFI_CUBIN_NVRTC_THRUST_VERSION_H_
