/*!
 * \file tvm/ffi/extra/cuda/internal/result.h
 * \brief A result that is CUresult, cudaError_t and int at once, for wrappers in either dialect.
 */
#ifndef TVM_FFI_EXTRA_CUDA_INTERNAL_RESULT_H_
#define TVM_FFI_EXTRA_CUDA_INTERNAL_RESULT_H_

#include <ostream>
#include <type_traits>

#include "error_text.h"

namespace tvm {
namespace ffi {
TVMFFI_CUBIN_COMPAT_BEGIN_NAMESPACE
namespace cuda_api {

/*! \brief A code; as with the enumerations that it stands for, it is true where it is an error. */
class Result {
 public:
  constexpr Result() = default;
  constexpr Result(CUresult result) : code_(static_cast<int>(result)) {}     // NOLINT
  constexpr Result(cudaError_t error) : code_(static_cast<int>(error)) {}  // NOLINT

  constexpr operator int() const { return code_; }  // NOLINT
  constexpr explicit operator bool() const { return code_ != 0; }

  // A template, so that each integer type is converted to exactly: with `operator int` alone,
  // `unsigned u = result` could go by way of either enumeration as well.
  template <typename T, typename = std::enable_if_t<
                            std::is_same_v<T, CUresult> || std::is_same_v<T, cudaError_t> ||
                            (std::is_integral_v<T> && !std::is_same_v<T, bool>)>>
  constexpr operator T() const {  // NOLINT
    if constexpr (std::is_same_v<T, CUresult>) {
      return ::tvmffi_cubin::ToDriver(static_cast<cudaError_t>(code_));
    } else {
      return static_cast<T>(code_);
    }
  }

  friend std::ostream& operator<<(std::ostream& out, Result result) { return out << result.code_; }

 private:
  int code_ = 0;
};

#define TVMFFI_CUBIN_COMPARE_RESULTS(Left, Right)             \
  constexpr bool operator==(Left left, Right right) {         \
    return static_cast<int>(left) == static_cast<int>(right); \
  }                                                           \
  constexpr bool operator!=(Left left, Right right) { return !(left == right); }
TVMFFI_CUBIN_COMPARE_RESULTS(Result, Result)
TVMFFI_CUBIN_COMPARE_RESULTS(Result, CUresult)
TVMFFI_CUBIN_COMPARE_RESULTS(CUresult, Result)
TVMFFI_CUBIN_COMPARE_RESULTS(Result, cudaError_t)
TVMFFI_CUBIN_COMPARE_RESULTS(cudaError_t, Result)
TVMFFI_CUBIN_COMPARE_RESULTS(Result, int)
TVMFFI_CUBIN_COMPARE_RESULTS(int, Result)
#undef TVMFFI_CUBIN_COMPARE_RESULTS

}  // namespace cuda_api
TVMFFI_CUBIN_COMPAT_END_NAMESPACE
}  // namespace ffi
}  // namespace tvm

#endif  // TVM_FFI_EXTRA_CUDA_INTERNAL_RESULT_H_
