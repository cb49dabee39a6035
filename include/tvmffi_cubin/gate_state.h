/*!
 * \file tvmffi_cubin/gate_state.h
 * \brief The state of a gate; needs no header of CUDA's. Its functions are in gate.h.
 */
#ifndef TVMFFI_CUBIN_GATE_STATE_H_
#define TVMFFI_CUBIN_GATE_STATE_H_

#include <stdint.h>

#include "namespace.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief Lets many use something until somebody closes it to change that; constant-initialised. */
struct Gate {
  int32_t users = 0;
  int32_t closed = 0;  // by which process; users then wait before they begin
};

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_GATE_STATE_H_
