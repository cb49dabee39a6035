/*!
 * \file state.c
 * \brief The one state, how every call enters and leaves it, and failures on demand.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stub.h"

StubState stub = {.mutex = PTHREAD_MUTEX_INITIALIZER, .driver_version = 12090};

static void LockBeforeFork(void) { pthread_mutex_lock(&stub.mutex); }
static void UnlockInParent(void) { pthread_mutex_unlock(&stub.mutex); }
// Another thread of the parent may be inside a call at the fork: the child's mutex starts anew.
static void RenewInChild(void) { pthread_mutex_init(&stub.mutex, NULL); }

__attribute__((constructor)) static void Load(void) {
  pthread_atfork(LockBeforeFork, UnlockInParent, RenewInChild);
  StubConfigureDevices("90,90,80");
}

/* cuda.h renames cuMemAlloc to cuMemAlloc_v2; tests and the log use the name that is written. */
static void BaseName(const char* function, char base[64]) {
  strncpy(base, function, 63);
  base[63] = '\0';
  char* suffix = strstr(base, "_v");
  if (suffix != NULL) *suffix = '\0';
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

CUresult StubEnter(const char* function, StubNeed need, const char* format, ...) {
  char base[64];
  BaseName(function, base);
  pthread_mutex_lock(&stub.mutex);
  va_list args;
  va_start(args, format);
  StubLogBegin(base, format, args);
  va_end(args);
  // As the real driver: state that a fork inherited is of no use, cuInit included.
  bool forked = stub.initialized_by != 0 && stub.initialized_by != getpid();
  if (need == STUB_INITIALIZED && (stub.initialized_by == 0 || forked)) {
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
  STUB_ENTER(STUB_ALWAYS, "'flags':%u", flags);
  STUB_REQUIRE(stub.initialized_by == 0 || stub.initialized_by == getpid(),
               CUDA_ERROR_NOT_INITIALIZED);
  STUB_REQUIRE(flags == 0, CUDA_ERROR_INVALID_VALUE);
  STUB_REQUIRE(stub.device_count > 0, CUDA_ERROR_NO_DEVICE);
  stub.initialized_by = getpid();
  return StubLeave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDriverGetVersion(int* version) {
  STUB_ENTER(STUB_ALWAYS);
  STUB_REQUIRE(version != NULL, CUDA_ERROR_INVALID_VALUE);
  *version = stub.driver_version;
  return StubLeave(CUDA_SUCCESS);
}
