// Tensor maps as the driver makes them: of a tensor's memory, and what is wrong with one that it
// refuses. A function returns null, or the kind of an error whose text it has added.
#pragma once

#include "device.h"
#include "map_options.h"

TVMFFI_CUBIN_BEGIN

TVMFFI_CUBIN_DRIVER_ENTRY(cuTensorMapEncodeTiled, 12000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuTensorMapEncodeIm2col, 12000)

// What is known of an element's type.
struct TensorMapTypeFacts {
  const char* name;
  uint8_t code;  // DLPack's, of the types that tensors have
  uint8_t bits;
  uint8_t align;         // of addresses and strides, in bytes
  uint8_t inner_factor;  // of which the innermost dimension is a multiple
};

// What is known of a type, by CUDA's number: headers before 12.8 lack the packed ones.
inline const TensorMapTypeFacts& FactsOf(int type) {
  static constexpr TensorMapTypeFacts kFacts[] = {
      {"uint8", kDLUInt, 8, 16, 1},           {"uint16", kDLUInt, 16, 16, 1},
      {"uint32", kDLUInt, 32, 16, 1},         {"int32", kDLInt, 32, 16, 1},
      {"uint64", kDLUInt, 64, 16, 1},         {"int64", kDLInt, 64, 16, 1},
      {"float16", kDLFloat, 16, 16, 1},       {"float32", kDLFloat, 32, 16, 1},
      {"float64", kDLFloat, 64, 16, 1},       {"bfloat16", kDLBfloat, 16, 16, 1},
      {"float32_ftz", kDLFloat, 32, 16, 1},   {"tfloat32", kDLFloat, 32, 16, 1},
      {"tfloat32_ftz", kDLFloat, 32, 16, 1},  {"16u4_align8b", kDLUInt, 4, 16, 2},
      {"16u4_align16b", kDLUInt, 4, 32, 128}, {"16u6_align16b", kDLUInt, 6, 32, 128},
  };
  return kFacts[type];
}

// The type of maps that goes with a tensor's; -1 where there is none.
inline int MapTypeOf(DLDataType dtype) {
  if (dtype.code == kDLFloat4_e2m1fn) return 13;  // 16U4_ALIGN8B: torch has two a byte
  if (dtype.code == kDLFloat6_e2m3fn || dtype.code == kDLFloat6_e3m2fn) return 15;  // 16U6_ALIGN16B
  if (dtype.lanes != 1) return -1;
  if (dtype.bits == 8) return CU_TENSOR_MAP_DATA_TYPE_UINT8;  // a bool and each kind of float8, too
  const int code = dtype.code == kDLInt && dtype.bits == 16 ? int{kDLUInt} : dtype.code;
  int type = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  while (type >= 0 && (FactsOf(type).code != code || FactsOf(type).bits != dtype.bits)) --type;
  return type;
}

// What addresses and strides of a map are multiples of, in bytes.
inline int64_t MapAlignment(const TensorMapOptions& options, int type) {
  return options.interleave == CU_TENSOR_MAP_INTERLEAVE_32B ? 32 : FactsOf(type).align;
}

// Whether a map is for this rank; what follows relies on it.
inline const char* CheckMapRank(const TensorMapOptions& options, int rank, Text* text) {
  if (rank == options.rank) return nullptr;
  text->Add("the rank is %d, the map is for rank %d", rank, options.rank);
  return "ValueError";
}

// Works out the memory of a map: its own `global_dim`, else a tensor's shape and strides. There may
// be no tensor where the map has its own dimensions and its type.
inline const char* DescribeMemory(const TensorMapOptions& options, const DLTensor* tensor,
                                  void* address, TensorMapMemory* out, Text* text) {
  const bool is_own = options.has_global_dim;
  const int inner = options.rank - 1;
  const int type = options.type >= 0 ? options.type : MapTypeOf(tensor->dtype);
  const int64_t given = tensor == nullptr ? 0 : tensor->dtype.bits * tensor->dtype.lanes;
  if (!is_own) {
    if (const char* kind = CheckMapRank(options, tensor->ndim, text)) return kind;
  }
  if (type < 0) {
    text->Add(
        "tensor maps have no data type for elements of DLPack code %d, %d bits and %d lanes: name "
        "one of that size, such as uint%ld",
        tensor->dtype.code, tensor->dtype.bits, tensor->dtype.lanes, given);
    return "TypeError";
  }
  *out = {static_cast<CUtensorMapDataType>(type), address, options.rank, {}, {}};
  const TensorMapTypeFacts& facts = FactsOf(type);
  const int64_t held = is_own ? facts.bits : given;
  // Values of 4 and 6 bits come in bytes, too, since few frameworks have such types.
  if (held != facts.bits && (facts.bits >= 8 || held != 8)) {
    text->Add("data type %s has %d bits, the tensor's elements have %ld", facts.name, facts.bits,
              held);
    return "TypeError";
  }
  int64_t compact = 1;  // elements
  for (int i = inner; i >= 0; --i) {
    const int64_t size = is_own ? options.global_dim[i] : tensor->shape[i];
    const int64_t stride = is_own || tensor->strides == nullptr ? compact : tensor->strides[i];
    int64_t bits = 0;
    // What overflows, or is no whole bytes, is none that the driver takes.
    if (__builtin_mul_overflow(compact, size, &compact)) compact = INT64_MAX;
    if (__builtin_mul_overflow(stride, held, &bits) || bits % 8 != 0) bits = INT64_MAX - 7;
    out->shape[i] = size;
    if (i == inner && stride != 1 && size != 1) {
      text->Add("stride[%d], of the innermost dimension, is %ld elements, wanted 1", i, stride);
      return "ValueError";
    }
    if (options.has_global_strides) {
      out->strides[i] = i == inner ? 0 : options.global_strides[i];
    } else if (size == 1) {
      out->strides[i] = MapAlignment(options, type);  // of one element any that the driver takes
    } else {
      out->strides[i] = bits / 8;
    }
  }
  if (held != facts.bits) out->shape[inner] = out->shape[inner] * held / facts.bits;
  return nullptr;
}

// Says what is wrong with a map that the driver refuses, which has one answer for all of it: the
// first number that is none of those that it takes, else what it was asked for.
TVMFFI_CUBIN_COLD const char* AddMapRefusal(const TensorMapOptions& options,
                                            const TensorMapMemory& memory, const Status& status,
                                            Text* text) {
  static constexpr const char* kSwizzles[] = {
      "none", "32B", "64B", "128B", "128B_atom_32B", "128B_atom_32B_flip_8B", "128B_atom_64B"};
  static constexpr const char* kInterleaves[] = {"none", "16B", "32B"};
  const TensorMapTypeFacts& facts = FactsOf(memory.type);
  const int swizzle = options.swizzle, inner = memory.rank - 1;
  const bool is_tiled = !options.is_im2col, is_own = options.has_global_dim;
  const bool is_plain = options.interleave == CU_TENSOR_MAP_INTERLEAVE_NONE;
  const int64_t align = MapAlignment(options, memory.type);
  // Whether a number is none that the driver takes.
  const auto is_off = [&](const char* what, int index, int64_t value, int64_t least, int64_t most,
                          int64_t unit = 1) {
    if (value >= least && value <= most && value % unit == 0) return false;
    text->Add("%s[%d] is %ld, the driver takes ", what, index, value);
    if (unit != 1) text->Add("multiples of %ld, ", unit);
    return text->Add("%ld to %ld", least, most);
  };
  bool is_found = false;
  for (int i = 0; i <= inner && !is_found; ++i) {
    is_found = is_off(is_own ? "global_dim" : "shape", i, memory.shape[i], 1, INT64_C(1) << 32,
                      i == inner ? facts.inner_factor : 1) ||
               (i != inner && is_off(options.has_global_strides ? "global_strides" : "stride", i,
                                     memory.strides[i], 0, (INT64_C(1) << 40) - align, align)) ||
               (i != inner && is_tiled && is_off("box_dim", i, options.box_dim[i], 1, 256)) ||
               is_off("element_strides", i, options.element_strides[i], 1, 8);
  }
  // Along the innermost dimension whole 16 bytes, within what a swizzle permutes.
  const int permuted = swizzle > 3 ? 128 : 16 << swizzle;  // bytes
  const int64_t span = is_plain && swizzle != 0 ? permuted * 8 / facts.bits : 256;
  const bool is_whole = facts.inner_factor == 128;
  const bool is_free = is_whole || options.interleave == CU_TENSOR_MAP_INTERLEAVE_32B;
  is_found = is_found || is_off(is_tiled ? "box_dim" : "channels_per_pixel", is_tiled ? inner : 0,
                                is_tiled ? options.box_dim[inner] : options.channels_per_pixel,
                                is_whole ? 128 : 1, is_whole ? 128 : (span < 256 ? span : 256),
                                is_free ? 1 : 128 / facts.bits);
  if (!is_found && reinterpret_cast<uintptr_t>(memory.address) % static_cast<uintptr_t>(align)) {
    text->Add("the data lies at %p, wanted an address that is a multiple of %ld", memory.address,
              align);
    is_found = true;
  }
  if (!is_found) text->Add("%s", DescribeStatus(status).chars);
  text->Add(" (%s, swizzle '%s', interleave '%s')", facts.name, kSwizzles[swizzle],
            kInterleaves[options.interleave]);
  if (is_found) return "ValueError";
  const int arch = DeviceArch(CurrentDevice());
  const bool is_new = swizzle > CU_TENSOR_MAP_SWIZZLE_128B || facts.bits < 8;
  if (arch < 90) {
    text->Add(". Tensor maps need a device of compute capability 9.0");
  } else if (arch < 100 && is_new) {
    text->Add(
        ". Packed data types and '128B_atom_*' swizzles need a device of compute capability 10.0, "
        "and a driver of CUDA 12.8");
  }
  return "LaunchError";
}

// Makes a map of memory in the current context; the driver's order is made here. What is checked
// before is what the driver takes without a word.
inline const char* EncodeTensorMap(const TensorMapOptions& options, const TensorMapMemory& memory,
                                   CUtensorMap* out, Text* text) {
  if (const char* kind = CheckMapRank(options, memory.rank, text)) return kind;
  const int inner = memory.rank - 1;
  if (memory.address == nullptr) {
    text->Add("there is no data: the address is null");
    return "ValueError";
  }
  if (options.element_strides[inner] != 1 && options.interleave == CU_TENSOR_MAP_INTERLEAVE_NONE) {
    text->Add("element_strides[%d], of the innermost dimension, is %ld, wanted 1", inner,
              options.element_strides[inner]);
    return "ValueError";
  }
  // In 32 bits, one that the driver refuses where it does not fit.
  const auto number = [](int64_t value) {
    return value == static_cast<int>(value) ? static_cast<int>(value) : INT32_MAX;
  };
  const auto count = [number](int64_t value) { return static_cast<cuuint32_t>(number(value)); };
  cuuint64_t dims[kMaxMapRank], strides[kMaxMapRank] = {};
  cuuint32_t box[kMaxMapRank], steps[kMaxMapRank];
  int lower[kMaxMapRank], upper[kMaxMapRank];
  for (int i = 0; i <= inner; ++i) {
    dims[i] = static_cast<cuuint64_t>(memory.shape[inner - i]);
    if (i > 0) strides[i - 1] = static_cast<cuuint64_t>(memory.strides[inner - i]);
    box[i] = count(options.box_dim[inner - i]);
    steps[i] = count(options.element_strides[inner - i]);
  }
  for (int i = 0; i < inner - 1; ++i) {
    lower[i] = number(options.lower_corner[inner - 2 - i]);
    upper[i] = number(options.upper_corner[inner - 2 - i]);
  }
  const auto rank = static_cast<cuuint32_t>(memory.rank);
  const auto interleave = static_cast<CUtensorMapInterleave>(options.interleave);
  const auto swizzle = static_cast<CUtensorMapSwizzle>(options.swizzle);
  const auto promotion = static_cast<CUtensorMapL2promotion>(options.l2_promotion);
  const auto fill = static_cast<CUtensorMapFloatOOBfill>(options.oob_fill);
  const CUresult result =
      options.is_im2col
          ? entry::cuTensorMapEncodeIm2col(out, memory.type, rank, memory.address, dims, strides,
                                           lower, upper, count(options.channels_per_pixel),
                                           count(options.pixels_per_column), steps, interleave,
                                           swizzle, promotion, fill)
          : entry::cuTensorMapEncodeTiled(out, memory.type, rank, memory.address, dims, strides,
                                          box, steps, interleave, swizzle, promotion, fill);
  if (__builtin_expect(result != CUDA_SUCCESS, 0)) {
    const char* call = options.is_im2col ? "cuTensorMapEncodeIm2col" : "cuTensorMapEncodeTiled";
    return AddMapRefusal(options, memory, {result, call}, text);
  }
  if (driver_state.version >= 13020) return nullptr;
  // Before, the driver sets bit 85 in every map, and devices of compute capability 10.0 address
  // memory beyond a small tensor's, which may be no one's; older ones do not read it.
  constexpr int64_t kSmall = 128 << 10;  // bytes from first to last
  int64_t bytes = memory.shape[inner] * FactsOf(memory.type).bits / 8;
  for (int i = 0; i < inner && bytes < kSmall; ++i) {
    const bool is_far = memory.shape[i] > 1 && memory.strides[i] >= kSmall;
    bytes += is_far ? kSmall : (memory.shape[i] - 1) * memory.strides[i];
  }
  if (bytes < kSmall) out->opaque[1] &= ~(UINT64_C(1) << 21);
  return nullptr;
}

TVMFFI_CUBIN_END
