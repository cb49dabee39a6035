/*!
 * \file tvmffi_cubin/mixed/launch.h
 * \brief What the host text of a mixed source calls: stubs of kernels, launches, exports, throws.
 *
 * runtime.cc has what is declared here; it is compiled once, and linked with every unit.
 */
#ifndef TVMFFI_CUBIN_MIXED_LAUNCH_H_
#define TVMFFI_CUBIN_MIXED_LAUNCH_H_

#include <driver_types.h>
#include <stdint.h>
#include <tvm/ffi/error.h>
#include <vector_types.h>

#include <memory>
#include <sstream>
#include <string>
#include <typeinfo>

#include "../core/namespace.h"
#include "layout.h"

#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define TVMFFI_CUBIN_RUNTIME(name) name##_ptsz
#define TVMFFI_CUBIN_SYMBOL(name) #name "_ptsz"
#else
#define TVMFFI_CUBIN_RUNTIME(name) name
#define TVMFFI_CUBIN_SYMBOL(name) #name
#endif

extern "C" {
// The runtime's launch calls are interposed: bound parameters behind, refusals noted. They come
// before cuda_runtime_api.h, for a function has its symbol from its first declaration on.
#define TVMFFI_CUBIN_INTERPOSED(name, ...)                                                     \
  __attribute__((visibility("hidden"))) cudaError_t TVMFFI_CUBIN_RUNTIME(name)(__VA_ARGS__) \
      __asm__("tvmffi_cubin_" TVMFFI_CUBIN_SYMBOL(name));
#define TVMFFI_CUBIN_LAUNCHES(declare)                                                     \
  declare(cudaLaunchKernel, const void*, dim3, dim3, void**, size_t, cudaStream_t)         \
  declare(cudaLaunchCooperativeKernel, const void*, dim3, dim3, void**, size_t,            \
          cudaStream_t)                                                                    \
  declare(cudaLaunchKernelExC, const cudaLaunchConfig_t*, const void*, void**)
TVMFFI_CUBIN_LAUNCHES(TVMFFI_CUBIN_INTERPOSED)

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t smem, struct CUstream_st*);
}

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief What a kernel or variable of the host text is called, and its symbol in the image. */
struct MixedRow {
  const char* name;  // of the type that has its node
  const char* symbol;
};

/*! \brief The image of one unit; written by the build as an assembly unit. */
struct MixedTable {
  void* image;  // as __cudaRegisterFatBinary takes it; null where there is none
  const MixedRow* rows;
  uint64_t num_rows;
};

/*! \brief The unit's own table: defined by TVMFFI_CUBIN_MIXED_UNIT, once the unit has a name. */
__attribute__((unused)) static const MixedTable* UnitTable();

struct MixedNode;
inline MixedNode* mixed_nodes = nullptr;

/*! \brief A kernel or a variable of the host text, entered before the user's own initialisers. */
struct MixedNode {
  MixedNode(const volatile void* at, const char* type, size_t bytes, int count, const MixedTable* of)
      : address(const_cast<const void*>(at)), name(type), size(bytes), num_params(count), table(of),
        next(mixed_nodes) {
    mixed_nodes = this;
  }
  const void* address;
  const char* name;
  size_t size;     // of a variable
  int num_params;  // of a kernel
  const MixedTable* table;
  MixedNode* next;
};

/*!
 * \brief One kernel. The build finds in the object's symbols which there are, and their layout.
 * What defines the nodes, in qualifiers.h, is never precompiled: gcc loses its priority there.
 */
template <auto kSelf, tvmffi_cubin_layout::Word... kParams>
struct KernelStub {
  static MixedNode node;
};

/*! \brief The same of a device variable. */
template <auto kSelf, tvmffi_cubin_layout::Word kLayout>
struct DeviceVariable {
  static MixedNode node;
};

template <typename Function>
struct StubOf;
template <typename... Params>
struct StubOf<void (*)(Params...)> {
  template <auto kSelf>
  using Type = KernelStub<kSelf, tvmffi_cubin_layout::kOf<Params>...>;
};

/*! \brief Launches a kernel as the thread's pending `<<<...>>>` says. */
void LaunchConfigured(const void* kernel, void** args);

/*! \brief The body of a stub. */
template <auto kSelf, typename... Args>
inline __attribute__((always_inline)) void RunStub(Args&... args) {
  using Stub = typename StubOf<decltype(kSelf)>::template Type<kSelf>;
  static_cast<void>(&Stub::node);  // which enters it
  void* pointers[] = {const_cast<void*>(static_cast<const volatile void*>(std::addressof(args)))...,
                      nullptr};
  LaunchConfigured(reinterpret_cast<const void*>(kSelf), pointers);
}

/*! \brief Registers what a unit's image has, until the process ends. */
class Registration {
 public:
  explicit Registration(const MixedTable* table);
  ~Registration();

 private:
  void** handle_ = nullptr;
};

/*! \brief Where the thread's last `<<<...>>>` stands. */
struct LaunchPlace {
  const char* file;
  int line;
};
inline thread_local LaunchPlace launch_place = {nullptr, 0};

/*! \brief What `<<<...>>>` becomes, before the kernel's stub is called. */
inline unsigned Configure(dim3 grid, dim3 block, size_t smem = 0, cudaStream_t stream = nullptr,
                          const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  launch_place = {file, line};
  return __cudaPushCallConfiguration(grid, block, smem, stream);
}

/*! \brief Whether a launch of this thread was refused, and no exported function has told it. */
inline thread_local bool has_refusal = false;

/*! \brief Ends an exported function: its result goes where one of its launches was refused. */
int EndExport(TVMFFIAny* result);
/*! \brief Ends one that throws; called where that is caught. */
int EndThrown(bool had_refusal);

/*! \brief Throws as TVM_FFI_THROW does, whose own code takes half a small unit's compile time. */
[[noreturn]] void Throw(const char* kind, const TVMFFIByteArray* backtrace, const char* text,
                        size_t size, bool is_logged);

/*! \brief Takes an error's text, and throws it. */
class Thrower {
 public:
  __attribute__((noinline, cold)) Thrower(const char* kind, const TVMFFIByteArray* backtrace, bool is_logged)
      : kind_(kind), backtrace_(backtrace->data, backtrace->size), is_logged_(is_logged) {}
  [[noreturn]] __attribute__((noinline, cold)) ~Thrower() noexcept(false) {
    const std::string text = stream_.str();
    const TVMFFIByteArray backtrace{backtrace_.data(), backtrace_.size()};
    Throw(kind_, &backtrace, text.data(), text.size(), is_logged_);
  }
  __attribute__((noinline, cold)) std::ostringstream& stream() { return stream_; }

 private:
  const char* kind_;
  std::string backtrace_;
  bool is_logged_;
  std::ostringstream stream_;
};

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#undef TVM_FFI_THROW
#define TVM_FFI_THROW(ErrorKind)                                                                \
  ::tvmffi_cubin::Thrower(#ErrorKind, TVMFFIBacktrace(__FILE__, __LINE__, TVM_FFI_FUNC_SIG, 0), \
                          TVM_FFI_ALWAYS_LOG_BEFORE_THROW)                                      \
      .stream()
#undef TVM_FFI_LOG_AND_THROW
#define TVM_FFI_LOG_AND_THROW(ErrorKind)                                                        \
  ::tvmffi_cubin::Thrower(#ErrorKind, TVMFFIBacktrace(__FILE__, __LINE__, TVM_FFI_FUNC_SIG, 0), \
                          true)                                                                 \
      .stream()

/*! \brief Stands for a kernel's body: its own address in parentheses, then its parameters. */
#define TVMFFI_CUBIN_STUB(self, ...)            \
  {                                             \
    ::tvmffi_cubin::RunStub<self>(__VA_ARGS__); \
  }

#define TVMFFI_CUBIN_JOINED(a, b) a##b
#define TVMFFI_CUBIN_JOIN(a, b) TVMFFI_CUBIN_JOINED(a, b)

/*! \brief Enters a device variable of the unit. */
#define TVMFFI_CUBIN_DEVICE_VARIABLE(name)                                            \
  __attribute__((used)) static const void* const TVMFFI_CUBIN_JOIN(                   \
      tvmffi_cubin_variable_, __COUNTER__) =                                          \
      &::tvmffi_cubin::DeviceVariable<&name, tvmffi_cubin_layout::kOf<decltype(name)>>::node;

/*! \brief Begins the text of a unit; no other in the library has its tag. */
#define TVMFFI_CUBIN_MIXED_UNIT(tag)                                                       \
  extern "C" __attribute__((visibility("hidden")))                                         \
  const ::tvmffi_cubin::MixedTable tvmffi_cubin_mixed_table_##tag;                         \
  namespace tvmffi_cubin {                                                                 \
  TVMFFI_CUBIN_BEGIN_NAMESPACE                                                             \
  static const MixedTable* UnitTable() { return &tvmffi_cubin_mixed_table_##tag; }         \
  TVMFFI_CUBIN_END_NAMESPACE                                                               \
  }                                                                                        \
  __attribute__((init_priority(102))) static ::tvmffi_cubin::Registration                  \
      tvmffi_cubin_registration(&tvmffi_cubin_mixed_table_##tag);

#endif  // TVMFFI_CUBIN_MIXED_LAUNCH_H_
