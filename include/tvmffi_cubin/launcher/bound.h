/*!
 * \file tvmffi_cubin/launcher/bound.h
 * \brief Kernel parameters that are bound: read by launches, changed while no launch reads them.
 */
#ifndef TVMFFI_CUBIN_LAUNCHER_BOUND_H_
#define TVMFFI_CUBIN_LAUNCHER_BOUND_H_

#include <stdlib.h>

#include "launch.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*!
 * \brief Points the parameters of all launches of a call at what is bound on its device. The
 * table's gate is used for as long as they are.
 */
inline int FillBound(Call* call) {
  return call->ForEach(Source::kBound, [call](const Source& source, void** param) {
    const BoundSlot& slot = call->instance.bound->slots[source.index];
    const void* value = slot.Find(call->device);
    *param = const_cast<void*>(value == nullptr ? slot.zeros : value);
    if (value != nullptr || !slot.required) return 0;
    return Fail("LaunchError",
                "%s: the parameter %s (%s) of %s is not bound on device %d: call "
                "mod.bind(\"%s\", %s=...) before",
                call->Site(call->number).chars, slot.param->name, slot.param->type,
                call->launches[call->number].plan->kernel->display, call->device, slot.function,
                slot.param->name);
  });
}

constexpr int kAllDevices = -1;
constexpr int kNumBoundCells = kMaxDevices + 1;

/*! \brief One value to be bound; once all are changed, what it replaced. */
struct BoundChange {
  BoundSlot* slot;
  int device;  // or kAllDevices
  BoundCell cell;
  BoundCell* cells;  // the slot's next ones, or those that it had
};

/*! \brief Lets go of what a cell holds: Python's own objects, too, and what they run. */
TVMFFI_CUBIN_RARE void ReleaseCell(const BoundCell& cell) {
  if (cell.keep != nullptr) TVMFFIObjectDecRef(cell.keep);
  free(cell.copy);
}
TVMFFI_CUBIN_RARE void ReleaseCells(BoundCell* cells) {
  for (int i = 0; cells != nullptr && i < kNumBoundCells; ++i) ReleaseCell(cells[i]);
  free(cells);
}

/*! \brief Converts a value, as it would be converted for a call; None: nothing is bound. */
TVMFFI_CUBIN_RARE int ConvertBound(BoundChange* change, const TVMFFIAny& value,
                                   const TVMFFIAny& keep) {
  const BoundSlot& slot = *change->slot;
  BoundCell* const cell = &change->cell;
  cell->state = BoundCell::kNothing;
  if (value.type_index == kTVMFFINone) return 0;
  Argument argument{};
  const Problem problem = Convert(*slot.param, value, &argument);
  if (problem != Problem::kNone) {
    return FailArgument(slot.function, *slot.param, 0, value, problem);
  }
  TensorDevice common{change->device};
  if (argument.tensor != nullptr &&
      CheckDevice(slot.function, *slot.param, 0, *argument.tensor, &common) != 0) {
    return -1;
  }
  // A tensor is bound for its own device.
  change->device = common.device;
  const bool is_object = value.type_index >= kTVMFFIStaticObjectBegin;
  const bool has_keep = keep.type_index >= kTVMFFIStaticObjectBegin;
  if (value.type_index == kTVMFFIDLTensorPtr && !has_keep) {
    return Fail("TypeError", "%s: the tensor is a view that nothing keeps alive",
                ArgumentText(slot.function, *slot.param, 0).chars);
  }
  cell->state = BoundCell::kValue;
  memcpy(&cell->value, &argument.storage, sizeof(cell->value));
  if (argument.address != &argument.storage) {
    cell->copy = malloc(slot.param->size);
    memcpy(cell->copy, argument.address, slot.param->size);
  }
  cell->keep = has_keep ? keep.v_obj : is_object ? value.v_obj : nullptr;
  if (cell->keep != nullptr) TVMFFIObjectIncRef(cell->keep);
  return 0;
}

/*! \brief Changes one slot, whose table is closed. */
TVMFFI_CUBIN_RARE void ApplyBound(BoundChange* change) {
  BoundSlot* const slot = change->slot;
  const bool is_all = change->device == kAllDevices;
  if (is_all || slot->cells == nullptr) {
    BoundCell* const before = slot->cells;
    slot->cells = static_cast<BoundCell*>(calloc(kNumBoundCells, sizeof(BoundCell)));
    change->cells = before;
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
  const int64_t number = any.v_int64 == -1 ? CurrentDevice() : any.v_int64;
  if (any.type_index != kTVMFFIInt || number < 0 || number >= kMaxDevices) {
    return Fail("ValueError", "bind: device is %s, wanted 0 to %d", DescribeArgument(any).chars,
                kMaxDevices - 1);
  }
  *device = static_cast<int>(number);
  return 0;
}

/*! \brief The slot of a number; null, and raises, where there is none. */
TVMFFI_CUBIN_RARE BoundSlot* ReadSlot(BoundTable* table, const TVMFFIAny& any) {
  if (any.type_index == kTVMFFIInt && any.v_int64 >= 0 && any.v_int64 < table->num_slots) {
    return &table->slots[any.v_int64];
  }
  Fail("ValueError", "bind: got %s, wanted the number of a bound parameter, up to %d",
       DescribeArgument(any).chars, table->num_slots - 1);
  return nullptr;
}

/*!
 * \brief Binds values all at once, or none where one is wrong: a launch reads the values of before
 * or of after. The arguments: the device, -1 for the current one, None for all; for each value the
 * slot's number, the value (None: nothing is bound any more), and the object that keeps it alive,
 * or None where it does so itself.
 */
TVMFFI_CUBIN_RARE int Bind(BoundTable* table, const TVMFFIAny* args, int num_args) {
  if (num_args % 3 != 1) {
    return Fail("TypeError", "bind: wanted the device, then three arguments for each value");
  }
  int device = kAllDevices;
  if (ReadBoundDevice(args[0], &device) != 0) return -1;
  const int count = num_args / 3;
  auto* changes = static_cast<BoundChange*>(calloc(count + 1, sizeof(BoundChange)));
  int result = 0;
  for (int i = 0; i < count && result == 0; ++i) {
    const TVMFFIAny* const given = &args[1 + 3 * i];
    changes[i].device = device;
    changes[i].slot = ReadSlot(table, given[0]);
    result = changes[i].slot == nullptr ? -1 : ConvertBound(&changes[i], given[1], given[2]);
  }
  if (result == 0) {
    CloseGate(&table->gate);
    // In a fork, the launches that the gate counts are another process's.
    if (!InForkedChild()) WaitForUsers(&table->gate);
    for (int i = 0; i < count; ++i) ApplyBound(&changes[i]);
    OpenGate(&table->gate);
  }
  for (int i = 0; i < count; ++i) {
    ReleaseCell(changes[i].cell);
    ReleaseCells(changes[i].cells);
  }
  free(changes);
  return result;
}

/*!
 * \brief What is bound: the object that keeps it alive, or None. The arguments: the device, as for
 * Bind, and the slot's number.
 */
TVMFFI_CUBIN_RARE int ReadBound(BoundTable* table, const TVMFFIAny* args, int num_args,
                                TVMFFIAny* result) {
  int device = kAllDevices;
  if (num_args != 2) return Fail("TypeError", "bound: wanted the device and a parameter's number");
  if (ReadBoundDevice(args[0], &device) != 0) return -1;
  const BoundSlot* slot = ReadSlot(table, args[1]);
  if (slot == nullptr) return -1;
  const GateUse use(&table->gate);
  const BoundCell* cell = slot->FindCell(device);
  if (cell == nullptr || cell->keep == nullptr) return 0;
  TVMFFIObjectIncRef(cell->keep);
  result->v_obj = static_cast<TVMFFIObject*>(cell->keep);
  result->type_index = result->v_obj->type_index;
  return 0;
}

// Of Python, where the process has one.
extern "C" __attribute__((weak, visibility("default"))) int Py_IsInitialized();

/*! \brief Lets go of what is bound, as the shared object is unloaded. */
TVMFFI_CUBIN_RARE void ReleaseBound(BoundTable* table) {
  // At the process's end Python is gone, whose code frees what is bound, and maybe the driver too.
  // Where there is no Python, an end cannot be told from an unloading.
  if (Py_IsInitialized == nullptr || Py_IsInitialized() == 0) return;
  for (int i = 0; i < table->num_slots; ++i) ReleaseCells(table->slots[i].cells);
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_LAUNCHER_BOUND_H_
