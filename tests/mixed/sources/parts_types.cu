// The first of three: types and helpers for both sides.
#pragma once
#include <cuda_fp16.h>

#define PARTS_BLOCK 96

struct Line {
  float slope, offset;
  __host__ __device__ float at(float v) const { return slope * v + offset; }
};

static inline int parts_blocks(int64_t n) { return static_cast<int>((n + PARTS_BLOCK - 1) / PARTS_BLOCK); }
