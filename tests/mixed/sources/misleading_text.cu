// __global__ void in_a_comment(int) { kernel<<<1, 2>>>(); }
/* extern "C" __global__ void in_another { <<<
   #include "not_there.h"
   unbalanced: ( { [ */
#include <string>

static const char* kText = "__global__ void in_a_string() { k<<<1, 1>>>(); } // \" {{{ ";
static const char kBrace = '{', kQuote = '\'', kBackslash = '\\';
static const std::string kRaw = R"cuda(
__global__ void in_a_raw_string(float* x) { x[0] = 1; }
)" "
void host() { in_a_raw_string<<<1, 1>>>(nullptr); }
#define NOT_DEFINED {{{
)cuda";

// A comment that goes on \
__global__ void in_a_continued_comment(

template <int N>
struct Shift {
  static constexpr int value = 1 << N >> 1;
};
template <typename T>
struct Box {
  T inner;
};

__global__ void  // a comment within
/* and another: ) { */ put(Box<Box<int>> box, int* out,
                           int digits = 1'000'000) {
  // }
  const char* text = "}";  /* } */
  out[threadIdx.x] = box.inner.inner + Shift<3>::value + digits + (text[0] == '}');
}

#define QUOTED(...) #__VA_ARGS__
#define JOINED(a, b) a##b

int64_t text(tvm::ffi::TensorView out) {
  auto s = (cudaStream_t)TVMFFIEnvGetStream(out.device().device_type, out.device().device_id);
  const std::string quoted = QUOTED(put<<<1, 1>>>(x));
  int JOINED(o, ffset) = 5;
  bool less = 1 < 2, shifted = (16 >> 2) > 3 && 1 << 2 < 5;
  put<<</* grid: */ 1, /* block, of <<<>>> */ 4, 0, s>>>  // then the arguments
      (Box<Box<int>>{{offset}}, static_cast<int*>(out.data_ptr()));
  put<<<1, Shift<2>::value, 0, s>>>(Box<Box<int>>{{less + shifted}}, (int*)out.data_ptr() + 4, '\x10');
  return static_cast<int64_t>(quoted.size() + kRaw.size() + std::string(kText).size()) +
         (kBrace == '{') + (kQuote == '\'') + (kBackslash == '\\');
}
