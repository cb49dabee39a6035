/*!
 * \file tvmffi_cubin/mixed/launch_operands.h
 * \brief What may stand between `<<<` and `>>>`: what nvcc takes there, and a little more.
 */
#ifndef TVMFFI_CUBIN_MIXED_LAUNCH_OPERANDS_H_
#define TVMFFI_CUBIN_MIXED_LAUNCH_OPERANDS_H_

#include <cuda_runtime.h>
#include <stddef.h>
#include <stdint.h>

#include <limits>
#include <type_traits>

#include "../launch_config.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*!
 * \brief A number as an unsigned one of 32 bits. What does not fit becomes the largest, which
 * nothing allows: nvcc's own conversion would cut it to some other number.
 */
template <typename T>
constexpr uint32_t Saturated(T value) {
  if constexpr (std::is_enum_v<T>) {
    return Saturated(static_cast<std::underlying_type_t<T>>(value));
  } else if constexpr (std::is_floating_point_v<T>) {
    return value > T(-1) && value < T(4294967295) ? static_cast<uint32_t>(value) : UINT32_MAX;
  } else if constexpr (std::is_signed_v<T>) {
    return value >= 0 && static_cast<uint64_t>(value) < UINT32_MAX ? static_cast<uint32_t>(value)
                                                                   : UINT32_MAX;
  } else if constexpr (sizeof(T) < sizeof(uint32_t)) {
    return value;
  } else {
    return value < UINT32_MAX ? static_cast<uint32_t>(value) : UINT32_MAX;
  }
}

/*!
 * \brief A number as it was given, for messages. A negative one that came as a size_t is told as
 * what it was.
 */
template <typename T>
constexpr int64_t Given(T value) {
  if constexpr (std::is_floating_point_v<T>) {
    return value > T(-9e18) && value < T(9e18) ? static_cast<int64_t>(value) : INT64_MIN;
  } else {
    return static_cast<int64_t>(value);
  }
}

template <typename T>
constexpr bool kIsNumber = std::is_arithmetic_v<T> || std::is_enum_v<T>;

/*! \brief Whether a class is a shape: a dim3, ours, a uint3, or what converts to one or a number.
 */
template <typename T>
constexpr bool kIsShape = std::is_convertible_v<T, ::dim3> || std::is_convertible_v<T, Dim3>;

/*! \brief The first and the second operand: a number, a dim3, or what converts to one. */
struct LaunchShape {
  Dim3 size;

  // By value: a reference to a static const member would need the member's definition.
  template <typename T, std::enable_if_t<kIsNumber<T>, int> = 0>
  constexpr LaunchShape(T x) : size(Saturated(x)) {}  // NOLINT

  template <typename T, std::enable_if_t<!kIsNumber<std::decay_t<T>>, int> = 0>
  constexpr LaunchShape(T&& shape) : size(Convert(static_cast<T&&>(shape))) {}  // NOLINT

  /*! \brief `{x, y}` and `{x, y, z}`. */
  template <typename X, typename Y, typename Z = int,
            std::enable_if_t<kIsNumber<X> && kIsNumber<Y> && kIsNumber<Z>, int> = 0>
  constexpr LaunchShape(X x, Y y, Z z = 1) : size(Saturated(x), Saturated(y), Saturated(z)) {}

 private:
  template <typename T>
  static constexpr Dim3 Convert(T&& shape) {
    static_assert(kIsShape<T>,
                  "the grid and the block of <<<grid, block>>> are numbers, dim3, or what converts "
                  "to dim3");
    if constexpr (std::is_convertible_v<T, ::dim3>) {
      const ::dim3 converted = static_cast<T&&>(shape);
      return {converted.x, converted.y, converted.z};
    } else if constexpr (std::is_convertible_v<T, Dim3>) {
      return static_cast<T&&>(shape);
    }
  }
};

/*! \brief The third operand: bytes of dynamic shared memory. */
struct LaunchBytes {
  uint32_t bytes;
  int64_t given;

  template <typename T, std::enable_if_t<kIsNumber<T>, int> = 0>
  constexpr LaunchBytes(T bytes_) : bytes(Saturated(bytes_)), given(Given(bytes_)) {}  // NOLINT

  template <typename T, std::enable_if_t<!kIsNumber<std::decay_t<T>>, int> = 0>
  constexpr LaunchBytes(T&& bytes_) : LaunchBytes(Convert(static_cast<T&&>(bytes_))) {}  // NOLINT

 private:
  template <typename T>
  static constexpr size_t Convert(T&& bytes) {
    static_assert(std::is_convertible_v<T, size_t> && !std::is_pointer_v<std::decay_t<T>>,
                  "the third operand of <<<grid, block, bytes, stream>>> is a number: bytes of "
                  "dynamic shared memory; the stream is the fourth");
    if constexpr (std::is_convertible_v<T, size_t>) {
      return static_cast<T&&>(bytes);
    } else {
      return 0;
    }
  }
};

/*! \brief The fourth operand: a stream, 0 being CUDA's legacy default stream. */
struct LaunchStream {
  cudaStream_t stream;

  constexpr LaunchStream(cudaStream_t stream_) : stream(stream_) {}  // NOLINT

  // Not for numbers: a 0 is a null pointer only where a pointer is wanted.
  template <typename T, std::enable_if_t<!kIsNumber<std::decay_t<T>> &&
                                             !std::is_same_v<std::decay_t<T>, cudaStream_t> &&
                                             !std::is_null_pointer_v<std::decay_t<T>>,
                                         int> = 0>
  LaunchStream(T&& stream_) : stream(Convert(static_cast<T&&>(stream_))) {}  // NOLINT

 private:
  template <typename T>
  static cudaStream_t Convert(T&& stream) {
    constexpr bool kIsVoid = std::is_same_v<std::decay_t<T>, void*>;
    static_assert(kIsVoid || std::is_convertible_v<T, cudaStream_t>,
                  "the fourth operand of <<<grid, block, bytes, stream>>> is a stream: a "
                  "cudaStream_t, or what converts to one");
    if constexpr (kIsVoid) {
      return static_cast<cudaStream_t>(stream);
    } else if constexpr (std::is_convertible_v<T, cudaStream_t>) {
      return static_cast<T&&>(stream);
    } else {
      return nullptr;
    }
  }
};

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_MIXED_LAUNCH_OPERANDS_H_
