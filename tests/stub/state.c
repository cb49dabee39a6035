/*!
 * \file state.c
 * \brief The one state, how every call enters and leaves it, and what tests ask of it beside CUDA's
 * own entry points.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stub.h"

enum { kDriverVersion = 12090 };
static const int kCapabilities[] = {90, 90, 80};

StubState stub = {.mutex = PTHREAD_MUTEX_INITIALIZER, .driver_version = kDriverVersion};

static void LockBeforeFork(void) { pthread_mutex_lock(&stub.mutex); }
static void UnlockInParent(void) { pthread_mutex_unlock(&stub.mutex); }
// Another thread of the parent may be inside a call at the fork: the child's mutex starts anew.
static void RenewInChild(void) { pthread_mutex_init(&stub.mutex, NULL); }

__attribute__((constructor)) static void Load(void) {
  pthread_atfork(LockBeforeFork, UnlockInParent, RenewInChild);
  StubConfigureDevices(3, kCapabilities);
}

static CUresult InjectedFailure(const char* function) {
  for (StubFailure** at = &stub.failures; *at != NULL; at = &(*at)->next) {
    StubFailure* failure = *at;
    if (strcmp(failure->function, function) != 0) continue;
    if (failure->countdown == 0) return failure->result;
    if (--failure->countdown > 0) continue;
    CUresult result = failure->result;
    *at = failure->next;
    free(failure);
    return result;
  }
  return CUDA_SUCCESS;
}

CUresult StubEnter(const char* function, StubNeed need) {
  // cuda.h renames cuMemAlloc to cuMemAlloc_v2; tests and the log use the name that is written.
  char base[64];
  snprintf(base, sizeof(base), "%s", function);
  char* suffix = strstr(base, "_v");
  if (suffix != NULL) *suffix = '\0';
  pthread_mutex_lock(&stub.mutex);
  StubLogBegin(base);
  // As the real driver: state that a fork inherited is of no use, cuInit included.
  if (need == STUB_INITIALIZED && stub.initialized_by != getpid()) {
    return CUDA_ERROR_NOT_INITIALIZED;
  }
  return InjectedFailure(base);
}

CUresult StubLeave(CUresult result) {
  StubLogEnd(result);
  pthread_mutex_unlock(&stub.mutex);
  return result;
}

CUresult CUDAAPI cuInit(unsigned int flags) {
  (void)flags;
  STUB_ENTER(STUB_ALWAYS);
  STUB_REQUIRE(stub.initialized_by == 0 || stub.initialized_by == getpid(),
               CUDA_ERROR_NOT_INITIALIZED);
  STUB_REQUIRE(stub.device_count > 0, CUDA_ERROR_NO_DEVICE);
  stub.initialized_by = getpid();
  return StubLeave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDriverGetVersion(int* version) {
  STUB_ENTER(STUB_ALWAYS);
  *version = stub.driver_version;
  return StubLeave(CUDA_SUCCESS);
}

/* ---- What tests ask for, between calls ---- */

/*!
 * \brief The log, failures, devices and contexts' stacks as at the start. What loaded launchers
 * hold on to stays: cuInit, retained contexts, libraries, streams, memory. (What nothing was done
 * to is another copy of the library, loaded from its own path.)
 */
STUB_EXPORT void stub_reset(void) {
  pthread_mutex_lock(&stub.mutex);
  StubLogClear();
  while (stub.failures != NULL) {
    StubFailure* failure = stub.failures;
    stub.failures = failure->next;
    free(failure);
  }
  StubForgetStacks();
  StubConfigureDevices(3, kCapabilities);
  stub.driver_version = kDriverVersion;
  pthread_mutex_unlock(&stub.mutex);
}

/*! \brief Makes the nth next call of a function fail, 1 for the next; 0: every one until reset. */
STUB_EXPORT void stub_fail(const char* function, int nth, int result) {
  StubFailure* made = calloc(1, sizeof(*made));
  snprintf(made->function, sizeof(made->function), "%s", function);
  made->countdown = nth;
  made->result = (CUresult)result;
  made->next = stub.failures;
  stub.failures = made;
}

/*! \brief Plays devices of the given capabilities until stub_reset. */
STUB_EXPORT void stub_set_devices(int count, const int* capabilities) {
  StubConfigureDevices(count, capabilities);
}

/*! \brief Sets a device attribute until stub_reset. */
STUB_EXPORT void stub_set_attribute(int device, int attribute, int value) {
  stub.devices[device].attributes[attribute] = value;
}

/*! \brief Plays another driver version, 11080 for 11.8; it lacks what came later. */
STUB_EXPORT void stub_set_driver_version(int version) { stub.driver_version = version; }

/*! \brief What is alive. */
typedef struct {
  int libraries, retained_contexts, pushed_contexts, allocations;
} StubObjectCounts;

STUB_EXPORT void stub_object_counts(StubObjectCounts* counts) {
  *counts = (StubObjectCounts){.pushed_contexts = stub.stacked};
  for (StubLibrary* each = stub.libraries; each; each = each->next) ++counts->libraries;
  for (int i = 0; i < kMaxDevices; ++i) counts->retained_contexts += stub.contexts[i].retained;
  for (StubRange* each = stub.ranges; each; each = each->next) counts->allocations += each->owned;
}
