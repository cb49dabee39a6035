/*!
 * \file tvmffi_cubin/launcher/plan.h
 * \brief The tables that a generated launcher consists of, and the entries that work on them.
 *
 * What works on them is hot.cc and cold.cc, compiled once a toolchain: a generated launcher
 * includes this file alone, which takes a fortieth of the time that compiling everything anew
 * would.
 */
#ifndef TVMFFI_CUBIN_LAUNCHER_PLAN_H_
#define TVMFFI_CUBIN_LAUNCHER_PLAN_H_

#include <tvm/ffi/c_api.h>

#include "../embed.h"
#include "../core/state.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief What a parameter takes; of a raw one the size is known alone; a map is a CUtensorMap. */
enum class Kind : uint8_t { kPointer, kInt, kUint, kFloat, kBfloat, kBool, kBytes, kRaw, kMap };

/*! \brief One parameter of an exported function; a row of a generated table. */
struct Param {
  const char* name;
  const char* type;  // C++ spelling, for messages
  Kind kind;
  bool strided;        // any strides will do
  bool in_expression;  // its integer, shape or strides are read by an expression
  uint32_t size;       // bytes of the kernel parameter
  uint32_t align;      // what a pointer's address is a multiple of; a power of two
  int32_t min_rank;    // dimensions that expressions read
  int32_t rank;        // exact rank where it was declared, else -1
  uint8_t num_dtypes;  // 0: any
  DLDataType dtypes[4];
  const char* dtype_names;  // for messages: "float32", "int8 or uint8"
  // What the kernel was compiled to assume of an integer: a multiple of `align`, or one value
  // alone.
  enum Assumed : uint8_t { kNothing, kMultiple, kValue } assumed;
  int64_t value;
};

/*! \brief One argument of a call, converted. */
struct Argument {
  void* address;           // of the value, what the driver copies from
  const DLTensor* tensor;  // where the argument is one
  int64_t integer;         // the value that expressions see
  union {
    void* pointer;
    int64_t i64;
    uint64_t u64;
    double f64;
    float f32;
    uint16_t u16;
    uint8_t u8;
  } storage;
};

/*! \brief An image that is embedded in this shared object, or lies in a file, with its name. */
struct EmbeddedImage {
  const void* const* table;  // EMBED_CUBIN's: read late, so that this is constant-initialised
  const char* name;
  Library library{};
  Gate gate{};                       // launches use it, unloading closes it
  struct ImageFile* file = nullptr;  // where it is not embedded: what the table says is then empty
};

/*! \brief One kernel, a row of a generated table. */
struct EmbeddedKernel {
  EmbeddedImage* image;
  const char* symbol;
  const char* display;     // as people write it
  const char* arches;      // those of the image's that have it; null: all
  DynamicSmemLimits smem;  // `everywhere` is filled in by the generator
  uint32_t max_threads;    // of a block, as many as every device lets it have; 0: not known yet
  uint32_t cluster[3];     // what the kernel itself fixes; zeros where it fixes none
  bool grid_in_clusters;   // the driver counts its grid in those, .blocksareclusters in PTX
  ClusterLimits clusters{};
  CUkern_st* handle = nullptr;
  const struct DeclaredParams* declared = nullptr;  // of a kernel in a file: what is passed to it
};

/*! \brief One attribute of a launch, laid out as CUlaunchAttribute, and read as one. */
struct __attribute__((may_alias, aligned(8))) LaunchAttribute {
  uint32_t id;  // of CUlaunchAttributeID
  uint32_t reserved;
  uint32_t words[16];
};

/*! \brief Where one kernel parameter comes from. */
struct Source {
  enum From : uint8_t { kArgument, kComputed, kConstant, kTensorMap, kScratch, kBound } from;
  int32_t index;         // of the argument, of the computed value, of the bound slot
  const void* constant;  // its bytes, in the kernel's own type; or a TensorMapPlan, a ScratchPlan
};

/*! \brief One launch of a function; a row of a generated table. */
struct LaunchPlan {
  EmbeddedKernel* kernel;
  const Source* sources;
  int32_t num_sources;
  int32_t num_computed;
  bool has_grid;   // else the caller gives it
  bool has_block;  // likewise
  bool reads_num_sms;
  // Null where there is nothing to evaluate. The caller's own figures are not: they may be given
  // because the launch's have no value for these arguments. (In registers: memory takes longer.)
  void (*evaluate)(struct Evaluation*, bool own_grid, bool own_block, bool own_smem);
  int32_t num_attributes;  // the most that `evaluate` sets
};

/*! \brief An exported function; a row of a generated table. */
struct FunctionPlan {
  const char* name;
  const Param* params;
  int32_t num_params;
  const LaunchPlan* launches;
  int32_t num_launches;
  int32_t num_slots;                   // computed values and kernel parameters of all launches
  int32_t num_maps;                    // tensor maps of all launches
  int32_t num_attributes;              // the most that all launches can have
  int32_t num_scratch;                 // kernel parameters that are memory for the call alone
  struct BoundTable* bound = nullptr;  // where some kernel parameter is bound
  const struct TargetPlan* target = nullptr;  // where its author says where it goes
};

/*! \brief One of several ways to launch under one name; a row of a generated table. */
struct Instance {
  FunctionPlan function;  // under the name that callers know
  const char* signature;  // "scale<float, 4>(const float* x, int n) when n % 4 == 0"
  bool when_reads_num_sms;
  void (*when)(struct Evaluation*);  // fails where a condition does not hold; null: always fits
};

/*! \brief An exported function of several instances: the first that fits is launched. */
struct DispatchPlan {
  const char* name;
  const Instance* instances;
  int32_t num_instances;
  int32_t most_params;  // of any instance
};

/*! \brief What tvm-ffi calls: one positional call. Returns 0, or -1 with an error raised. */
int Call(const FunctionPlan& function, const TVMFFIAny* args, int num_args);
int Call(const DispatchPlan& function, const TVMFFIAny* args, int num_args);

/*!
 * \brief One call with options in front of the arguments: stream, grid x y z, block x y z,
 * dynamic_smem_bytes, attributes (bytes: an array of LaunchAttribute, each in the place of the
 * function's own); None leaves each as the function says.
 */
int CallWithOptions(const FunctionPlan& function, const TVMFFIAny* args, int num_args);
int CallWithOptions(const DispatchPlan& function, const TVMFFIAny* args, int num_args);

/*! \brief Loads all kernels on the device that the one argument names; None: the current one. */
int Preload(EmbeddedKernel* kernels, int num_kernels, const TVMFFIAny* args, int num_args);

/*!
 * \brief Unloads images and releases contexts once no launch is under way; a later call loads and
 * retains them again.
 */
int Unload(EmbeddedImage* const* images, int num_images, EmbeddedKernel* kernels, int num_kernels);

/*!
 * \brief What a kernel can have resident. The arguments: its row, device, block x y z,
 * dynamic_smem_bytes, cluster x y z; the result: a JSON list of FindOccupancy's figures and of what
 * the driver says of the kernel there, in the order of `Occupancy` in Python.
 */
int DescribeOccupancy(EmbeddedKernel* kernels, int num_kernels, const TVMFFIAny* args, int num_args,
                      TVMFFIAny* result);

/*!
 * \brief Binds values all at once, or none where one is wrong. The arguments: the device, -1 for
 * the current one, None for all; for each value the slot's number, the value (None: nothing is
 * bound any more), and the object that keeps it alive, or None where it does so itself.
 */
int Bind(struct BoundTable* table, const TVMFFIAny* args, int num_args);

/*!
 * \brief What is bound: the object that keeps it alive, or None. The arguments: the device, as for
 * Bind, and the slot's number.
 */
int ReadBound(struct BoundTable* table, const TVMFFIAny* args, int num_args, TVMFFIAny* result);

/*! \brief Lets go of what is bound, as the shared object is unloaded. */
void ReleaseBound(struct BoundTable* table);

/*! \brief Makes a string for tvm-ffi. */
int ReturnText(const char* text, size_t size, TVMFFIAny* result);

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_LAUNCHER_PLAN_H_
