/*!
 * \file fatbin.c
 * \brief Finds the images in what cuLibraryLoadData is given: one ELF, or a fatbin of several.
 */
#include <string.h>

#include "stub.h"

static const uint32_t kFatbinMagic = 0xBA55ED50u;
enum { kKindElf = 2 };

/* The parts of the container's two headers that matter here. */
typedef struct {
  uint32_t magic;
  uint16_t version, header_size;
  uint64_t size; /* of all that follows */
} FatbinHeader;

typedef struct {
  uint16_t kind, version;
  uint32_t header_size;
  uint64_t size;
} EntryHeader;

static int ReadFatbin(const uint8_t* data, StubImage images[kMaxImages]) {
  FatbinHeader header;
  memcpy(&header, data, sizeof(header));
  const uint8_t* at = data + header.header_size;
  const uint8_t* end = at + header.size;
  int count = 0;
  while (at + sizeof(EntryHeader) <= end && count < kMaxImages) {
    EntryHeader entry;
    memcpy(&entry, at, sizeof(entry));
    const uint8_t* payload = at + entry.header_size;
    // A compressed payload is no ELF to StubReadElf and is left out, as PTX is.
    if (entry.kind == kKindElf && StubReadElf(payload, &images[count])) ++count;
    if (entry.header_size == 0) break;
    at = payload + entry.size;
  }
  return count;
}

int StubReadImages(const void* code, StubImage images[kMaxImages]) {
  uint32_t magic;
  memcpy(&magic, code, sizeof(magic));
  if (magic == kFatbinMagic) return ReadFatbin(code, images);
  return StubReadElf(code, &images[0]) ? 1 : 0;
}
