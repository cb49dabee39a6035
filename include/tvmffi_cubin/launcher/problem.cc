#include "problem.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief What a parameter takes of which the size is known alone. */
static const char* DescribeWantedRaw(const Param& param) {
  if (param.in_expression) return "an int: an expression of the launch reads it";
  switch (param.size) {
    case 8:
      return "a tensor, None (a null pointer), an address as ctypes.c_void_p, an int, a float or "
             "bytes of its size";
    case 4:
      return "an int, a float or bytes of its size";
    case 2:
      return "an int or bytes of its size";
    case 1:
      return "an int, a bool or bytes of its size";
    default:
      return "bytes of its size";
  }
}

/*! \brief What a parameter takes, for "wanted ...". */
static const char* DescribeWanted(const Param& param) {
  switch (param.kind) {
    case Kind::kPointer:
      if (strcmp(param.type, "CUstream") == 0 || strcmp(param.type, "cudaStream_t") == 0) {
        return "a stream: an object with __cuda_stream__, its handle as ctypes.c_void_p (as an int "
               "where params declares int64_t), or None, the default stream";
      }
      return "a tensor, None (a null pointer), or an address as ctypes.c_void_p";
    case Kind::kBytes:
      return "bytes of the struct's own layout";
    case Kind::kMap:
      return "bytes of a CUtensorMap, or the address of one in host memory as ctypes.c_void_p";
    case Kind::kRaw:
      return DescribeWantedRaw(param);
    case Kind::kBool:
      return "a bool";
    case Kind::kFloat:
    case Kind::kBfloat:
      return "a number";
    default:
      return "an int";
  }
}

/*! \brief A number that the parameter's type cannot hold. */
static void DescribeRange(const Param& param, const TVMFFIAny& any, Text* text) {
  const Text got = DescribeArgument(any);
  const bool is_raw = param.kind == Kind::kRaw;
  const bool is_integer = param.kind == Kind::kInt || param.kind == Kind::kUint || is_raw;
  if (!is_integer || any.type_index == kTVMFFIFloat) {
    snprintf(text->chars, sizeof(text->chars), "%.200s is out of range: it would become inf",
             got.chars);
    return;
  }
  const bool is_signed = param.kind == Kind::kInt;
  const int bits = static_cast<int>(param.size) * 8;
  const long long low = is_signed || is_raw ? -(1LL << (bits - 2)) * 2 : 0;
  const unsigned long long high = ~0ULL >> (64 - bits + (is_signed ? 1 : 0));
  snprintf(text->chars, sizeof(text->chars), "%.200s is out of range %lld to %llu", got.chars, low,
           high);
}

/*! \brief What is wrong with a tensor. */
static void DescribeTensorProblem(const Param& param, const DLTensor& tensor, Problem problem,
                                  Text* text) {
  char* out = text->chars;
  constexpr size_t kSize = sizeof(text->chars);
  switch (problem) {
    case Problem::kDType:
      snprintf(out, kSize, "got a tensor of dtype %.99s, wanted %.99s",
               DescribeDType(tensor.dtype).chars, param.dtype_names);
      return;
    case Problem::kRank:
      snprintf(out, kSize, "got a tensor of rank %d, wanted rank %d", tensor.ndim, param.rank);
      return;
    case Problem::kFewDimensions:
      snprintf(out, kSize,
               "got a tensor of rank %d, wanted rank %d or more: an expression of the launch reads "
               "dimension %d",
               tensor.ndim, param.min_rank, param.min_rank - 1);
      return;
    case Problem::kNotContiguous:
      snprintf(out, kSize,
               "got a tensor that is not contiguous, wanted a contiguous one: call .contiguous(), "
               "or name it in strided= of its Launch if the kernel handles strides");
      return;
    default:
      return;
  }
}

const char* DescribeProblem(const Param& param, const TVMFFIAny& any, Problem problem, Text* text) {
  char* out = text->chars;
  constexpr size_t kSize = sizeof(text->chars);
  const DLTensor* tensor = AsTensor(any);
  TVMFFIByteArray content{};
  switch (problem) {
    case Problem::kType:
      snprintf(
          out, kSize, "got %.99s, wanted %s%s", DescribeArgument(any).chars, DescribeWanted(param),
          param.kind == Kind::kRaw ? "; the image does not tell its type: declare it with params="
                                   : "");
      return "TypeError";
    case Problem::kRange:
      DescribeRange(param, any, text);
      break;
    case Problem::kBeyondExpressions:
      snprintf(out, kSize,
               "an expression reads it and cannot hold values above 9223372036854775807");
      break;
    case Problem::kStructSize:
      AsBytes(any, &content);
      snprintf(out, kSize, "got %zu bytes, wanted %u, the %s size", content.size, param.size,
               param.kind == Kind::kRaw ? "parameter's" : "struct's");
      break;
    case Problem::kMisaligned:
      snprintf(out, kSize, "the data lies at %p, wanted an address that is a multiple of %u",
               tensor != nullptr ? DataOf(*tensor) : any.v_ptr, param.align);
      break;
    case Problem::kNoTensor:
      snprintf(out, kSize, "got %s, wanted a tensor: the launch reads its shape or its dtype",
               any.type_index == kTVMFFINone ? "None" : "an address");
      break;
    case Problem::kNotMultiple:
      snprintf(out, kSize, "got %.200s, wanted a multiple of %u: the kernel was compiled for that",
               DescribeArgument(any).chars, param.align);
      break;
    case Problem::kOtherValue:
      snprintf(out, kSize, "got %.200s, wanted %lld: the kernel was compiled for that alone",
               DescribeArgument(any).chars, static_cast<long long>(param.value));
      break;
    case Problem::kHalf:
      snprintf(out, kSize,
               "got %.99s for 2 bytes, which may be fp16 or bf16: declare the type, as in "
               "params=\"__half %.99s\"",
               DescribeArgument(any).chars, param.name);
      return "TypeError";
    case Problem::kUnreadable:
      snprintf(out, kSize,
               "the %u bytes at %p cannot be read, wanted the address of a CUtensorMap in host "
               "memory",
               param.size, any.v_ptr);
      break;
    default:
      DescribeTensorProblem(param, *tensor, problem, text);
  }
  return problem == Problem::kDType ? "TypeError" : "ValueError";
}

int FailArgument(const char* function, const Param& param, int position, const TVMFFIAny& any,
                 Problem problem) {
  Text text;
  const char* kind = DescribeProblem(param, any, problem, &text);
  return Fail(kind, "%s: argument %d (%s: %s): %s", function, position, param.name, param.type,
              text.chars);
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin
