/*!
 * \file log.c
 * \brief Every call as one JSON object, appended to a growing array.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "stub.h"

static struct {
  char* text;
  size_t size, capacity;
  size_t record; /* where the open record begins */
} calls;

static void Append(const char* text, size_t size) {
  if (calls.size + size + 1 > calls.capacity) {
    calls.capacity = 2 * (calls.size + size) + 4096;
    calls.text = realloc(calls.text, calls.capacity);
    if (calls.text == NULL) abort();
  }
  memcpy(calls.text + calls.size, text, size);
  calls.size += size;
  calls.text[calls.size] = '\0';
}

static void AppendFormatted(const char* format, va_list args) {
  char buffer[2048];
  int size = vsnprintf(buffer, sizeof(buffer), format, args);
  if (size >= (int)sizeof(buffer)) abort();  // a format here is short; parameters go by StubLogHex
  for (int i = 0; i < size; ++i) {
    if (buffer[i] == '\'') buffer[i] = '"';
  }
  Append(buffer, (size_t)size);
}

void StubLogMore(const char* format, ...) {
  va_list args;
  va_start(args, format);
  AppendFormatted(format, args);
  va_end(args);
}

void StubLogBegin(const char* function, const char* format, va_list args) {
  calls.record = calls.size;
  if (calls.size > 0) Append(",\n", 2);
  const StubContext* context = StubCurrentContext();
  StubLogMore("{'function':'%s','thread':%ld,'device':%d,'args':{", function,
              (long)syscall(SYS_gettid), context != NULL ? context->device : -1);
  AppendFormatted(format, args);
}

void StubLogHex(const void* bytes, size_t size) {
  const uint8_t* data = bytes;
  Append("\"", 1);
  for (size_t i = 0; i < size; ++i) {
    char digits[3];
    snprintf(digits, sizeof(digits), "%02x", data[i]);
    Append(digits, 2);
  }
  Append("\"", 1);
}

void StubLogEnd(CUresult result) { StubLogMore("},'result':%d}", (int)result); }

char* StubLogCopyOpenRecord(void) {
  const char* start = calls.text + calls.record;
  if (*start == ',') start += 2;
  size_t size = (size_t)(calls.text + calls.size - start);
  static const char closing[] = "},\"result\":0}";
  char* copy = malloc(size + sizeof(closing));
  if (copy == NULL) abort();
  memcpy(copy, start, size);
  memcpy(copy + size, closing, sizeof(closing));
  return copy;
}

void StubLogClear(void) {
  free(calls.text);
  memset(&calls, 0, sizeof(calls));
}

const char* StubQuote(const char* text) {
  static _Thread_local char quoted[1024];
  if (text == NULL) return "";
  size_t size = 0;
  for (; *text != '\0' && size + 8 < sizeof(quoted); ++text) {
    unsigned char c = (unsigned char)*text;
    if (c < 0x20 || c >= 0x7f || c == '"' || c == '\'' || c == '\\') {
      size += (size_t)snprintf(quoted + size, sizeof(quoted) - size, "\\u%04x", c);
    } else {
      quoted[size++] = (char)c;
    }
  }
  quoted[size] = '\0';
  return quoted;
}

/*! \brief All calls so far as a JSON array; to be freed with stub_free. */
STUB_EXPORT char* stub_log(void) {
  pthread_mutex_lock(&stub.mutex);
  char* copy = malloc(calls.size + 3);
  if (copy == NULL) abort();
  copy[0] = '[';
  if (calls.size > 0) memcpy(copy + 1, calls.text, calls.size);
  memcpy(copy + 1 + calls.size, "]", 2);
  pthread_mutex_unlock(&stub.mutex);
  return copy;
}

STUB_EXPORT void stub_free(void* text) { free(text); }
