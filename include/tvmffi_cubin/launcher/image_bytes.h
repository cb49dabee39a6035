/*!
 * \file tvmffi_cubin/launcher/image_bytes.h
 * \brief A file read whole, and whether the driver may be given it: it trusts what it is given.
 */
#ifndef TVMFFI_CUBIN_LAUNCHER_IMAGE_BYTES_H_
#define TVMFFI_CUBIN_LAUNCHER_IMAGE_BYTES_H_

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../core/namespace.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief The content of a file, with a zero behind it, as PTX needs one. */
struct FileContent {
  unsigned char* data = nullptr;
  size_t size = 0;

  FileContent() = default;
  ~FileContent() { free(data); }
  FileContent(const FileContent&) = delete;
  FileContent& operator=(const FileContent&) = delete;
};

/*! \brief Reads a file, of what is no file nothing; returns 0 or what errno was. */
__attribute__((noinline, cold)) inline int ReadFile(const char* path, FileContent* content) {
  // A pipe would wait for who writes to it.
  const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return errno;
  struct stat facts;
  int problem = fstat(file, &facts) != 0 ? errno : S_ISDIR(facts.st_mode) ? EISDIR : 0;
  if (problem == 0) {
    const size_t room = S_ISREG(facts.st_mode) ? static_cast<size_t>(facts.st_size) : 0;
    content->data = static_cast<unsigned char*>(malloc(room + 1));
    if (content->data == nullptr) problem = ENOMEM;
    while (problem == 0 && content->size < room) {
      const ssize_t more = read(file, content->data + content->size, room - content->size);
      if (more < 0 && errno != EINTR) problem = errno;
      if (more == 0) break;
      if (more > 0) content->size += static_cast<size_t>(more);
    }
    if (problem == 0) content->data[content->size] = 0;
  }
  close(file);
  return problem;
}

/*! \brief A number of an ELF image or a fatbin, which are little-endian, as all hosts of CUDA. */
template <typename Number>
inline uint64_t NumberAt(const FileContent& content, uint64_t offset) {
  Number number = 0;
  memcpy(&number, content.data + offset, sizeof(number));
  return number;
}

/*! \brief Whether so many bytes from an offset on are in the file. */
inline bool IsInside(const FileContent& content, uint64_t offset, uint64_t size) {
  return offset <= content.size && size <= content.size - offset;
}

/*! \brief Whether everything that an ELF image's tables speak of is in the file. */
inline bool IsWholeElf(const FileContent& content) {
  constexpr uint64_t kHeader = 64, kSection = 64, kSegment = 56;
  // CUDA's own types, from 0x70000000 on, may be of memory that takes no room in the file.
  constexpr uint32_t kNull = 0, kNoBits = 8, kOwn = 0x60000000;
  if (content.size < kHeader) return false;
  const uint64_t segments = NumberAt<uint64_t>(content, 32),
                 num_segments = NumberAt<uint16_t>(content, 56);
  const uint64_t sections = NumberAt<uint64_t>(content, 40),
                 num_sections = NumberAt<uint16_t>(content, 60);
  if (!IsInside(content, segments, num_segments * kSegment) ||
      !IsInside(content, sections, num_sections * kSection)) {
    return false;
  }
  for (uint64_t row = sections; row < sections + num_sections * kSection; row += kSection) {
    const uint64_t type = NumberAt<uint32_t>(content, row + 4);
    if (type == kNull || type == kNoBits || type >= kOwn) continue;
    if (!IsInside(content, NumberAt<uint64_t>(content, row + 24),
                  NumberAt<uint64_t>(content, row + 32))) {
      return false;
    }
  }
  return true;
}

/*! \brief Why the driver is not given a file's content; null where it is. */
__attribute__((noinline, cold)) inline const char* ImageProblem(const FileContent& content) {
  constexpr char kElf[] =
      "\x7f"
      "ELF",
                 kFatbin[] = "\x50\xed\x55\xba";
  constexpr uint64_t kCuda = 190, kBits64 = 2, kVersionIsAmong = 65536;
  if (content.size == 0) return "is empty, or no regular file";
  const char* const truncated = "is truncated: its own tables speak of more bytes than it has";
  if (content.size >= 4 && memcmp(content.data, kElf, 4) == 0) {
    const bool is_cuda = content.size >= 20 && content.data[4] == kBits64 &&
                         NumberAt<uint16_t>(content, 18) == kCuda;
    if (content.size >= 20 && !is_cuda) return "is an ELF file for another machine than a GPU";
    return IsWholeElf(content) ? nullptr : truncated;
  }
  if (content.size >= 16 && memcmp(content.data, kFatbin, 4) == 0) {
    const uint64_t header = NumberAt<uint16_t>(content, 6);
    return IsInside(content, header, NumberAt<uint64_t>(content, 8)) ? nullptr : truncated;
  }
  const size_t head = content.size < kVersionIsAmong ? content.size : kVersionIsAmong;
  size_t length = content.size;
  // NVRTC counts the zero at the end of PTX as part of it.
  while (length > 0 && content.data[length - 1] == 0) --length;
  const bool is_text = memchr(content.data, 0, length) == nullptr;
  if (is_text && memmem(content.data, head, ".version", 8) != nullptr) return nullptr;
  return "is no image: wanted a cubin, a fatbin or PTX";
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_LAUNCHER_IMAGE_BYTES_H_
