/*!
 * \file tvmffi_cubin/launcher/bound.h
 * \brief Kernel parameters that are bound: changed while no launch reads them.
 */
#pragma once

#include <stdlib.h>

#include "argument.h"

TVMFFI_CUBIN_BEGIN

constexpr int kAllDevices = -1;
constexpr int kNumBoundCells = kMaxDevices + 1;  // the last is what all devices inherit

/*! \brief One value to be bound; once all are changed, what it replaced. */
struct BoundChange {
  BoundSlot* slot;
  int device;  // or kAllDevices
  BoundCell cell;
  BoundCell* cells;  // those that the slot had, where it has got others
};

/*! \brief Releases what a cell holds; that may run Python code. */
TVMFFI_CUBIN_RARE void ReleaseCell(const BoundCell& cell) {
  if (cell.keep != nullptr) TVMFFIObjectDecRef(cell.keep);
  free(cell.copy);
}

/*! \brief Converts a value, as it would be converted for a call; None: nothing is bound. */
TVMFFI_CUBIN_RARE int ConvertBound(BoundChange* change, const TVMFFIAny& value,
                                   const TVMFFIAny& keep) {
  const Param& param = *change->slot->param;
  BoundCell* const cell = &change->cell;
  cell->state = BoundCell::kNothing;
  if (value.type_index == kTVMFFINone) return 0;
  Argument argument{};
  Problem problem = Convert(param, value, &argument);
  if (problem == Problem::kNone && argument.tensor != nullptr &&
      !IsOnDevice(*argument.tensor, &change->device)) {
    problem = Problem::kDevice;
  }
  if (problem != Problem::kNone) {
    Text reason;
    const char* kind = AddProblem(param, value, problem, change->device, &reason);
    const char* function = change->slot->function;
    return Fail(kind, "bind: %s%s%s (%s): %s", function ? function : "", function ? ": " : "",
                param.name, param.type, reason.chars);
  }
  cell->state = BoundCell::kValue;
  memcpy(&cell->value, &argument.storage, sizeof(cell->value));
  if (argument.address != &argument.storage) {
    cell->copy = malloc(param.size);
    memcpy(cell->copy, argument.address, param.size);
  }
  cell->keep = keep.v_obj;
  TVMFFIObjectIncRef(cell->keep);
  return 0;
}

/*! \brief Changes one slot, whose table is closed. */
TVMFFI_CUBIN_RARE void ApplyBound(BoundChange* change) {
  BoundSlot* const slot = change->slot;
  const bool is_all = change->device == kAllDevices;
  if (is_all || slot->cells == nullptr) {
    change->cells = slot->cells;
    slot->cells = static_cast<BoundCell*>(calloc(kNumBoundCells, sizeof(BoundCell)));
  }
  BoundCell* const cell = &slot->cells[is_all ? kMaxDevices : change->device];
  const BoundCell before = *cell;
  *cell = change->cell;
  change->cell = before;
}

/*! \brief Reads the device that something is bound for; None: all, -1: the current one. */
TVMFFI_CUBIN_RARE int ReadBoundDevice(const TVMFFIAny& any, int* device) {
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
TVMFFI_CUBIN_RARE int Bind(BoundTable* table, const TVMFFIAny* args, int num_args) {
  int device = kAllDevices;
  if (ReadBoundDevice(args[0], &device) != 0) return -1;
  const int count = num_args / 3;
  auto* changes = static_cast<BoundChange*>(calloc(count + 1, sizeof(BoundChange)));
  int result = 0;
  for (int i = 0; i < count && result == 0; ++i) {
    const TVMFFIAny* const given = &args[1 + 3 * i];
    changes[i].device = device;
    changes[i].slot = &table->slots[given[0].v_int64];
    result = ConvertBound(&changes[i], given[1], given[2]);
  }
  if (result == 0) {
    table->gate.Close();
    // In a forked child, the gate counts launches of the parent.
    if (!InForkedChild()) table->gate.WaitForUsers();
    for (int i = 0; i < count; ++i) ApplyBound(&changes[i]);
    table->gate.Open();
  }
  for (int i = 0; i < count; ++i) {
    ReleaseCell(changes[i].cell);
    BoundCell* const cells = changes[i].cells;
    for (int j = 0; cells != nullptr && j < kNumBoundCells; ++j) ReleaseCell(cells[j]);
    free(cells);
  }
  free(changes);
  return result;
}

/*!
 * \brief What is bound: the object that keeps it alive, or None. The arguments: the device, as for
 * Bind, and the slot's number.
 */
TVMFFI_CUBIN_RARE int ReadBound(BoundTable* table, const TVMFFIAny* args, TVMFFIAny* result) {
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
