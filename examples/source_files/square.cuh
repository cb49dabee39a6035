// Included by squares.cu, from its own folder.
#ifndef EXAMPLES_SOURCE_FILES_SQUARE_CUH_
#define EXAMPLES_SOURCE_FILES_SQUARE_CUH_

template <class T>
__device__ T Square(T x) {
  return x * x;
}

#endif  // EXAMPLES_SOURCE_FILES_SQUARE_CUH_
