// What each call makes for its launches: tensor maps, scratch memory, addresses of bound values.
#pragma once

#include <tvm/ffi/extra/c_env_api.h>

#include "expression.h"

TVMFFI_CUBIN_BEGIN

TVMFFI_CUBIN_DRIVER_ENTRY(cuMemAllocAsync, 12000)
TVMFFI_CUBIN_DRIVER_ENTRY(cuMemFreeAsync, 12000)

// Points a parameter at the value bound on the call's device; the gate is in use.
inline int FillBound(const Call& call, int slot_number, void** param) {
  const BoundSlot& slot = call.instance.bound->slots[slot_number];
  *param = const_cast<void*>(slot.Find(call.device));
  if (*param != nullptr) return 0;
  const char* name = slot.param->name;
  return Fail("LaunchError",
              "%s: %s is not bound on device %d: call mod.bind(\"%s\", %s=...) first",
              call.Site().chars, name, call.device, slot.function, name);
}

// Makes one parameter's tensor map; the device is current.
inline int EncodeMap(Call* call, const TensorMapPlan& plan, CUtensorMap* map) {
  TensorMapOptions options = plan.options;
  TensorMapMemory memory;
  Text text;
  // Words are numbered starting at box_dim.
  call->map_words = options.box_dim;
  if (DoSteps(call, plan.steps, plan.num_steps) != 0) return -1;
  const Argument& given = call->arguments[plan.argument];
  const char* kind = DescribeMemory(options, given.tensor, given.storage.pointer, &memory, &text);
  if (kind == nullptr) kind = EncodeTensorMap(options, memory, map, &text);
  if (__builtin_expect(kind == nullptr, 1)) return 0;
  return Fail(kind, "%s: tensor map %s: %s", call->Site().chars, plan.name, text.chars);
}

// The scratch memory of one kernel parameter.
struct ScratchBlock {
  uintptr_t pointer;              // aligned
  CUdeviceptr allocated;          // by the driver, else 0
  TVMFFIObjectHandle allocation;  // by the tensors' allocator, else null
};

// All scratch memory of a call; freed in stream order when the call ends.
struct Scratch {
  Call* call;
  ScratchBlock* blocks;
  int count = 0;

  ~Scratch() {
    for (int i = 0; i < count; ++i) {
      if (blocks[i].allocation != nullptr) TVMFFIObjectDecRef(blocks[i].allocation);
      // An error here belongs to the stream, whose next call reports it.
      if (blocks[i].allocated != 0) entry::cuMemFreeAsync(blocks[i].allocated, call->stream);
    }
  }

  // Allocates one parameter's memory; the device is current.
  int Allocate(const ScratchPlan& plan, void** param) {
    ScratchBlock* block = &blocks[count++];
    *block = {};
    *param = &block->pointer;
    const int64_t fixed = Value(call, plan.bytes);
    const int64_t per_block = call->failure == nullptr ? Value(call, plan.bytes_per_block) : 0;
    if (call->failure != nullptr) return FailFigure(*call);
    const CUlaunchConfig& config = call->launches[call->number].config;
    const uint64_t num_blocks = Volume(config.gridDimX, config.gridDimY, config.gridDimZ);
    int64_t size = 0;
    if (fixed < 0 || per_block < 0 || __builtin_mul_overflow(per_block, num_blocks, &size) ||
        __builtin_add_overflow(size, fixed, &size)) {
      return Fail("ValueError",
                  "%s: scratch memory for %s: bytes is %ld, bytes_per_block %ld; must be >= 0",
                  call->Site().chars, plan.name, fixed, per_block);
    }
    if (size == 0) return 0;
    constexpr uint32_t kAlwaysAligned = 256;  // by every device memory allocator
    if (plan.align > kAlwaysAligned) size += plan.align - kAlwaysAligned;
    // The tensors' allocator reuses memory for the next work on its current stream; a launch on
    // another stream, or one that the next need not wait for, might still be using it.
    const bool may_overlap =
        FindAttribute(config, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION) != nullptr;
    const bool is_current =
        !call->has_stream || call->stream == TVMFFIEnvGetStream(kDLCUDA, call->device);
    if (is_current && !may_overlap && TVMFFIEnvGetDLPackManagedTensorAllocator() != nullptr) {
      DLTensor wanted{};
      wanted.device = {kDLCUDA, call->device};
      wanted.ndim = 1;
      wanted.dtype = {kDLUInt, 8, 1};
      wanted.shape = &size;
      if (TVMFFIEnvTensorAlloc(&wanted, &block->allocation) != 0) return -1;
      block->pointer =
          reinterpret_cast<uintptr_t>(DataOf(*TVMFFITensorGetDLTensorPtr(block->allocation)));
    } else {
      const Status status{
          entry::cuMemAllocAsync(&block->allocated, static_cast<size_t>(size), call->stream),
          "cuMemAllocAsync"};
      if (!status.ok()) {
        return Fail("LaunchError", "%s: %ld bytes of scratch memory for %s: %s", call->Site().chars,
                    size, plan.name, DescribeStatus(status).chars);
      }
      block->pointer = block->allocated;
    }
    block->pointer = (block->pointer + plan.align - 1) & ~uintptr_t{plan.align - 1};
    return 0;
  }
};

TVMFFI_CUBIN_END
