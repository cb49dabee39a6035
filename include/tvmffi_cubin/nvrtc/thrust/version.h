// Thrust's version. After it, CUB's iterators in CUDA 12.6 include Thrust headers that NVRTC
// rejects, so they are included before it.
#pragma once

#if __CUDACC_VER_MAJOR__ == 12 && __CUDACC_VER_MINOR__ < 8
#include <cub/iterator/cache_modified_input_iterator.cuh>
#endif
#include_next <thrust/version.h>
