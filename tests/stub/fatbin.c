/*!
 * \file fatbin.c
 * \brief Finds the images in what cuLibraryLoadData is given: one ELF, PTX, or a fatbin of several.
 */
#include <string.h>

#include "stub.h"

static const uint32_t kFatbinMagic = 0xBA55ED50u;
enum { kKindPtx = 1, kKindElf = 2 };
static const uint64_t kCompressed = 0xB000, kSpecific = 0x100000, kFamily = 0x200000;

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
  uint32_t compressed_size, options;
  uint16_t minor, major;
  uint32_t arch, name, name_size;
  uint64_t flags, check, full_size;
} EntryHeader;

static bool ReadEntry(const EntryHeader* entry, const uint8_t* payload, StubImage* image) {
  // What is compressed would have to be decompressed first; no test needs it.
  if ((entry->flags & kCompressed) != 0) return false;
  bool read = entry->kind == kKindElf   ? StubReadElf(payload, image)
              : entry->kind == kKindPtx ? StubReadPtx((const char*)payload, image)
                                        : false;
  // No ELF image says of itself that it is a family's.
  if (read) image->family |= (entry->flags & kFamily) != 0;
  if (read) image->specific |= (entry->flags & kSpecific) != 0;
  return read;
}

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
    if (ReadEntry(&entry, payload, &images[count])) ++count;
    at = payload + entry.size;
  }
  return count;
}

int StubReadImages(const void* code, StubImage images[kMaxImages]) {
  uint32_t magic;
  memcpy(&magic, code, sizeof(magic));
  if (magic == kFatbinMagic) return ReadFatbin(code, images);
  if (memcmp(code, "\177ELF", 4) == 0) return StubReadElf(code, &images[0]) ? 1 : 0;
  return StubReadPtx(code, &images[0]) ? 1 : 0;
}
