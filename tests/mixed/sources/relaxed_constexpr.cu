// constexpr functions called from kernels with run-time arguments: nvcc's --expt-relaxed-constexpr.
#include <cstdint>

constexpr uint32_t rotate_left(uint32_t v, int by) { return (v << by) | (v >> (32 - by)); }

struct Mixer {
  uint32_t state;
  constexpr explicit Mixer(uint32_t seed) : state(seed) {}
  constexpr uint32_t next() {
    state = rotate_left(state * 2654435761u, 13) ^ 0x9e3779b9u;
    return state;
  }
};

template <typename T>
constexpr T ceil_div(T a, T b) {
  return (a + b - 1) / b;
}

__global__ void mix(uint32_t* out, int n, int rounds) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Mixer mixer(static_cast<uint32_t>(i));
  for (int r = 0; r < ceil_div(rounds, 2); ++r) mixer.next();
  out[i] = mixer.state;
}

int64_t mixed(tvm::ffi::TensorView out, int rounds) {
  int n = static_cast<int>(out.numel());
  mix<<<ceil_div(n, 64), 64, 0,
        (cudaStream_t)TVMFFIEnvGetStream(out.device().device_type, out.device().device_id)>>>(
      static_cast<uint32_t*>(out.data_ptr()), n, rounds);
  return Mixer(7).next();
}
