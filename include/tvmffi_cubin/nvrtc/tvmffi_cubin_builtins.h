// The host compiler's functions of bits, which nvcc knows in device code and NVRTC does not.
#ifndef TVMFFI_CUBIN_NVRTC_BUILTINS_H_
#define TVMFFI_CUBIN_NVRTC_BUILTINS_H_

#if __cplusplus >= 201402L
// CUDA's own functions are none of constants.
#define TVMFFI_CUBIN_BITS(T, SUFFIX, CUDA_SUFFIX, SIGNED)                      \
  __host__ __device__ constexpr int __builtin_popcount##SUFFIX(unsigned T x) { \
    if (!__builtin_is_constant_evaluated()) return __popc##CUDA_SUFFIX(x);     \
    int n = 0;                                                                 \
    for (; x; x &= x - 1) ++n;                                                 \
    return n;                                                                  \
  }                                                                            \
  __host__ __device__ constexpr int __builtin_ffs##SUFFIX(SIGNED x) {          \
    if (!__builtin_is_constant_evaluated()) return __ffs##CUDA_SUFFIX(x);      \
    int n = 1;                                                                 \
    for (unsigned T bits = x; bits; bits >>= 1, ++n)                           \
      if (bits & 1) return n;                                                  \
    return 0;                                                                  \
  }                                                                            \
  __host__ __device__ constexpr int __builtin_ctz##SUFFIX(unsigned T x) {      \
    return __builtin_ffs##SUFFIX(x) - 1;                                       \
  }                                                                            \
  __host__ __device__ constexpr int __builtin_clz##SUFFIX(unsigned T x) {      \
    if (!__builtin_is_constant_evaluated()) return __clz##CUDA_SUFFIX(x);      \
    int n = 8 * sizeof(x);                                                     \
    for (; x; x >>= 1) --n;                                                    \
    return n;                                                                  \
  }

TVMFFI_CUBIN_BITS(int, , , int)
TVMFFI_CUBIN_BITS(long, l, ll, long)             // NOLINT
TVMFFI_CUBIN_BITS(long long, ll, ll, long long)  // NOLINT

#undef TVMFFI_CUBIN_BITS
#endif

#endif  // TVMFFI_CUBIN_NVRTC_BUILTINS_H_
