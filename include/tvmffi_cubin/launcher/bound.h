// Kernel parameters that are bound: changed while no launch reads them.
#pragma once

#include <stdlib.h>

#include "argument.h"

TVMFFI_CUBIN_BEGIN

constexpr int kAllDevices = -1;

// A value that is about to be bound.
struct BoundValue {
  Argument argument;
  int device;  // a tensor's own, where none is named
};

// Converts a value, as it would be converted for a call; None: nothing is bound.
TVMFFI_CUBIN_COLD int ConvertBound(const BoundSlot& slot, const TVMFFIAny& value, BoundValue* out) {
  if (value.type_index == kTVMFFINone) return 0;
  const Param& param = *slot.param;
  const Problem problem = ConvertOn(param, value, &out->device, &out->argument);
  if (problem == Problem::kNone) return 0;
  Text reason;
  const char* kind = AddProblem(param, value, problem, out->device, &reason);
  return Fail(kind, "bind: %s%s%s (%s): %s", slot.function ? slot.function : "",
              slot.function ? ": " : "", param.name, param.type, reason.chars);
}

// The cell of a value; `keep`, null where nothing is bound, keeps it alive.
TVMFFI_CUBIN_COLD BoundCell MakeCell(const Param& param, const Argument& value,
                                     TVMFFIObject* keep) {
  if (keep == nullptr) return {};
  BoundCell cell{keep, value.storage.u64, nullptr};
  if (value.address != &value.storage) {
    cell.copy = malloc(param.size);
    memcpy(cell.copy, value.address, param.size);
  }
  TVMFFIObjectIncRef(keep);
  return cell;
}

// The device that something is bound for; None: all, -1: the current one.
TVMFFI_CUBIN_COLD int BoundDevice(const TVMFFIAny& any) {
  if (any.type_index == kTVMFFINone) return kAllDevices;
  if (any.v_int64 >= 0) return static_cast<int>(any.v_int64);
  return OpenDriver() ? CurrentDevice() : 0;
}

// Binds all values at once, or none where one is wrong: a launch sees either the old values or the
// new. The arguments: the device, -1 for the current one, None for all; for each value the slot's
// number, the value (None: nothing is bound any more), and the object that keeps it alive.
TVMFFI_CUBIN_COLD int Bind(BoundTable* table, const TVMFFIAny* args, int num_args) {
  const int device = BoundDevice(args[0]);
  const auto count = static_cast<size_t>(num_args / 3);
  const auto slot_of = [&](size_t i) { return &table->slots[args[1 + 3 * i].v_int64]; };
  auto* values = static_cast<BoundValue*>(calloc(count + 1, sizeof(BoundValue)));
  int result = 0;
  for (size_t i = 0; i < count && result == 0; ++i) {
    values[i].device = device;
    result = ConvertBound(*slot_of(i), args[2 + 3 * i], &values[i]);
  }
  auto* before = static_cast<BoundCell*>(calloc(count * kMaxDevices + 1, sizeof(BoundCell)));
  if (result == 0) {
    table->gate.Close();
    for (size_t i = 0; i < count; ++i) {
      BoundSlot* const slot = slot_of(i);
      const bool is_none = args[2 + 3 * i].type_index == kTVMFFINone;
      TVMFFIObject* const keep = is_none ? nullptr : args[3 + 3 * i].v_obj;
      if (slot->cells == nullptr) {
        slot->cells = static_cast<BoundCell*>(calloc(kMaxDevices, sizeof(BoundCell)));
      }
      for (int j = 0; j < kMaxDevices; ++j) {
        if (values[i].device != kAllDevices && values[i].device != j) continue;
        before[i * kMaxDevices + static_cast<size_t>(j)] = slot->cells[j];
        slot->cells[j] = MakeCell(*slot->param, values[i].argument, keep);
      }
    }
    table->gate.Open();
  }
  // That may run Python code.
  for (size_t i = 0; i < count * kMaxDevices; ++i) {
    if (before[i].keep != nullptr) TVMFFIObjectDecRef(before[i].keep);
    free(before[i].copy);
  }
  free(before);
  free(values);
  return result;
}

TVMFFI_CUBIN_END
