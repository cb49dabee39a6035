// Kernel parameters that are bound: changed while no launch reads them.
#pragma once

#include <stdlib.h>

#include "argument.h"

TVMFFI_CUBIN_BEGIN

constexpr int kAllDevices = -1;

// Converts a value, as it would be converted for a call; None: nothing is bound. The device becomes
// a tensor's own.
TVMFFI_CUBIN_COLD int ConvertBound(const BoundSlot& slot, const TVMFFIAny& value, int* device,
                                   Argument* out) {
  if (value.type_index == kTVMFFINone) return 0;
  const Param& param = *slot.param;
  const Problem problem = ConvertOn(param, value, device, out);
  if (problem == Problem::kNone) return 0;
  Text reason;
  const char* kind = AddProblem(param, value, problem, *device, &reason);
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
  const int chosen = BoundDevice(args[0]), count = num_args / 3;
  Argument value;
  for (int i = 0; i < count; ++i) {
    int device = chosen;
    const BoundSlot& slot = table->slots[args[1 + 3 * i].v_int64];
    if (ConvertBound(slot, args[2 + 3 * i], &device, &value) != 0) return -1;
  }
  const auto most = static_cast<size_t>(count) * kMaxDevices;
  auto* const before = static_cast<BoundCell*>(calloc(most + 1, sizeof(BoundCell)));
  BoundCell* end = before;
  table->gate.Close();
  for (int i = 0; i < count; ++i) {
    int device = chosen;
    BoundSlot* const slot = &table->slots[args[1 + 3 * i].v_int64];
    ConvertBound(*slot, args[2 + 3 * i], &device, &value);
    const bool is_none = args[2 + 3 * i].type_index == kTVMFFINone;
    TVMFFIObject* const keep = is_none ? nullptr : args[3 + 3 * i].v_obj;
    if (slot->cells == nullptr) {
      slot->cells = static_cast<BoundCell*>(calloc(kMaxDevices, sizeof(BoundCell)));
    }
    for (int j = 0; j < kMaxDevices; ++j) {
      if (device != kAllDevices && device != j) continue;
      *end++ = slot->cells[j];
      slot->cells[j] = MakeCell(*slot->param, value, keep);
    }
  }
  table->gate.Open();
  // That may run Python code.
  for (BoundCell* cell = before; cell != end; ++cell) {
    if (cell->keep != nullptr) TVMFFIObjectDecRef(cell->keep);
    free(cell->copy);
  }
  free(before);
  return 0;
}

TVMFFI_CUBIN_END
