/*!
 * \file tvmffi_cubin/launcher/bound.h
 * \brief Kernel parameters that are bound: read by launches, changed while no launch reads them.
 */
#ifndef TVMFFI_CUBIN_LAUNCHER_BOUND_H_
#define TVMFFI_CUBIN_LAUNCHER_BOUND_H_

#include <stdlib.h>

#include "prepare.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*!
 * \brief Points the parameters of all launches of a call at what is bound on its device. The
 * table's gate is used for as long as they are.
 */
inline int FillBound(const CallFrame& frame) {
  return frame.ForEach(Source::kBound, [&](int launch, const Source& source, void** param) {
    const BoundSlot& slot = frame.instance.bound->slots[source.index];
    const void* value = slot.Find(frame.device);
    if (value == nullptr && slot.required) {
      return Fail("LaunchError",
                  "%s: the parameter %s (%s) of %s is not bound on device %d: call "
                  "mod.bind(\"%s\", %s=...) before",
                  SiteText(frame.Site(launch)).chars, slot.param->name, slot.param->type,
                  frame.launches[launch].plan->kernel->display, frame.device, slot.function,
                  slot.param->name);
    }
    *param = const_cast<void*>(value == nullptr ? slot.zeros : value);
    return 0;
  });
}

constexpr int kAllDevices = -1;
constexpr int kNumBoundCells = kMaxDevices + 1;

/*! \brief One value to be bound. */
struct BoundChange {
  BoundSlot* slot;
  int device;  // or kAllDevices
  BoundCell cell;
  BoundCell* cells;  // the slot's next ones; once all is changed, what they replaced
};

/*! \brief Lets go of what cells hold. Python's own objects may be among it, and run its code. */
TVMFFI_CUBIN_RARE void ReleaseCells(BoundCell* cells) {
  for (int i = 0; cells != nullptr && i < kNumBoundCells; ++i) {
    if (cells[i].keep != nullptr) TVMFFIObjectDecRef(cells[i].keep);
    free(cells[i].copy);
  }
  free(cells);
}

/*! \brief "k: bound parameter x (int)", or without the function's name. */
TVMFFI_CUBIN_RARE Text BoundText(const BoundSlot& slot) {
  Text text;
  const bool is_own = slot.function != nullptr;
  snprintf(text.chars, sizeof(text.chars), "bind: %.120s%s%.60s (%.90s)",
           is_own ? slot.function : "", is_own ? ": " : "", slot.param->name, slot.param->type);
  return text;
}

/*! \brief Finds out for which device a tensor is bound. */
TVMFFI_CUBIN_RARE int PlaceTensor(const BoundSlot& slot, const DLTensor& tensor, int* device) {
  if (tensor.device.device_type != kDLCUDA) {
    if (IsHostMemoryForKernels(tensor)) return 0;
    return Fail("ValueError",
                "%s: got a tensor on %s, wanted one on a CUDA device (pinned and managed host "
                "memory will do): move it first, as with x.cuda()",
                BoundText(slot).chars, DescribeDevice(tensor.device).chars);
  }
  const int own = tensor.device.device_id;
  if (own < 0 || own >= kMaxDevices) {
    return Fail("ValueError", "%s: got a tensor on cuda:%d, wanted one on cuda:0 to cuda:%d",
                BoundText(slot).chars, own, kMaxDevices - 1);
  }
  if (*device != kAllDevices && *device != own) {
    return Fail("ValueError",
                "%s: got a tensor on cuda:%d for device %d: a tensor is bound for its own device",
                BoundText(slot).chars, own, *device);
  }
  *device = own;
  return 0;
}

/*! \brief Converts a value, as it would be converted for a call; None: nothing is bound. */
TVMFFI_CUBIN_RARE int ConvertBound(BoundChange* change, const TVMFFIAny& value,
                                   const TVMFFIAny& keep) {
  const BoundSlot& slot = *change->slot;
  if (value.type_index == kTVMFFINone) {
    change->cell.state = BoundCell::kNothing;
    return 0;
  }
  Argument argument{};
  const Problem problem = Convert(*slot.param, value, &argument);
  if (problem != Problem::kNone) {
    Text text;
    const char* kind = DescribeProblem(*slot.param, value, problem, &text);
    return Fail(kind, "%s: %s", BoundText(slot).chars, text.chars);
  }
  if (argument.tensor != nullptr && PlaceTensor(slot, *argument.tensor, &change->device) != 0) {
    return -1;
  }
  const bool has_keep = keep.type_index >= kTVMFFIStaticObjectBegin;
  if (value.type_index == kTVMFFIDLTensorPtr && !has_keep) {
    return Fail("TypeError", "%s: the tensor is a view that nothing keeps alive",
                BoundText(slot).chars);
  }
  change->cell.state = BoundCell::kValue;
  if (argument.address != &argument.storage) {
    change->cell.copy = malloc(slot.param->size);
    if (change->cell.copy == nullptr) return Fail("MemoryError", "%s", BoundText(slot).chars);
    memcpy(change->cell.copy, argument.address, slot.param->size);
  } else {
    memcpy(&change->cell.value, &argument.storage, sizeof(change->cell.value));
  }
  const bool is_object = value.type_index >= kTVMFFIStaticObjectBegin;
  change->cell.keep = has_keep ? keep.v_obj : is_object ? value.v_obj : nullptr;
  if (change->cell.keep != nullptr) TVMFFIObjectIncRef(change->cell.keep);
  return 0;
}

/*! \brief Changes one slot, whose table is closed; what it replaces is the change's afterwards. */
TVMFFI_CUBIN_RARE void ApplyBound(BoundChange* change) {
  BoundSlot* slot = change->slot;
  if (change->device != kAllDevices && slot->cells != nullptr) {
    const BoundCell before = slot->cells[change->device];
    slot->cells[change->device] = change->cell;
    change->cell = before;
    return;
  }
  change->cells[change->device == kAllDevices ? kMaxDevices : change->device] = change->cell;
  change->cell = {};
  BoundCell* const before = slot->cells;
  slot->cells = change->cells;
  change->cells = before;
}

/*! \brief Lets go of what changes hold, applied or not. */
TVMFFI_CUBIN_RARE void ReleaseChanges(BoundChange* changes, int count) {
  for (int i = 0; i < count; ++i) {
    if (changes[i].cell.keep != nullptr) TVMFFIObjectDecRef(changes[i].cell.keep);
    free(changes[i].cell.copy);
    ReleaseCells(changes[i].cells);
  }
  free(changes);
}

/*! \brief Makes all changes at once: a launch reads the values of before or of after them. */
TVMFFI_CUBIN_RARE void ApplyAll(BoundTable* table, BoundChange* changes, int count) {
  CloseGate(&table->gate);
  // In a fork, the launches that the gate counts are another process's.
  if (!InForkedChild()) WaitForUsers(&table->gate);
  for (int i = 0; i < count; ++i) ApplyBound(&changes[i]);
  OpenGate(&table->gate);
}

/*! \brief Reads one value to be bound and the slot's number before it. */
TVMFFI_CUBIN_RARE int ReadChange(BoundTable* table, const TVMFFIAny* args, int device,
                                 BoundChange* change) {
  if (args[0].type_index != kTVMFFIInt || args[0].v_int64 < 0 ||
      args[0].v_int64 >= table->num_slots) {
    return Fail("ValueError", "bind: got %s, wanted the number of a bound parameter, up to %d",
                DescribeArgument(args[0]).chars, table->num_slots - 1);
  }
  change->slot = &table->slots[args[0].v_int64];
  change->device = device;
  change->cells = static_cast<BoundCell*>(calloc(kNumBoundCells, sizeof(BoundCell)));
  if (change->cells == nullptr) return Fail("MemoryError", "%s", BoundText(*change->slot).chars);
  return ConvertBound(change, args[1], args[2]);
}

/*! \brief Reads the device that something is bound for; None: all, -1: the current one. */
TVMFFI_CUBIN_RARE int ReadBoundDevice(const TVMFFIAny* args, int num_args, int* device) {
  int64_t number = kAllDevices;
  bool present = false;
  if (num_args < 1) return Fail("TypeError", "bind: got no arguments, wanted the device first");
  if (ReadOption("bind", "device", args[0], &number, &present) != 0) return -1;
  if (present && number == -1) {
    const Driver* driver = OpenDriver();
    number = driver == nullptr ? 0 : CurrentDevice(driver);
  }
  if (present && (number < 0 || number >= kMaxDevices)) {
    return Fail("ValueError", "bind: device is %lld, wanted 0 to %d",
                static_cast<long long>(number), kMaxDevices - 1);
  }
  *device = static_cast<int>(number);
  return 0;
}

/*!
 * \brief Binds values all at once, or none where one is wrong. The arguments: the device, -1 for
 * the current one, None for all; for each value the slot's number, the value (None: nothing is
 * bound any more), and the object that keeps it alive, or None where it does so itself.
 */
TVMFFI_CUBIN_RARE int Bind(BoundTable* table, const TVMFFIAny* args, int num_args) {
  int device = kAllDevices;
  if (ReadBoundDevice(args, num_args, &device) != 0) return -1;
  if (num_args % 3 != 1) {
    return Fail("TypeError", "bind: wanted the device, then three arguments for each value");
  }
  const int count = num_args / 3;
  auto* changes = static_cast<BoundChange*>(calloc(count + 1, sizeof(BoundChange)));
  if (changes == nullptr) return Fail("MemoryError", "bind: %d values", count);
  int result = 0;
  for (int i = 0; i < count && result == 0; ++i) {
    result = ReadChange(table, &args[1 + 3 * i], device, &changes[i]);
  }
  if (result == 0) ApplyAll(table, changes, count);
  ReleaseChanges(changes, count);
  return result;
}

/*!
 * \brief What is bound: the object that keeps it alive, or None. The arguments: the device, as for
 * Bind, and the slot's number.
 */
TVMFFI_CUBIN_RARE int ReadBound(BoundTable* table, const TVMFFIAny* args, int num_args,
                                TVMFFIAny* result) {
  int device = kAllDevices;
  if (ReadBoundDevice(args, num_args, &device) != 0) return -1;
  if (num_args != 2 || args[1].type_index != kTVMFFIInt || args[1].v_int64 < 0 ||
      args[1].v_int64 >= table->num_slots) {
    return Fail("ValueError", "bound: wanted the device and a bound parameter's number, up to %d",
                table->num_slots - 1);
  }
  const GateUse use(&table->gate);
  const BoundCell* cell = table->slots[args[1].v_int64].FindCell(device);
  if (cell == nullptr || cell->keep == nullptr) return 0;
  TVMFFIObjectIncRef(cell->keep);
  result->type_index = static_cast<TVMFFIObject*>(cell->keep)->type_index;
  result->v_obj = static_cast<TVMFFIObject*>(cell->keep);
  return 0;
}

// Of Python, where the process has one.
extern "C" __attribute__((weak, visibility("default"))) int Py_IsInitialized();

/*! \brief Lets go of what is bound, as the shared object is unloaded. */
TVMFFI_CUBIN_RARE void ReleaseBound(BoundTable* table) {
  // At the process's end Python is gone, whose code frees what is bound, and maybe the driver too.
  // Where there is no Python, an end cannot be told from an unloading.
  if (Py_IsInitialized == nullptr || Py_IsInitialized() == 0) return;
  for (int i = 0; i < table->num_slots; ++i) {
    ReleaseCells(table->slots[i].cells);
    table->slots[i].cells = nullptr;
  }
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_LAUNCHER_BOUND_H_
