/*!
 * \file tvmffi_cubin/core/tensor_map_encode.h
 * \brief EncodeTensorMap: a tensor's map, checked and made by the driver; no C++ library needed.
 */
#ifndef TVMFFI_CUBIN_CORE_TENSOR_MAP_ENCODE_H_
#define TVMFFI_CUBIN_CORE_TENSOR_MAP_ENCODE_H_

#include "library.h"
#include "tensor_map_check.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

TVMFFI_CUBIN_DRIVER_ENTRY(cuTensorMapEncodeTiled, 12000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuTensorMapEncodeIm2col, 12000)

static_assert(CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ == static_cast<int>(TensorMapType::kTfloat32Ftz),
              "the numbers are the driver's");

/*! \brief Says that the driver refuses a map that passed the checks, and all that it was given. */
bool FailEncoding(const TensorMapSpec& spec, const TensorMapMemory& memory, const Status& status,
                  TensorMapProblem* problem);

/*! \brief Whether the current device has the shared memory that one load takes. */
bool CheckMapLoad(const TensorMapSpec& spec, int64_t bytes, TensorMapProblem* problem);

/*! \brief The driver's version, once a map has asked for it. */
inline int map_driver_version = 0;

/*!
 * \brief Whether the driver sets bit 85 of every map. Devices of compute capability 10.0 then
 * address memory beyond a small tensor's, which may be no one's (a known issue of
 * cuTensorMapEncodeTiled before CUDA 13.2); older ones do not read the bit.
 */
inline bool MarksEveryMap() {
  int version = __atomic_load_n(&map_driver_version, __ATOMIC_RELAXED);
  if (__builtin_expect(version == 0, 0)) {
    const Driver* driver = OpenDriver();
    if (driver == nullptr || driver->cuDriverGetVersion(&version) != CUDA_SUCCESS) return false;
    __atomic_store_n(&map_driver_version, version, __ATOMIC_RELAXED);
  }
  return version < 13020;
}

/*! \brief Clears that bit of a map of less than 128 KiB from first to last byte. */
inline void UnmarkSmallMap(const TensorMapMemory& memory, CUtensorMap* out) {
  constexpr int64_t kLarge = 128 << 10;
  const int inner = memory.rank - 1;
  int64_t bytes = memory.shape[inner] * FactsOf(memory.type).bits / 8;
  for (int i = 0; i < inner; ++i) {
    if (memory.shape[i] > 1 && memory.strides[i] >= kLarge) return;
    bytes += (memory.shape[i] - 1) * memory.strides[i];
  }
  if (bytes < kLarge && MarksEveryMap()) out->opaque[1] &= ~(UINT64_C(1) << 21);
}

/*! \brief What every device has: for loads up to that, none is asked. */
constexpr int64_t kSmallMapLoad = 48 << 10;

/*! \brief Makes a map of memory; the driver's order of dimensions is made here. */
inline bool EncodeTensorMap(const TensorMapSpec& spec, const TensorMapMemory& memory,
                            CUtensorMap* out, TensorMapProblem* problem) {
  if (!CheckTensorMap(spec, memory, problem)) return false;
  const int64_t bytes = MapLoadBytes(spec, memory.type);
  if (bytes > kSmallMapLoad && !CheckMapLoad(spec, bytes, problem)) return false;
  const int rank = memory.rank;
  cuuint64_t dims[kMaxMapRank], strides[kMaxMapRank] = {};
  cuuint32_t box[kMaxMapRank], steps[kMaxMapRank];
  int lower[kMaxMapCorners], upper[kMaxMapCorners];
  for (int i = 0; i < rank; ++i) {
    const int from = rank - 1 - i;
    dims[i] = static_cast<cuuint64_t>(memory.shape[from]);
    if (i > 0) strides[i - 1] = static_cast<cuuint64_t>(memory.strides[from]);
    box[i] = static_cast<cuuint32_t>(spec.box_dim[from]);
    steps[i] =
        spec.num_element_strides == 0 ? 1 : static_cast<cuuint32_t>(spec.element_strides[from]);
  }
  for (int i = 0; i < rank - 2; ++i) {
    lower[i] = static_cast<int>(spec.lower_corner[rank - 3 - i]);
    upper[i] = static_cast<int>(spec.upper_corner[rank - 3 - i]);
  }
  const auto type = static_cast<CUtensorMapDataType>(memory.type);
  const auto interleave = static_cast<CUtensorMapInterleave>(spec.interleave);
  const auto swizzle = static_cast<CUtensorMapSwizzle>(spec.swizzle);
  const auto promotion = static_cast<CUtensorMapL2promotion>(spec.l2_promotion);
  const auto fill = static_cast<CUtensorMapFloatOOBfill>(spec.oob_fill);
  const auto number = static_cast<cuuint32_t>(rank);
  Status status;
  if (spec.mode == TensorMapMode::kTiled) {
    status.call = "cuTensorMapEncodeTiled";
    status.result = entry::cuTensorMapEncodeTiled(
        out, type, number, memory.address, static_cast<const cuuint64_t*>(dims),
        static_cast<const cuuint64_t*>(strides), static_cast<const cuuint32_t*>(box),
        static_cast<const cuuint32_t*>(steps), interleave, swizzle, promotion, fill);
  } else {
    status.call = "cuTensorMapEncodeIm2col";
    status.result = entry::cuTensorMapEncodeIm2col(
        out, type, number, memory.address, static_cast<const cuuint64_t*>(dims),
        static_cast<const cuuint64_t*>(strides), static_cast<const int*>(lower),
        static_cast<const int*>(upper), static_cast<cuuint32_t>(spec.channels_per_pixel),
        static_cast<cuuint32_t>(spec.pixels_per_column), static_cast<const cuuint32_t*>(steps),
        interleave, swizzle, promotion, fill);
  }
  if (__builtin_expect(!status.ok(), 0)) return FailEncoding(spec, memory, status, problem);
  UnmarkSmallMap(memory, out);
  return true;
}

/*!
 * \brief Makes a map of a tensor, in the context that is current.
 * \param spec What the map is to be.
 * \param tensor The tensor; it has to outlive what is launched with the map.
 * \param out The map.
 * \param problem What is wrong where it returns false.
 */
inline bool EncodeTensorMap(const TensorMapSpec& spec, const DLTensor& tensor, CUtensorMap* out,
                            TensorMapProblem* problem) {
  TensorMapMemory memory;
  return DescribeMemory(spec, tensor, &memory, problem) &&
         EncodeTensorMap(spec, memory, out, problem);
}

#ifndef TVMFFI_CUBIN_COLD_COMPILED

TVMFFI_CUBIN_COLD bool CheckMapLoad(const TensorMapSpec& spec, int64_t bytes,
                                    TensorMapProblem* problem) {
  const Driver* driver = OpenDriver();
  if (driver == nullptr) return true;  // the call itself says so
  const int device = CurrentDevice(driver);
  const int most =
      DeviceAttribute(driver, device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
  if (most <= 0 || bytes <= most) return true;
  return FailMap(problem, "LaunchLimitError",
                 "one load (%s) is %lld bytes, device %d takes at most %d, the shared memory of a "
                 "multiprocessor (CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR)",
                 spec.mode == TensorMapMode::kTiled ? "box_dim over element_strides"
                                                    : "channels_per_pixel * pixels_per_column",
                 static_cast<long long>(bytes), device, most);
}

/*! \brief What a device lacks for a map, for messages; empty where nothing is known of that. */
TVMFFI_CUBIN_COLD const char* MissingForMap(const TensorMapSpec& spec, TensorMapType type) {
  const Driver* driver = OpenDriver();
  if (driver == nullptr) return "";
  const int major =
      DeviceAttribute(driver, CurrentDevice(driver), CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  if (major >= 0 && major < 9)
    return ". The device is older than compute capability 9.0, which tensor maps need";
  const bool newer = spec.swizzle > TensorMapSwizzle::k128B || type > TensorMapType::kTfloat32Ftz;
  if (newer && major < 10) {
    return ". Packed data types and '128B_atom_*' swizzles need a device of compute capability "
           "10.0, and a driver of CUDA 12.8";
  }
  return "";
}

TVMFFI_CUBIN_COLD bool FailEncoding(const TensorMapSpec& spec, const TensorMapMemory& memory,
                                    const Status& status, TensorMapProblem* problem) {
  char call[320], shape[200] = "", strides[200] = "", box[200] = "";
  DescribeStatus(status, call, sizeof(call));
  const auto list = [&](char (&text)[200], const int64_t* values, int count) {
    for (int i = 0; i < count; ++i) {
      const size_t used = strlen(text);
      snprintf(text + used, sizeof(text) - used, i == 0 ? "%lld" : ", %lld",
               static_cast<long long>(values[i]));
    }
  };
  list(shape, memory.shape, memory.rank);
  list(strides, memory.strides, memory.rank - 1);
  list(box, spec.box_dim, spec.mode == TensorMapMode::kTiled ? spec.rank : 0);
  return FailMap(problem, "LaunchError",
                 "%s. It was asked for %s of %s at %p, shape (%s), strides in bytes (%s), box_dim "
                 "(%s), swizzle '%s', interleave '%s'%s",
                 call, spec.mode == TensorMapMode::kTiled ? "boxes" : "pixels",
                 FactsOf(memory.type).name, memory.address, shape, strides, box,
                 kTensorMapSwizzles[static_cast<int>(spec.swizzle)],
                 kTensorMapInterleaves[static_cast<int>(spec.interleave)],
                 MissingForMap(spec, memory.type));
}

#endif  // TVMFFI_CUBIN_COLD_COMPILED

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_CORE_TENSOR_MAP_ENCODE_H_
