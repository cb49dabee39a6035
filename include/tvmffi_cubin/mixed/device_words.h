/*!
 * \file tvmffi_cubin/mixed/device_words.h
 * \brief CUDA's functions and variables of device code, declared for headers that name them.
 *
 * They are never called: who does so is told by the linker.
 */
#ifndef TVMFFI_CUBIN_MIXED_DEVICE_WORDS_H_
#define TVMFFI_CUBIN_MIXED_DEVICE_WORDS_H_

#include <cuda_runtime.h>

extern const uint3 threadIdx;
extern const uint3 blockIdx;
extern const dim3 blockDim;
extern const dim3 gridDim;
extern const int warpSize;

void __syncthreads();
int __syncthreads_and(int condition);
int __syncthreads_or(int condition);
int __syncthreads_count(int condition);
void __syncwarp(unsigned mask = 0xffffffffu);
void __threadfence();
void __threadfence_block();

unsigned __activemask();
unsigned __ballot_sync(unsigned mask, int condition);
int __any_sync(unsigned mask, int condition);
int __all_sync(unsigned mask, int condition);
template <typename T>
T __shfl_sync(unsigned mask, T value, int lane, int width = 32);
template <typename T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32);
template <typename T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32);
template <typename T>
T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = 32);

int __popc(unsigned value);
int __popcll(unsigned long long value);  // NOLINT
int __clz(int value);
int __clzll(long long value);  // NOLINT
int __ffs(int value);
unsigned __brev(unsigned value);
unsigned __byte_perm(unsigned a, unsigned b, unsigned selector);
int __dp4a(int a, int b, int sum);
unsigned __dp4a(unsigned a, unsigned b, unsigned sum);
unsigned __vminu2(unsigned a, unsigned b);
unsigned __vmins2(unsigned a, unsigned b);
unsigned __vmaxu2(unsigned a, unsigned b);
unsigned __vmaxs2(unsigned a, unsigned b);

template <typename T>
T __hfma2(T a, T b, T sum);

template <typename T>
T atomicAdd(T* place, T value);
template <typename T>
T atomicOr(T* place, T value);

#endif  // TVMFFI_CUBIN_MIXED_DEVICE_WORDS_H_
