/*!
 * \file tvmffi_cubin/core/bound.h
 * \brief Values of kernel parameters that no caller passes; needs no header of CUDA's.
 */
#ifndef TVMFFI_CUBIN_CORE_BOUND_H_
#define TVMFFI_CUBIN_CORE_BOUND_H_

#include "state.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

struct Param;

/*! \brief What a slot has on one device, or on those that have nothing of their own. */
struct BoundCell {
  enum State : int32_t { kInherited, kValue, kNothing } state;
  uint64_t value;  // of up to 8 bytes, little-endian
  void* copy;      // from malloc: the value where it is a struct, else null
  void* keep;      // TVMFFIObjectHandle of what must live as long, or null

  const void* Address() const { return copy != nullptr ? copy : &value; }
};

/*!
 * \brief A parameter by the name that it is bound by, and its values; a row of a generated table.
 * All is read and written by those alone who use or have closed the table's gate.
 */
struct BoundSlot {
  const char* function;  // null: of all kernels that C++ functions launch
  const Param* param;
  const void* zeros;           // what is passed while it is not bound
  bool required;               // which then is an error
  BoundCell* cells = nullptr;  // from calloc: one a device, and the one that they inherit

  /*! \brief What a device has; null where nothing is bound for it. */
  const BoundCell* FindCell(int device) const {
    if (cells == nullptr) return nullptr;
    const BoundCell* shared = &cells[kMaxDevices];
    const BoundCell* cell = device >= 0 && device < kMaxDevices ? &cells[device] : shared;
    if (cell->state == BoundCell::kInherited) cell = shared;
    return cell->state == BoundCell::kValue ? cell : nullptr;
  }

  /*! \brief The value on a device; null where there is none. */
  const void* Find(int device) const {
    const BoundCell* cell = FindCell(device);
    return cell == nullptr ? nullptr : cell->Address();
  }
};

/*! \brief A kernel of an embedded image, of which the build knows what it takes. */
struct BoundKernel {
  const void* const* image;  // EMBED_CUBIN's table
  const char* symbol;
  const uint32_t* sizes;  // of its parameters, in bytes
  int32_t num_params;
};

/*! \brief All slots of a shared object. Launches use the gate, binding closes it. */
struct BoundTable {
  BoundSlot* slots;
  int32_t num_slots;
  int32_t
      num_trailing;  // of these: of the last parameters of all kernels that C++ functions launch
  const BoundKernel* kernels;  // those of the embedded images that C++ functions may launch
  int32_t num_kernels;
  Gate gate{};

  /*! \brief The slots of those last parameters, in the kernels' order. */
  const BoundSlot* Trailing() const { return slots + (num_slots - num_trailing); }
};

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_CORE_BOUND_H_
