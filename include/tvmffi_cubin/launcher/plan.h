// The tables that a generated launcher consists of: assembly text, on which the body works.
//
// Both sides know the layout from here: rows are little-endian, in the order of their members, with
// C's padding. The assertions at the end are what the generator relies on.
#pragma once

#include <tvm/ffi/c_api.h>

#include "../core/limits.h"
#include "../core/tensor_map.h"

TVMFFI_CUBIN_BEGIN

// What a parameter takes; of a raw one only the size is known; a map is a CUtensorMap.
enum class Kind : uint8_t { kPointer, kInt, kUint, kFloat, kBfloat, kBool, kBytes, kRaw, kMap };

struct Param {
  const char* name;
  const char* type;  // C++ spelling, for messages
  int64_t value;     // the only one that the kernel takes (kValue)
  DLDataType dtypes[4];
  uint32_t size;     // bytes of the kernel parameter
  uint32_t align;    // what an address, or an integer (kMultiple), is a multiple of; a power of two
  int32_t min_rank;  // dimensions that expressions read
  int32_t rank;      // exact rank where it was declared, else -1
  Kind kind;
  enum Assumed : uint8_t { kNothing, kMultiple, kValue } assumed;
  uint8_t num_dtypes;  // 0: any
  bool strided;        // any strides will do
  bool in_expression;  // its integer, shape or strides are read by an expression
};

// Opcodes of postfix expressions over int64. Operands follow the opcode, little-endian, unaligned.
// Arithmetic notes overflow and division by zero; comparisons give 0 or 1.
struct Op {
  enum Code : uint8_t {
    kEnd,                   // the top of the stack is the value
    kPush,                  // i64
    kWord,                  // u16 parameter; its integer, or address
    kNumel,                 // u16 parameter
    kShape,                 // u16 parameter, i8 dimension (negative: from the end)
    kStride,                // u16 parameter, i8 dimension
    kNumSms,                // multiprocessors of the launch's device, asked when first read
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
    kNot,          // 0 becomes 1, all else 0
    kBranchFalse,  // u16; a zero on top stays and so many bytes are skipped; else it is popped
    kBranchTrue,   // u16; the same of what is not zero
  };
};

// The deepest stack that an expression may need; the generator refuses deeper ones.
constexpr int kMaxStack = 32;

// A figure: a constant, or an expression.
struct Figure {
  const uint8_t* code;  // null: `value` is the figure
  const char* text;     // the expression as the user wrote it, for messages
  int64_t value;
};

// One step of evaluating a launch; a launch's are done in order.
struct Step {
  Figure figure;
  enum Target : uint8_t {
    kWhen,        // a condition, which must hold; it comes first and is no step to do
    kFigure,      // grid.x y z, block.x y z, dynamic_smem_bytes: by `number`, from 0
    kDimensions,  // an attribute of three dimensions, `number` of them; all three, 0 first
    kInteger,     // an attribute that is an integer
    kFlag,        // an attribute that is on or off; off leaves it out
    kEvent,       // an attribute that is an event's handle; 0 leaves it out
    kRaw,         // an attribute by its bytes: `text` points at them, `value` says how many
    kComputed,    // kernel argument computed[number], of `id` bytes
    kMapWord,     // word `number` of a tensor map's options (see TensorMapPlan)
  } target;
  Kind kind;  // kComputed's
  uint16_t number;
  uint16_t id;     // the attribute's, as in CUlaunchAttributeID
  uint8_t option;  // see CallOptions::given; 63: none
};

// An image that is embedded in this shared object, or lies in a file. Writable.
struct EmbeddedImage {
  Library library;
  const char* name;
  const char* path;  // of one in a file, from the shared object's folder on; else null
  Gate gate;         // launches use it, unloading closes it
  // Of one in a file. Never freed, as they may be in use.
  const char* folder;   // in the place of the shared object's, or null
  TVMFFIObject* maker;  // a tvm-ffi function that makes a missing file, or null
};

// One kernel. Writable.
struct EmbeddedKernel {
  EmbeddedImage* image;
  const char* symbol;      // of one in a file that or a part of it
  const char* display;     // as people write it
  const char* arches;      // those of the image's that have it; null: all
  const uint32_t* params;  // of one in a file: the bytes of each parameter that is passed
  CUkern_st* handle;
  OptedIn opted_in;
  uint32_t cluster[3];  // in which the driver counts its grid (.blocksareclusters in PTX), or zeros
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
  int32_t num_conditions;  // of the steps: the first, or none
  int32_t num_computed;
  int32_t from_caller;  // 1: the grid, 8: the block, which the launch lacks (CallOptions::given)
};

// A kernel parameter that is a tensor's map.
struct TensorMapPlan {
  const char* name;   // of the kernel's parameter
  const Step* steps;  // kMapWord: the words that expressions give
  int32_t num_steps;
  int32_t argument;          // the tensor
  TensorMapOptions options;  // with zeros where expressions give the figures
};

// A kernel parameter that is memory for the launch alone.
struct ScratchPlan {
  const char* name;  // of the kernel's parameter
  Figure bytes;
  Figure bytes_per_block;
  uint32_t align;  // what the address is a multiple of; a power of two
};

// Where a function's launches go, where its author says it.
struct TargetPlan {
  Figure device;    // an ordinal
  Figure stream;    // a handle
  int32_t pointer;  // the argument that is the stream, where it is an address; else -1
  bool has_device;
  bool has_stream;
};

// What is bound on one device.
struct BoundCell {
  void* keep;   // TVMFFIObjectHandle of what the value was made of; null: nothing is bound
  void* value;  // from malloc
};

// A kernel parameter that no caller passes, and its values; a row of a generated table. All is read
// and written by those alone who use or have closed the table's gate.
struct BoundSlot {
  const char* function;  // null: of all kernels that C++ functions launch
  const Param* param;
  const void* zeros;           // what is passed while it is not bound
  bool required;               // which then is an error
  BoundCell* cells = nullptr;  // from calloc: one a device

  // What is passed on a device; null where a required value is missing.
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
  int32_t num_trailing;  // of these, the last: of all kernels that C++ functions launch
  Gate gate{};

  // The slots of the last parameters of all kernels that C++ functions launch.
  const BoundSlot* Trailing() const { return slots + (num_slots - num_trailing); }
};

// One way to launch under a name: the only one, or one of several, tried in order.
struct Instance {
  const char* signature;  // "scale<float, 4>(const float* x, int n) when n % 4 == 0"
  const LaunchPlan* launches;
  const Param* params;
  const TargetPlan* target;  // null where its author does not say
  BoundTable* bound;         // null where no kernel parameter is bound
  int32_t num_params;
  int32_t num_launches;
  int32_t num_slots;  // of all launches, kernel parameters and computed values: room for either
  int32_t num_maps;   // tensor maps of all launches
  int32_t num_attributes;  // the most that all launches can have
  int32_t num_scratch;     // kernel parameters that are memory for the call alone
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
  BoundTable* bound;     // null where nothing can be bound
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
