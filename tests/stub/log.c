/*!
 * \file log.c
 * \brief Every call as one JSON object, appended to a growing array.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stub.h"

static struct {
  char* text;
  size_t size, capacity;
} calls;

static void Append(const char* text, size_t size) {
  if (calls.size + size + 1 > calls.capacity) {
    calls.capacity = 2 * (calls.size + size) + 4096;
    calls.text = realloc(calls.text, calls.capacity);
  }
  memcpy(calls.text + calls.size, text, size);
  calls.size += size;
}

void StubLog(const char* format, ...) {
  char buffer[4096];
  va_list args;
  va_start(args, format);
  int size = vsnprintf(buffer, sizeof(buffer), format, args);
  va_end(args);
  if (size >= (int)sizeof(buffer)) abort();  // a format here is short; parameters go by StubLogHex
  for (int i = 0; i < size; ++i) {
    if (buffer[i] == '\'') buffer[i] = '"';
  }
  Append(buffer, (size_t)size);
}

void StubLogHex(const void* bytes, size_t size) {
  const uint8_t* data = bytes;
  StubLog("'");
  for (size_t i = 0; i < size; ++i) StubLog("%02x", data[i]);
  StubLog("'");
}

void StubLogBegin(const char* function) {
  const StubContext* context = StubCurrentContext();
  StubLog("%s{'function':'%s','device':%d,'args':{", calls.size > 0 ? ",\n" : "", function,
          context != NULL ? context->device : -1);
}

void StubLogEnd(CUresult result) {
  // Of a call's arguments, the last one's comma.
  if (calls.text[calls.size - 1] == ',') --calls.size;
  StubLog("},'result':%d}", (int)result);
}

void StubLogClear(void) {
  free(calls.text);
  memset(&calls, 0, sizeof(calls));
}

/*! \brief All calls so far as a JSON array; to be freed with stub_free. */
STUB_EXPORT char* stub_log(void) {
  pthread_mutex_lock(&stub.mutex);
  char* copy = malloc(calls.size + 3);
  copy[0] = '[';
  if (calls.size > 0) memcpy(copy + 1, calls.text, calls.size);
  memcpy(copy + 1 + calls.size, "]", 2);
  pthread_mutex_unlock(&stub.mutex);
  return copy;
}

STUB_EXPORT void stub_free(void* text) { free(text); }
