// Launches wherever host code may stand: methods, constructors, lambdas, templates, operators.
#include <functional>
#include <memory>
#include <utility>
#include <vector>

template <typename T>
__global__ void add_to(T* x, T by, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] += by;
}

class Runner {
 public:
  Runner(cudaStream_t stream, float* x, int n) : stream_(stream), x_(x), n_(n) {
    add_to << <1, n_, 0, stream_ >> > (x_, 1.f, n_);  // as Visual Studio formats it
  }
  virtual ~Runner() { add_to<<<1, n_, 0, stream_>>>(x_, 2.f, n_); }
  void method(float by) const { add_to<float><<<1, n_, 0, stream_>>>(x_, by, n_); }
  Runner& operator<<(float by);
  virtual void overridden() = 0;
  static void fixed(cudaStream_t stream, float* x, int n) { add_to<<<1, n, 0, stream>>>(x, 16.f, n); }

 protected:
  cudaStream_t stream_;
  float* x_;
  int n_;
};

Runner& Runner::operator<<(float by) {
  add_to<<<1, n_, 0, stream_>>>(x_, by, n_);
  return *this;
}

struct Derived final : Runner {
  using Runner::Runner;
  void overridden() override { add_to<<<1, n_, 0, this->stream_>>>(this->x_, 32.f, this->n_); }
};

template <typename... Values>
void add_each(cudaStream_t stream, float* x, int n, Values... values) {
  (add_to<float><<<1, n, 0, stream>>>(x, static_cast<float>(values), n), ...);
}

template <class T>
struct Typed {
  template <int kTimes>
  void times(cudaStream_t stream, T* x, int n) const {
    for (int i = 0; i != kTimes; ++i) add_to<T><<<dim3(1), dim3(n), 0, stream>>>(x, T(1000), n);
  }
};

auto add_with(cudaStream_t stream, float* x, int n) {
  return [=](float by) { add_to<<<1, n, 0, stream>>>(x, by, n); };
}

void everywhere(tvm::ffi::TensorView t) {
  auto stream = (cudaStream_t)TVMFFIEnvGetStream(t.device().device_type, t.device().device_id);
  float* x = static_cast<float*>(t.data_ptr());
  const int n = static_cast<int>(t.numel());
  {
    std::unique_ptr<Runner> runner = std::make_unique<Derived>(stream, x, n);
    runner->method(4.f);
    *runner << 8.f;
    Runner::fixed(stream, x, n);
    runner->overridden();
  }
  add_each(stream, x, n, 64, 128.0, 256.f);
  Typed<float>().times<2>(stream, x, n);
  std::vector<std::function<void()>> later;
  for (int i = 0; i < 2; ++i)
    later.push_back([=] { add_to<<<1, n, 0, stream>>>(x, 10000.f * (i + 1), n); });
  for (auto& each : later) each();
  add_with(stream, x, n)(100000.f);
  n > 1000 ? add_to<<<1, 1, 0, stream>>>(x, 0.f, n) : add_to<<<1, n, 0, stream>>>(x, 0.25f, n);
  if (n > 0) add_to<<<1, n, 0, stream>>>(x, 0.5f, n); else add_to<<<1, n, 0, stream>>>(x, 7.f, n);
}
