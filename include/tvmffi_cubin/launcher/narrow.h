/*!
 * \file tvmffi_cubin/launcher/narrow.h
 * \brief Whether and how a 64-bit value fits a narrower kernel parameter.
 */
#ifndef TVMFFI_CUBIN_LAUNCHER_NARROW_H_
#define TVMFFI_CUBIN_LAUNCHER_NARROW_H_

#include <string.h>

#include "plan.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief Whether a signed value fits the integer type of a parameter. */
inline bool IntegerFits(Kind kind, uint32_t size, int64_t value) {
  if (size >= 8) return kind == Kind::kInt || value >= 0;
  const int bits = static_cast<int>(size) * 8;
  if (kind == Kind::kUint) return value >= 0 && (value >> bits) == 0;
  return value >= -(INT64_C(1) << (bits - 1)) && value < (INT64_C(1) << (bits - 1));
}

/*! \brief Whether a size is one that integers have. */
inline bool IsWord(uint32_t size) { return size - 1 < 8 && (size & (size - 1)) == 0; }

/*! \brief Whether a value fits an integer of this size, signed or unsigned. */
inline bool RawFits(uint32_t size, int64_t value) {
  if (size >= 8) return size == 8;
  const int bits = static_cast<int>(size) * 8;
  return IsWord(size) && value >= -(INT64_C(1) << (bits - 1)) && value >> bits <= 0;
}

/*!
 * \brief Rounds to nearest even into a 16-bit format: (5, 10) is fp16, (8, 7) bf16. Straight from
 * double, because by way of float a value can be rounded twice.
 * \return false where a finite value would become infinite.
 */
inline bool RoundTo16(double value, int exponent_bits, int mantissa_bits, uint16_t* out) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof(bits));
  const uint16_t sign = static_cast<uint16_t>(bits >> 63 << 15);
  const uint64_t fraction = bits & ((UINT64_C(1) << 52) - 1);
  const int exponent = static_cast<int>(bits >> 52 & 0x7ff);
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const uint16_t infinity = static_cast<uint16_t>(((1 << exponent_bits) - 1) << mantissa_bits);
  if (exponent == 0x7ff) {
    const uint16_t quiet = fraction ? static_cast<uint16_t>(1 << (mantissa_bits - 1)) : 0;
    *out = sign | infinity | quiet;
    return true;
  }
  int target = exponent - 1023 + bias;
  int shift = 52 - mantissa_bits + (target < 1 ? 1 - target : 0);
  if (exponent == 0 || shift > 54) {  // a double subnormal, or far below the smallest value
    *out = sign;
    return true;
  }
  const uint64_t mantissa = fraction | UINT64_C(1) << 52;
  uint64_t kept = mantissa >> shift;
  const uint64_t rest = mantissa & ((UINT64_C(1) << shift) - 1);
  const uint64_t half = UINT64_C(1) << (shift - 1);
  kept += rest > half || (rest == half && (kept & 1));
  // The carry of rounding runs on into the exponent, which is what IEEE formats are laid out for.
  const uint64_t magnitude =
      target < 1 ? kept : (static_cast<uint64_t>(target - 1) << mantissa_bits) + kept;
  if (magnitude >= infinity) return false;
  *out = sign | static_cast<uint16_t>(magnitude);
  return true;
}

/*! \brief Stores a number into a floating parameter; false where a finite value becomes inf. */
inline bool StoreFloat(Kind kind, uint32_t size, double value, Argument* out) {
  if (size == 8) {
    out->storage.f64 = value;
    return true;
  }
  if (size == 4) {
    out->storage.f32 = static_cast<float>(value);
    return !__builtin_isinf(out->storage.f32) || __builtin_isinf(value);
  }
  return kind == Kind::kBfloat ? RoundTo16(value, 8, 7, &out->storage.u16)
                               : RoundTo16(value, 5, 10, &out->storage.u16);
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_LAUNCHER_NARROW_H_
