/*!
 * \file tvmffi_cubin/core/tensor_map_spec.h
 * \brief What a tensor map is asked to be, and of which memory; no C++ library needed.
 */
#ifndef TVMFFI_CUBIN_CORE_TENSOR_MAP_SPEC_H_
#define TVMFFI_CUBIN_CORE_TENSOR_MAP_SPEC_H_

#include <stdint.h>
#include <tvm/ffi/c_api.h>

#include "namespace.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

constexpr int kMaxMapRank = 5;
constexpr int kMaxMapCorners = kMaxMapRank - 2;

/*! \brief How elements are addressed: boxes, or pixels of an image as a convolution reads them. */
enum class TensorMapMode : uint8_t { kTiled, kIm2col };

/*! \brief An element's type; the numbers are CUtensorMapDataType's. */
enum class TensorMapType : int8_t {
  kFromTensor = -1,
  kUint8,
  kUint16,
  kUint32,
  kInt32,
  kUint64,
  kInt64,
  kFloat16,
  kFloat32,
  kFloat64,
  kBfloat16,
  kFloat32Ftz,
  kTfloat32,
  kTfloat32Ftz,
  k16U4Align8B,
  k16U4Align16B,
  k16U6Align16B,
};

/*! \brief How shared memory is permuted against bank conflicts; CUtensorMapSwizzle's numbers. */
enum class TensorMapSwizzle : uint8_t {
  kNone,
  k32B,
  k64B,
  k128B,
  k128BAtom32B,
  k128BAtom32BFlip8B,
  k128BAtom64B,
};

/*! \brief Channels kept in groups of 16 or 32 bytes; CUtensorMapInterleave's numbers. */
enum class TensorMapInterleave : uint8_t { kNone, k16B, k32B };

/*! \brief What the L2 cache fetches at least; CUtensorMapL2promotion's numbers. */
enum class TensorMapL2Promotion : uint8_t { kNone, k64B, k128B, k256B };

/*! \brief What is read beyond the tensor; CUtensorMapFloatOOBfill's numbers. */
enum class TensorMapOobFill : uint8_t { kZeros, kNan };

/*! \brief What a tensor map is asked to be. */
struct TensorMapSpec {
  TensorMapMode mode = TensorMapMode::kTiled;
  TensorMapType type = TensorMapType::kFromTensor;
  TensorMapSwizzle swizzle = TensorMapSwizzle::kNone;
  TensorMapInterleave interleave = TensorMapInterleave::kNone;
  TensorMapL2Promotion l2_promotion = TensorMapL2Promotion::kNone;
  TensorMapOobFill oob_fill = TensorMapOobFill::kZeros;
  int32_t rank = 0;                 // of the tensor that it is for
  int32_t num_element_strides = 0;  // 0: all 1
  int32_t num_global_dims = 0;      // 0: the tensor's own shape and strides
  int32_t num_global_strides = 0;   // 0: without gaps
  // The words from here on are known to generated launchers by their numbers.
  int64_t box_dim[kMaxMapRank] = {};  // tiled
  int64_t element_strides[kMaxMapRank] = {};
  int64_t lower_corner[kMaxMapCorners] = {};  // im2col: of all dimensions but the first and last
  int64_t upper_corner[kMaxMapCorners] = {};
  int64_t channels_per_pixel = 0;
  int64_t pixels_per_column = 0;
  int64_t global_dim[kMaxMapRank] = {};          // in elements of the map's type
  int64_t global_strides[kMaxMapRank - 1] = {};  // in bytes
};

/*! \brief The memory that a map describes. */
struct TensorMapMemory {
  TensorMapType type;
  void* address;
  int32_t rank;
  int64_t shape[kMaxMapRank];    // in elements of `type`
  int64_t strides[kMaxMapRank];  // in bytes; the innermost, one element, is not asked for
};

/*! \brief What is known of an element's type. */
struct TensorMapTypeFacts {
  const char* name;
  uint8_t code;  // DLPack's, of the types that tensors have
  uint8_t bits;
  bool is_float;
  uint8_t align;         // of addresses and strides, in bytes
  uint8_t inner_factor;  // of which the innermost dimension is a multiple
};

inline constexpr TensorMapTypeFacts kTensorMapTypes[] = {
    {"uint8", kDLUInt, 8, false, 16, 1},           {"uint16", kDLUInt, 16, false, 16, 1},
    {"uint32", kDLUInt, 32, false, 16, 1},         {"int32", kDLInt, 32, false, 16, 1},
    {"uint64", kDLUInt, 64, false, 16, 1},         {"int64", kDLInt, 64, false, 16, 1},
    {"float16", kDLFloat, 16, true, 16, 1},        {"float32", kDLFloat, 32, true, 16, 1},
    {"float64", kDLFloat, 64, true, 16, 1},        {"bfloat16", kDLBfloat, 16, true, 16, 1},
    {"float32_ftz", kDLFloat, 32, true, 16, 1},    {"tfloat32", kDLFloat, 32, true, 16, 1},
    {"tfloat32_ftz", kDLFloat, 32, true, 16, 1},   {"16u4_align8b", kDLUInt, 4, false, 16, 2},
    {"16u4_align16b", kDLUInt, 4, false, 32, 128}, {"16u6_align16b", kDLUInt, 6, false, 32, 128},
};

/*! \brief What is known of a type; not of kFromTensor. */
inline const TensorMapTypeFacts& FactsOf(TensorMapType type) {
  return kTensorMapTypes[static_cast<int>(type)];
}

/*! \brief The swizzles' names, and the bytes within which each permutes. */
inline constexpr struct {
  const char* name;
  uint8_t span;
} kTensorMapSwizzles[] = {
    {"none", 0},
    {"32B", 32},
    {"64B", 64},
    {"128B", 128},
    {"128B_atom_32B", 128},
    {"128B_atom_32B_flip_8B", 128},
    {"128B_atom_64B", 128},
};
inline constexpr const char* kTensorMapInterleaves[] = {"none", "16B", "32B"};

/*! \brief What addresses and strides of a map are multiples of, in bytes. */
inline int64_t MapAlignment(const TensorMapSpec& spec, TensorMapType type) {
  return spec.interleave == TensorMapInterleave::k32B ? 32 : FactsOf(type).align;
}

/*! \brief Why a map cannot be made: the kind of the error and its text, written where it fails. */
struct TensorMapProblem {
  const char* kind;  // "ValueError", "TypeError" or "LaunchError"
  char text[1024];
};

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_CORE_TENSOR_MAP_SPEC_H_
