/*!
 * \file control.c
 * \brief What tests ask of the stand-in beside CUDA's own entry points.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stub.h"

enum { kDriverVersion = 12090 };

static void ForgetFailures(void) {
  while (stub.failures != NULL) {
    StubFailure* failure = stub.failures;
    stub.failures = failure->next;
    free(failure);
  }
}

/*!
 * \brief The log, failures, host functions, devices and contexts' stacks as at the start. What
 * loaded launchers hold on to stays: cuInit, retained contexts, libraries, streams, memory. (What
 * nothing was done to is another copy of the library, loaded from its own path.)
 */
STUB_EXPORT void stub_reset(void) {
  pthread_mutex_lock(&stub.mutex);
  StubLogClear();
  ForgetFailures();
  StubForgetCallbacks();
  StubForgetStacks();
  StubConfigureDevices("90,90,80");
  stub.driver_version = kDriverVersion;
  stub.eager = false;
  pthread_mutex_unlock(&stub.mutex);
}

/*! \brief Makes the nth next call of a function fail, 1 for the next; 0: every one until reset. */
STUB_EXPORT void stub_fail(const char* function, int nth, int result) {
  StubFailure* made = calloc(1, sizeof(*made));
  if (made == NULL) abort();
  snprintf(made->function, sizeof(made->function), "%s", function);
  made->countdown = nth;
  made->result = (CUresult)result;
  pthread_mutex_lock(&stub.mutex);
  made->next = stub.failures;
  stub.failures = made;
  pthread_mutex_unlock(&stub.mutex);
}

/*! \brief Plays devices of the given capabilities, "90,80" for two, until stub_reset. */
STUB_EXPORT void stub_set_devices(const char* capabilities) {
  pthread_mutex_lock(&stub.mutex);
  StubConfigureDevices(capabilities);
  pthread_mutex_unlock(&stub.mutex);
}

/*! \brief Sets a device attribute until stub_reset; 0 where there is no such device. */
STUB_EXPORT int stub_set_attribute(int device, int attribute, int value) {
  pthread_mutex_lock(&stub.mutex);
  bool known = StubDeviceExists(device) && attribute > 0 && attribute < kMaxAttributes;
  if (known) stub.devices[device].attributes[attribute] = value;
  pthread_mutex_unlock(&stub.mutex);
  return known;
}

/*! \brief Plays another driver version, 11080 for 11.8; it lacks what came later. */
STUB_EXPORT void stub_set_driver_version(int version) {
  pthread_mutex_lock(&stub.mutex);
  stub.driver_version = version;
  pthread_mutex_unlock(&stub.mutex);
}

/*! \brief Plays CUDA_MODULE_LOADING=EAGER until stub_reset. */
STUB_EXPORT void stub_set_eager(void) {
  pthread_mutex_lock(&stub.mutex);
  stub.eager = true;
  pthread_mutex_unlock(&stub.mutex);
}

/*! \brief What is alive. */
typedef struct {
  int libraries, retained_contexts, pushed_contexts, streams, events, allocations;
} StubObjectCounts;

STUB_EXPORT void stub_object_counts(StubObjectCounts* counts) {
  pthread_mutex_lock(&stub.mutex);
  *counts = (StubObjectCounts){.pushed_contexts = stub.stacked};
  for (StubLibrary* library = stub.libraries; library; library = library->next) {
    ++counts->libraries;
  }
  for (int i = 0; i < kMaxDevices; ++i) counts->retained_contexts += stub.contexts[i].retained;
  for (StubStream* stream = stub.streams; stream; stream = stream->next) ++counts->streams;
  for (StubEvent* event = stub.events; event; event = event->next) ++counts->events;
  for (StubRange* range = stub.ranges; range; range = range->next) {
    counts->allocations += range->owned;
  }
  pthread_mutex_unlock(&stub.mutex);
}
