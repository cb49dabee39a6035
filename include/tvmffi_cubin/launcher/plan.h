// The tables of a generated launcher: assembly text, which the body interprets.
//
// This file defines the layout for both sides: rows are little-endian, in member order, with C's
// padding. The generator relies on the assertions at the end.
#pragma once

#include <tvm/ffi/c_api.h>

#include "../core/limits.h"
#include "../core/tensor_map.h"

TVMFFI_CUBIN_BEGIN

// What a parameter takes; for a raw one only the size is known; a map is a CUtensorMap.
enum class Kind : uint8_t { kPointer, kInt, kUint, kFloat, kBfloat, kBool, kBytes, kRaw, kMap };

struct Param {
  const char* name;
  const char* type;  // C++ spelling, for messages
  int64_t value;     // the only value that the kernel takes (kValue)
  DLDataType dtypes[4];
  uint32_t size;     // bytes of the kernel parameter
  uint32_t align;    // of an address; or factor of an integer (kMultiple); a power of two
  int32_t min_rank;  // dimensions that expressions read
  int32_t rank;      // exact rank if declared, else -1
  Kind kind;
  enum Assumed : uint8_t { kNothing, kMultiple, kValue } assumed;
  uint8_t num_dtypes;  // 0: any
  bool strided;        // any strides are accepted
  bool in_expression;  // an expression reads its integer, shape or strides
};

// Opcodes of postfix expressions over int64. Operands follow the opcode, little-endian, unaligned.
// Arithmetic records overflow and division by zero; comparisons give 0 or 1.
struct Op {
  enum Code : uint8_t {
    kEnd,                   // the top of the stack is the value
    kPush,                  // i64
    kWord,                  // u16 parameter; its integer, or address
    kNumel,                 // u16 parameter
    kShape,                 // u16 parameter, i8 dimension (negative: from the end)
    kStride,                // u16 parameter, i8 dimension
    kNumSms,                // multiprocessors of the launch's device, queried on first use
    kMaxCooperativeBlocks,  // see MaxCooperativeBlocks
    kAdd,
    kSub,
    kMul,
    kFloorDiv,
    kMod,
    kCeilDiv,
    kMin,
    kMax,
    kEq,
    kNe,
    kLt,
    kLe,
    kGt,
    kGe,
    kNot,          // 0 becomes 1, anything else 0
    kBranchFalse,  // u16 bytes to skip if the top is zero, which stays; else pops it
    kBranchTrue,   // u16; the same if the top is not zero
  };
};

// The deepest stack that an expression may need; the generator rejects deeper ones.
constexpr int kMaxStack = 32;

// A figure: a constant, or an expression.
struct Figure {
  const uint8_t* code;  // null: `value` is the figure
  const char* text;     // the expression as the user wrote it, for messages
  int64_t value;
};

// One step of evaluating a launch; steps run in order.
struct Step {
  Figure figure;
  enum Target : uint8_t {
    kWhen,        // a condition that must hold; it comes first and is not run as a step
    kFigure,      // grid.x y z, block.x y z, dynamic_smem_bytes: by `number`, from 0
    kDimensions,  // dimension `number` of a three-dimensional attribute; all three, 0 first
    kInteger,     // an integer attribute
    kFlag,        // an on/off attribute; off omits it
    kEvent,       // an attribute that is an event handle; 0 omits it
    kRaw,         // an attribute as raw bytes: `text` points to them, `value` is their number
    kComputed,    // kernel argument computed[number], of `id` bytes
    kMapWord,     // word `number` of a tensor map's options (see TensorMapPlan)
  } target;
  Kind kind;  // kComputed's
  uint16_t number;
  uint16_t id;     // the attribute's, as in CUlaunchAttributeID
  uint8_t option;  // see CallOptions::given; 63: none
};

// An image embedded in this shared object, or in a file. Writable.
struct EmbeddedImage {
  Library library;
  const char* name;
  const char* path;  // for one in a file, relative to the shared object's folder; else null
  Gate gate;         // launches use it, unloading closes it
  // For one in a file. Never freed, because they may be in use.
  const char* folder;   // replaces the shared object's, or null
  TVMFFIObject* maker;  // a tvm-ffi function that makes a missing file, or null
};

// One kernel. Writable.
struct EmbeddedKernel {
  EmbeddedImage* image;
  const char* symbol;      // for one in a file, that or a part of it
  const char* display;     // human-readable name
  const char* arches;      // the image's architectures that have it; null: all
  const uint32_t* params;  // for one in a file: the size of each parameter passed, in bytes
  CUkern_st* handle;
  OptedIn opted_in;
  uint32_t cluster[3];  // the driver's unit for its grid (.blocksareclusters in PTX), or zeros
  uint32_t num_params;  // in `params`
};

// Where one kernel parameter comes from.
struct Source {
  enum From : uint8_t { kArgument, kComputed, kConstant, kTensorMap, kScratch, kBound } from;
  int32_t index;     // of the argument, of the computed value, of the bound slot
  const void* data;  // a constant's bytes, a TensorMapPlan or a ScratchPlan
};

struct LaunchPlan {
  EmbeddedKernel* kernel;
  const Source* sources;
  const Step* steps;
  int32_t num_sources;
  int32_t num_steps;
  int32_t num_conditions;  // 1 if the first step is a condition, else 0
  int32_t num_computed;
  int32_t from_caller;  // what the launch lacks: 1: the grid, 8: the block (CallOptions::given)
};

// A kernel parameter that is a tensor map.
struct TensorMapPlan {
  const char* name;   // of the kernel's parameter
  const Step* steps;  // kMapWord: the words computed by expressions
  int32_t num_steps;
  int32_t argument;          // the tensor
  TensorMapOptions options;  // with zeros for figures from expressions
};

// A kernel parameter that is scratch memory of the launch.
struct ScratchPlan {
  const char* name;  // of the kernel's parameter
  Figure bytes;
  Figure bytes_per_block;
  uint32_t align;  // of the address; a power of two
};

// Where a function's launches go, if its author sets it.
struct TargetPlan {
  Figure device;    // an ordinal
  Figure stream;    // a handle
  int32_t pointer;  // the argument that is the stream, if it is an address; else -1
  bool has_device;
  bool has_stream;
};

// The value bound on one device.
struct BoundCell {
  void* keep;   // TVMFFIObjectHandle of what the value was made from; null: unbound
  void* value;  // from malloc
};

// A kernel parameter that no caller passes, and its values; a row of a generated table. Access it
// only while using the table's gate or holding it closed.
struct BoundSlot {
  const char* function;  // null: all kernels that C++ functions launch
  const Param* param;
  const void* zeros;           // passed while nothing is bound
  bool required;               // if so, nothing bound is an error
  BoundCell* cells = nullptr;  // from calloc: one per device

  // The value to pass on a device; null if a required one is missing.
  const void* Find(int device) const {
    const bool has_cell = cells != nullptr && device >= 0 && device < kMaxDevices;
    if (!has_cell || cells[device].keep == nullptr) return required ? nullptr : zeros;
    return cells[device].value;
  }
};

// All slots of a shared object. Launches use the gate, binding closes it.
struct BoundTable {
  BoundSlot* slots;
  int32_t num_slots;
  int32_t num_trailing;  // the last of these, for all kernels that C++ functions launch
  Gate gate{};

  // The slots for the last parameters of all kernels that C++ functions launch.
  const BoundSlot* Trailing() const { return slots + (num_slots - num_trailing); }
};

// The shared object's own; only a build with bound_params links it.
extern "C" BoundTable __tvmffi_cubin_bound;

// One way to launch a function: the only one, or one of several, tried in order.
struct Instance {
  const char* signature;  // "scale<float, 4>(const float* x, int n) when n % 4 == 0"
  const LaunchPlan* launches;
  const Param* params;
  const TargetPlan* target;  // null if its author does not set it
  BoundTable* bound;         // null if no kernel parameter is bound
  int32_t num_params;
  int32_t num_launches;
  int32_t num_slots;       // room for the kernel parameters, or computed values, of all launches
  int32_t num_maps;        // tensor maps of all launches
  int32_t num_attributes;  // the most that all launches together can have
  int32_t num_scratch;     // kernel parameters that are scratch memory
  bool has_conditions;
};

struct FunctionPlan {
  const char* name;
  const char* doc;
  const Instance* instances;
  int32_t num_instances;
  int32_t most_params;  // of any instance
};

struct ModulePlan {
  EmbeddedImage* images;
  EmbeddedKernel* kernels;
  const FunctionPlan* functions;
  BoundTable* bound;     // null if nothing can be bound
  const char* manifest;  // and where it ends
  const char* manifest_end;
  int32_t num_images;
  int32_t num_kernels;
  int32_t num_functions;
};

static_assert(sizeof(Param) == 64 && sizeof(Step) == 32 && sizeof(EmbeddedImage) == 72);
static_assert(sizeof(EmbeddedKernel) == 72 && sizeof(Source) == 16 && sizeof(LaunchPlan) == 48);
static_assert(sizeof(TensorMapPlan) == 256 && sizeof(ScratchPlan) == 64);
static_assert(sizeof(TargetPlan) == 56 && sizeof(BoundSlot) == 40 && sizeof(BoundTable) == 24);
static_assert(sizeof(Instance) == 72 && sizeof(FunctionPlan) == 32 && sizeof(ModulePlan) == 64);

TVMFFI_CUBIN_END
