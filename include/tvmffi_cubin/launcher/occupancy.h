/*!
 * \file tvmffi_cubin/launcher/occupancy.h
 * \brief What of a launch says how many of its blocks fit a device at once.
 */
#ifndef TVMFFI_CUBIN_LAUNCHER_OCCUPANCY_H_
#define TVMFFI_CUBIN_LAUNCHER_OCCUPANCY_H_

#include <cuda.h>

#include "expression.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief An evaluation's block, shared memory and cluster, those of the grid being open. */
bool FillForOccupancy(const Evaluation& evaluation, CUlaunchConfig* config);

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_LAUNCHER_OCCUPANCY_H_
