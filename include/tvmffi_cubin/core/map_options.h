// Tensor maps as users write them: what one is asked to be, and the memory that it describes.
#pragma once

#include "driver.h"

TVMFFI_CUBIN_BEGIN

constexpr int kMaxMapRank = 5;
constexpr int kMaxMapCorners = kMaxMapRank - 2;

/// What a tensor map is to be. Dimensions are as the tensor has them, outermost first; setters
/// return it, so it can be composed. Modes are the driver's numbers.
struct __attribute__((visibility("default"))) TensorMapOptions {
  bool is_im2col = false;  // pixels of an image as a convolution reads them, else boxes
  int8_t type = -1;        // CUtensorMapDataType; -1: the tensor's
  uint8_t swizzle = CU_TENSOR_MAP_SWIZZLE_NONE;
  uint8_t interleave = CU_TENSOR_MAP_INTERLEAVE_NONE;
  uint8_t l2_promotion = CU_TENSOR_MAP_L2_PROMOTION_NONE;
  uint8_t oob_fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;
  bool has_global_dim = false;      // else the tensor's own shape and strides
  bool has_global_strides = false;  // else without gaps
  int32_t rank = 0;                 // of the tensor that it is for
  // The words from here on are known to generated launchers by their numbers.
  int64_t box_dim[kMaxMapRank] = {};  // tiled
  int64_t element_strides[kMaxMapRank] = {1, 1, 1, 1, 1};
  int64_t lower_corner[kMaxMapCorners] = {};  // im2col: of all dimensions but the first and last
  int64_t upper_corner[kMaxMapCorners] = {};
  int64_t channels_per_pixel = 0;
  int64_t pixels_per_column = 0;
  int64_t global_dim[kMaxMapRank] = {};          // in elements of the map's type
  int64_t global_strides[kMaxMapRank - 1] = {};  // in bytes

  /// Boxes of elements.
  /// \param box_dim The box's size in elements in each of the tensor's dimensions, 1 to 256.
  template <int kRank>
  static TensorMapOptions Tiled(const int64_t (&box_dim)[kRank]) {
    static_assert(kRank <= kMaxMapRank, "tensor maps have up to five dimensions");
    TensorMapOptions options;
    options.rank = kRank;
    memcpy(options.box_dim, box_dim, sizeof(box_dim));
    return options;
  }

  /// Pixels of an image (N, W, C), (N, H, W, C) or (N, D, H, W, C), as a convolution reads them.
  /// \param lower_corner Of W; of H and W; or of D, H and W: where the box of pixels begins, from
  /// the tensor's beginning.
  /// \param upper_corner Where it ends, from the tensor's end.
  /// \param channels_per_pixel Elements along C of one load, 1 to 256.
  /// \param pixels_per_column Pixels of one load, 1 to 1024.
  template <int kSpatial>
  static TensorMapOptions Im2col(const int64_t (&lower_corner)[kSpatial],
                                 const int64_t (&upper_corner)[kSpatial],
                                 int64_t channels_per_pixel, int64_t pixels_per_column) {
    static_assert(kSpatial <= kMaxMapCorners, "one to three dimensions lie between N and C");
    TensorMapOptions options;
    options.is_im2col = true;
    options.rank = kSpatial + 2;
    options.channels_per_pixel = channels_per_pixel;
    options.pixels_per_column = pixels_per_column;
    memcpy(options.lower_corner, lower_corner, sizeof(lower_corner));
    memcpy(options.upper_corner, upper_corner, sizeof(upper_corner));
    return options;
  }

  /// The step from one element to the next in each dimension, 1 to 8; all 1 unless set.
  template <int kRank>
  TensorMapOptions& SetElementStrides(const int64_t (&strides)[kRank]) {
    static_assert(kRank <= kMaxMapRank, "tensor maps have up to five dimensions");
    memcpy(element_strides, strides, sizeof(strides));
    return *this;
  }

  TensorMapOptions& SetSwizzle(CUtensorMapSwizzle mode) {
    swizzle = static_cast<uint8_t>(mode);
    return *this;
  }
  TensorMapOptions& SetInterleave(CUtensorMapInterleave mode) {
    interleave = static_cast<uint8_t>(mode);
    return *this;
  }
  TensorMapOptions& SetL2Promotion(CUtensorMapL2promotion mode) {
    l2_promotion = static_cast<uint8_t>(mode);
    return *this;
  }
  TensorMapOptions& SetOobFill(CUtensorMapFloatOOBfill mode) {
    oob_fill = static_cast<uint8_t>(mode);
    return *this;
  }

  /// Another type than the tensor's, of elements of the same size; or a packed one, whose 4- or
  /// 6-bit values the tensor has in bytes: shape and box_dim then count values.
  TensorMapOptions& SetDataType(CUtensorMapDataType data_type) {
    type = static_cast<int8_t>(data_type);
    return *this;
  }
};

/// The memory that a map describes.
struct TensorMapMemory {
  CUtensorMapDataType type;
  void* address;
  int32_t rank;
  int64_t shape[kMaxMapRank];    // in elements of `type`
  int64_t strides[kMaxMapRank];  // in bytes; the innermost, one element, is not asked for
};

TVMFFI_CUBIN_END
