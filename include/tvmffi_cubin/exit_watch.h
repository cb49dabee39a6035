/*!
 * \file tvmffi_cubin/exit_watch.h
 * \brief Knows when static destructors run, in which the driver must not be called.
 */
#ifndef TVMFFI_CUBIN_EXIT_WATCH_H_
#define TVMFFI_CUBIN_EXIT_WATCH_H_

#include <stdlib.h>

#include "core/namespace.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief Set when the process exits or this shared object is unloaded. */
inline bool exit_begun = false;

/*! \brief Whether an object was made since the last handler was registered. */
inline bool exit_unwatched = true;

/*!
 * \brief How many handlers there are, and may be. A wrapper that makes a kernel at every call asks
 * for one each time; static objects, which alone need them, are fewer.
 */
inline int exit_handlers = 0;
constexpr int kMaxExitHandlers = 1024;

inline void NoteExit() { __atomic_store_n(&exit_begun, true, __ATOMIC_RELAXED); }

/*!
 * \brief Registers a handler that notes the exit. Handlers and static destructors run in the
 * reverse order of their registration, so one registered while an object is in use precedes the
 * object's own destructor.
 */
inline void WatchExit() {
  if (__builtin_expect(!__atomic_load_n(&exit_unwatched, __ATOMIC_RELAXED), 1)) return;
  if (!__atomic_exchange_n(&exit_unwatched, false, __ATOMIC_RELAXED)) return;
  if (__atomic_load_n(&exit_handlers, __ATOMIC_RELAXED) >= kMaxExitHandlers) return;
  __atomic_fetch_add(&exit_handlers, 1, __ATOMIC_RELAXED);
  atexit(NoteExit);
}

/*! \brief Asks for another handler at the next use: a new object may be a static one. */
inline void WatchExitAgain() { __atomic_store_n(&exit_unwatched, true, __ATOMIC_RELAXED); }

/*! \brief Whether destructors may still call the driver. */
inline bool ExitBegun() { return __atomic_load_n(&exit_begun, __ATOMIC_RELAXED); }

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_EXIT_WATCH_H_
