// Thrust's version, after which CUB's iterators of CUDA 12.6 take headers of Thrust that NVRTC
// refuses: they come before it.
#pragma once

#if __CUDACC_VER_MAJOR__ == 12 && __CUDACC_VER_MINOR__ < 8
#include <cub/iterator/cache_modified_input_iterator.cuh>
#endif
#include_next <thrust/version.h>
