/*!
 * \file tvmffi_cubin/launcher/bound.h
 * \brief Kernel parameters that are bound: changed while no launch reads them.
 */
#pragma once

#include <stdlib.h>

#include "argument.h"

TVMFFI_CUBIN_BEGIN

constexpr int kAllDevices = -1;

/*! \brief What a slot is to have; once it is changed, what it had. */
struct BoundChange {
  BoundSlot* slot;
  BoundCell* cells;           // one a device
  bool is_new[kMaxDevices];  // whether a device's is not what it was
};

/*! \brief Converts a value, as it would be converted for a call; None: nothing is bound. */
TVMFFI_CUBIN_COLD int ConvertBound(BoundChange* change, int device, const TVMFFIAny& value,
                                   const TVMFFIAny& keep) {
  const Param& param = *change->slot->param;
  Argument argument{};
  const bool is_none = value.type_index == kTVMFFINone;
  Problem problem = is_none ? Problem::kNone : Convert(param, value, &argument);
  if (problem == Problem::kNone && argument.tensor != nullptr &&
      !IsOnDevice(*argument.tensor, &device)) {
    problem = Problem::kDevice;
  }
  if (problem != Problem::kNone) {
    Text reason;
    const char* kind = AddProblem(param, value, problem, device, &reason);
    const char* function = change->slot->function;
    return Fail(kind, "bind: %s%s%s (%s): %s", function ? function : "", function ? ": " : "",
                param.name, param.type, reason.chars);
  }
  change->cells = static_cast<BoundCell*>(calloc(kMaxDevices, sizeof(BoundCell)));
  for (int i = 0; i < kMaxDevices; ++i) {
    BoundCell* const cell = &change->cells[i];
    change->is_new[i] = device == kAllDevices || device == i;
    if (!change->is_new[i] || is_none) continue;
    memcpy(&cell->value, &argument.storage, sizeof(cell->value));
    if (argument.address != &argument.storage) {
      cell->copy = malloc(param.size);
      memcpy(cell->copy, argument.address, param.size);
    }
    cell->keep = keep.v_obj;
    TVMFFIObjectIncRef(cell->keep);
  }
  return 0;
}

/*! \brief Releases the cells that a change leaves over; that may run Python code. */
TVMFFI_CUBIN_COLD void ReleaseCells(const BoundChange& change) {
  for (int i = 0; i < kMaxDevices && change.cells != nullptr; ++i) {
    const BoundCell& cell = change.cells[i];
    if (!change.is_new[i] || cell.keep == nullptr) continue;
    TVMFFIObjectDecRef(cell.keep);
    free(cell.copy);
  }
  free(change.cells);
}

/*! \brief Reads the device that something is bound for; None: all, -1: the current one. */
TVMFFI_CUBIN_COLD int ReadBoundDevice(const TVMFFIAny& any, int* device) {
  *device = kAllDevices;
  if (any.type_index == kTVMFFINone) return 0;
  if (any.type_index != kTVMFFIInt || any.v_int64 >= kMaxDevices) {
    return Fail("ValueError", "bind: device is %s, wanted 0 to %d", DescribeArgument(any).chars,
                kMaxDevices - 1);
  }
  *device = static_cast<int>(any.v_int64);
  if (*device < 0) *device = OpenDriver() ? CurrentDevice() : 0;
  return 0;
}

/*!
 * \brief Binds all values at once, or none where one is wrong: a launch sees either the old values
 * or the new. The arguments: the device, -1 for the current one, None for all; for each value the
 * slot's number, the value (None: nothing is bound any more), and the object that keeps it alive.
 */
TVMFFI_CUBIN_COLD int Bind(BoundTable* table, const TVMFFIAny* args, int num_args) {
  int device = kAllDevices;
  if (ReadBoundDevice(args[0], &device) != 0) return -1;
  const int count = num_args / 3;
  auto* changes = static_cast<BoundChange*>(calloc(count + 1, sizeof(BoundChange)));
  int result = 0;
  for (int i = 0; i < count && result == 0; ++i) {
    const TVMFFIAny* const given = &args[1 + 3 * i];
    changes[i].slot = &table->slots[given[0].v_int64];
    result = ConvertBound(&changes[i], device, given[1], given[2]);
  }
  if (result == 0) {
    table->gate.Close();
    table->gate.WaitForUsers();
    for (int i = 0; i < count; ++i) {
      BoundCell* const before = changes[i].slot->cells;
      for (int j = 0; j < kMaxDevices && before != nullptr; ++j) {
        if (!changes[i].is_new[j]) changes[i].cells[j] = before[j];
      }
      changes[i].slot->cells = changes[i].cells;
      changes[i].cells = before;
    }
    table->gate.Open();
  }
  for (int i = 0; i < count; ++i) ReleaseCells(changes[i]);
  free(changes);
  return result;
}

/*!
 * \brief What is bound: the object that keeps it alive, or None. The arguments: the device, as for
 * Bind, and the slot's number.
 */
TVMFFI_CUBIN_COLD int ReadBound(BoundTable* table, const TVMFFIAny* args, TVMFFIAny* result) {
  int device = kAllDevices;
  if (ReadBoundDevice(args[0], &device) != 0) return -1;
  const GateUse use(&table->gate);
  const BoundCell* cell = table->slots[args[1].v_int64].FindCell(device);
  if (cell == nullptr) return 0;
  TVMFFIObjectIncRef(cell->keep);
  result->v_obj = static_cast<TVMFFIObject*>(cell->keep);
  result->type_index = result->v_obj->type_index;
  return 0;
}

TVMFFI_CUBIN_END
