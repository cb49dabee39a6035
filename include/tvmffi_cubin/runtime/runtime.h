/*!
 * \file tvmffi_cubin/runtime/runtime.h
 * \brief The part of the CUDA runtime that wrappers call, over the driver, with no libcudart.
 *
 * Calls that are not here stay undefined and are libcudart's. The two work on the same contexts,
 * but each remembers its own last error.
 */
#ifndef TVMFFI_CUBIN_RUNTIME_RUNTIME_H_
#define TVMFFI_CUBIN_RUNTIME_RUNTIME_H_

#include "error.h"

// Declared they are in any case: by CUDA's headers.
#ifndef TVMFFI_CUBIN_COLD_COMPILED
#include "array_copies.h"
#include "arrays.h"
#include "capture.h"
#include "copies.h"
#include "device.h"
#include "entry_points.h"
#include "graph.h"
#include "kernel.h"
#include "launch.h"
#include "memory.h"
#include "nodes.h"
#include "occupancy.h"
#include "peers.h"
#include "placement.h"
#include "properties.h"
#include "stream.h"
#include "symbol.h"
#include "textures.h"
#endif

#endif  // TVMFFI_CUBIN_RUNTIME_RUNTIME_H_
