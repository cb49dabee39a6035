/*!
 * \file tvmffi_cubin/tensor_map.h
 * \brief TensorMap: what the Tensor Memory Accelerator (TMA) needs to know of a tensor, as the
 * argument of a kernel's `const __grid_constant__ CUtensorMap` parameter.
 *
 * \code{.cpp}
 * using namespace tvmffi_cubin;
 * // x is a TensorView of shape (m, k): boxes of 64 rows and 64 columns.
 * TensorMap map(x, TensorMapOptions::Tiled({64, 64}).SetSwizzle(TensorMapSwizzle::k128B));
 * void* args[] = {&map, &n};
 * \endcode
 */
#pragma once

#include <type_traits>
#include <utility>

#include "check_driver.h"
#include "core/tensor_map.h"

TVMFFI_CUBIN_BEGIN

/*!
 * \brief What a TensorMap is to be. Dimensions are as the tensor has them, outermost first; setters
 * return it, so it can be composed.
 */
class __attribute__((visibility("default"))) TensorMapOptions {
 public:
  /*!
   * \brief Boxes of elements.
   * \param box_dim The box's size in elements in each of the tensor's dimensions, 1 to 256.
   */
  template <int kRank>
  static TensorMapOptions Tiled(const int64_t (&box_dim)[kRank]) {
    static_assert(kRank <= kMaxMapRank, "tensor maps have up to five dimensions");
    return Tiled(box_dim, kRank);
  }
  static TensorMapOptions Tiled(const int64_t* box_dim, int rank) {
    TensorMapOptions options;
    options.spec_.rank = rank;
    for (int i = 0; i < rank && i < kMaxMapRank; ++i) options.spec_.box_dim[i] = box_dim[i];
    return options;
  }

  /*!
   * \brief Pixels of an image (N, W, C), (N, H, W, C) or (N, D, H, W, C), as a convolution reads
   * them.
   * \param lower_corner Of W; of H and W; or of D, H and W: where the box of pixels begins, from
   * the tensor's beginning.
   * \param upper_corner Where it ends, from the tensor's end.
   * \param channels_per_pixel Elements along C of one load, 1 to 256.
   * \param pixels_per_column Pixels of one load, 1 to 1024.
   */
  template <int kSpatial>
  static TensorMapOptions Im2col(const int64_t (&lower_corner)[kSpatial],
                                 const int64_t (&upper_corner)[kSpatial],
                                 int64_t channels_per_pixel, int64_t pixels_per_column) {
    static_assert(kSpatial <= kMaxMapCorners, "one to three dimensions lie between N and C");
    TensorMapOptions options;
    options.spec_.mode = TensorMapMode::kIm2col;
    options.spec_.rank = kSpatial + 2;
    options.spec_.channels_per_pixel = channels_per_pixel;
    options.spec_.pixels_per_column = pixels_per_column;
    for (int i = 0; i < kSpatial; ++i) {
      options.spec_.lower_corner[i] = lower_corner[i];
      options.spec_.upper_corner[i] = upper_corner[i];
    }
    return options;
  }

  /*! \brief The step from one element to the next in each dimension, 1 to 8; all 1 unless set. */
  template <int kRank>
  TensorMapOptions& SetElementStrides(const int64_t (&element_strides)[kRank]) {
    static_assert(kRank <= kMaxMapRank, "tensor maps have up to five dimensions");
    spec_.num_element_strides = kRank;
    for (int i = 0; i < kRank; ++i) spec_.element_strides[i] = element_strides[i];
    return *this;
  }

  TensorMapOptions& SetSwizzle(TensorMapSwizzle swizzle) {
    spec_.swizzle = swizzle;
    return *this;
  }

  TensorMapOptions& SetInterleave(TensorMapInterleave interleave) {
    spec_.interleave = interleave;
    return *this;
  }

  TensorMapOptions& SetL2Promotion(TensorMapL2Promotion promotion) {
    spec_.l2_promotion = promotion;
    return *this;
  }

  TensorMapOptions& SetOobFill(TensorMapOobFill fill) {
    spec_.oob_fill = fill;
    return *this;
  }

  /*!
   * \brief Another type than the tensor's, of elements of the same size; or a packed one, whose 4-
   * or 6-bit values the tensor has in bytes: shape and box_dim then count values.
   */
  TensorMapOptions& SetDataType(TensorMapType type) {
    spec_.type = type;
    return *this;
  }

  const TensorMapSpec& Get() const { return spec_; }

 private:
  TensorMapSpec spec_;
};

/*!
 * \brief A tensor map. It is a value of 128 bytes to be made anew for each launch: it holds the
 * tensor's address, and keeps nothing alive.
 */
class __attribute__((visibility("default"))) TensorMap {
 public:
  /*! \brief No map; to be assigned to. */
  TensorMap() = default;

  /*!
   * \brief Makes the map of a tensor.
   * \param tensor The tensor; its strides are the map's, the innermost has to be 1. It is on a
   * CUDA device or in pinned or managed memory.
   * \param options What the map is to be.
   * \throws ValueError, TypeError The driver does not take such a map; the message has the value
   * and the limit.
   * \throws LaunchError The driver refuses it all the same.
   */
  TensorMap(const DLTensor& tensor, const TensorMapOptions& options) {
    const bool on_cuda = tensor.device.device_type == kDLCUDA;
    if (!on_cuda && !IsHostMemoryForKernels(tensor)) {
      Throw("ValueError",
            "TensorMap: the tensor is in host memory (DLPack's device type %d), wanted a CUDA "
            "device's (pinned and managed host memory will do)",
            static_cast<int>(tensor.device.device_type));
    }
    TensorMapProblem problem;
    TensorMapMemory memory;
    void* const address =
        reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(tensor.data) + tensor.byte_offset);
    if (!DescribeMemory(options.Get(), &tensor, address, &memory, &problem)) {
      Throw(problem.kind, "TensorMap: %s", problem.text);
    }
    Make(options, memory, on_cuda ? tensor.device.device_id : -1);
  }

  /*! \brief The same of a tvm::ffi::TensorView or Tensor. */
  template <typename Tensor, typename = decltype(std::declval<const Tensor&>().byte_offset())>
  TensorMap(const Tensor& tensor, const TensorMapOptions& options)
      : TensorMap(DLTensor{tensor.data_ptr(), tensor.device(),
                           static_cast<int32_t>(tensor.shape().size()), tensor.dtype(),
                           const_cast<int64_t*>(tensor.shape().data()),
                           const_cast<int64_t*>(tensor.strides().data()),
                           static_cast<uint64_t>(tensor.byte_offset())},
                  options) {}

  /*!
   * \brief Makes a map of memory without a tensor.
   * \param memory Type, address, rank, shape in elements and strides in bytes. The options' data
   * type is not looked at.
   * \param device The device it is for; -1: the current one.
   */
  static TensorMap OfMemory(const TensorMapMemory& memory, const TensorMapOptions& options,
                            int device = -1) {
    TensorMap map;
    map.Make(options, memory, device);
    return map;
  }

  /*! \brief What the driver made. */
  const CUtensorMap& Get() const { return map_; }

 private:
  void Make(const TensorMapOptions& options, const TensorMapMemory& memory, int device) {
    TensorMapProblem problem;
    DeviceScope scope;
    RequireDriver();
    if (device >= 0) CheckDriver(scope.Enter(device));
    // Not straight into this object: gcc 12 puts the value that `map = TensorMap(...)` assigns from
    // at addresses that are multiples of 16 alone, and the driver takes multiples of 64.
    CUtensorMap made;
    if (!EncodeTensorMap(options.Get(), memory, &made, &problem)) {
      Throw(problem.kind, "TensorMap: %s", problem.text);
    }
    __builtin_memcpy(static_cast<void*>(this), &made, sizeof(made));
  }

  CUtensorMap map_{};
};

static_assert(sizeof(TensorMap) == sizeof(CUtensorMap) && std::is_trivially_copyable_v<TensorMap>,
              "kernels take it by value");

TVMFFI_CUBIN_END
