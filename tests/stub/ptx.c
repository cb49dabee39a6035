/*!
 * \file ptx.c
 * \brief Reads PTX text: its version and target, its kernels and the sizes that they take.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stub.h"

/* The size of a parameter's scalar type, from its bits: .u64, .b8, .f32. */
static int ScalarSize(const char* declaration, const char* end) {
  for (const char* at = declaration; at < end; ++at) {
    int bits = *at == '.' && strchr("bsuf", at[1]) != NULL ? atoi(at + 2) : 0;
    if (bits > 0) return bits / 8;
  }
  return 0;
}

static void AddParameters(StubKernelInfo* kernel, const char* at, const char* end) {
  int offset = 0;
  while ((at = strstr(at, ".param ")) != NULL && at < end) {
    const char* stop = at + strcspn(at, ",)");
    const char* array = memchr(at, '[', (size_t)(stop - at));
    int scalar = ScalarSize(at + strlen(".param"), stop);
    int size = array != NULL ? scalar * atoi(array + 1) : scalar;
    const char* align = strstr(at, ".align ");
    int boundary = align != NULL && align < stop ? atoi(align + strlen(".align ")) : size;
    if (boundary > 0) offset += (boundary - offset % boundary) % boundary;
    StubAddParameter(kernel, (StubParameter){kernel->param_count, offset, size});
    offset += size;
    at = stop;
  }
}

bool StubReadPtx(const char* text, StubImage* image) {
  memset(image, 0, sizeof(*image));
  const char* version = strstr(text, ".version ");
  const char* target = strstr(text, ".target sm_");
  int major = 0, minor = 0;
  char suffix = '\0';
  if (version == NULL || target == NULL) return false;
  if (sscanf(version, ".version %d.%d", &major, &minor) != 2) return false;
  if (sscanf(target, ".target sm_%d%c", &image->arch, &suffix) < 1) return false;
  image->specific = suffix == 'a';
  image->family = suffix == 'f';
  image->ptx_version = 10 * major + minor;
  for (const char* at = text; (at = strstr(at, ".entry ")) != NULL;) {
    at += strlen(".entry ");
    AddParameters(StubAddKernel(image, strndup(at, strcspn(at, "( \n"))), at,
                  at + strcspn(at, ")"));
  }
  return true;
}

bool StubDriverCompiles(const StubImage* image) {
  int version = image->ptx_version;
  int since = version >= 90   ? 13000 + 10 * (version - 90)
              : version >= 86 ? 12070 + 10 * (version - 86)
              : version >= 80 ? 12000 + 10 * (version - 80)
                              : 0;
  return stub.driver_version >= since;
}
