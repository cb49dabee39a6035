/*!
 * \file tvmffi_cubin/image_refusal.h
 * \brief What is known of an embedded image, and what it means when the driver refuses one.
 */
#ifndef TVMFFI_CUBIN_IMAGE_REFUSAL_H_
#define TVMFFI_CUBIN_IMAGE_REFUSAL_H_

#include "cold.h"
#include "driver.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief What EMBED_CUBIN's table says beside the bytes; empty where it is not known. */
struct ImageFacts {
  const char* arches = "";        // "sm_80, sm_90a, compute_90"
  const char* cuda_version = "";  // "12.9": of the compiler that made the image

  ImageFacts() = default;
  explicit ImageFacts(const void* const* table)
      : arches(static_cast<const char*>(table[2])),
        cuda_version(static_cast<const char*>(table[3])) {}
};

/*! \brief A device attribute; -1 where the driver does not say. */
inline int DeviceAttribute(const Driver* driver, int device, CUdevice_attribute attribute) {
  CUdevice handle = 0;
  int value = -1;
  if (driver->cuDeviceGet(&handle, device) != CUDA_SUCCESS) return -1;
  return driver->cuDeviceGetAttribute(&value, attribute, handle) == CUDA_SUCCESS ? value : -1;
}

/*! \brief A short text of its own. */
struct ArchText {
  char chars[16] = "";
};

/*! \brief A device's architecture, "sm_90". */
inline ArchText DescribeArch(const Driver* driver, int device) {
  ArchText text;
  snprintf(text.chars, sizeof(text.chars), "sm_%d%d",
           DeviceAttribute(driver, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
           DeviceAttribute(driver, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
  return text;
}

/*! \brief Whether a driver that is too old for an image may answer this. */
inline bool MayBeTooNew(CUresult result) {
  return result == CUDA_ERROR_INVALID_IMAGE || result == CUDA_ERROR_INVALID_PTX ||
         result == CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
}

/*! \brief 12090 for "12.9", as the driver counts; 0 for an empty text. */
inline int VersionNumber(const char* text) {
  int parts[2] = {0, 0};
  int part = 0;
  for (; *text != '\0' && part < 2; ++text) {
    if (*text == '.') {
      ++part;
    } else {
      parts[part] = 10 * parts[part] + (*text - '0');
    }
  }
  return 1000 * parts[0] + 10 * parts[1];
}

/*! \brief Writes the image's CUDA version, the driver's, and what helps; false where that fits. */
inline bool DescribeVersions(const Driver* driver, CUresult result, const ImageFacts& facts,
                             char* text, size_t size) {
  int version = 0;
  driver->cuDriverGetVersion(&version);
  const int made_by = VersionNumber(facts.cuda_version);
  if (made_by <= version && result != CUDA_ERROR_UNSUPPORTED_PTX_VERSION) return false;
  char remedy[256] = ": update the driver";
  if (made_by / 1000 > version / 1000) {
    snprintf(remedy, sizeof(remedy),
             ": update the driver, or compile with its CUDA: pip install 'tvmffi-cubin[cu%d]' and "
             "set TVMFFI_CUBIN_CUDA=%d",
             version / 1000, version / 1000);
  } else if (made_by > version) {
    snprintf(remedy, sizeof(remedy),
             ": update the driver, or compile a cubin for the device and not PTX: newer cubins of "
             "its own CUDA %d are for it, too",
             version / 1000);
  }
  snprintf(text, size, "was made by %s%s, the driver supports CUDA %d.%d%s",
           made_by != 0 ? "CUDA " : "a newer CUDA", facts.cuda_version, version / 1000,
           version % 1000 / 10, remedy);
  return true;
}

/*!
 * \brief Writes what is wrong with an image, to follow "the image ": "is for sm_80, device 0 is
 * sm_90: ...". False where the driver's answer is about something else.
 */
bool DescribeRefusal(const Driver* driver, CUresult result, const ImageFacts& facts, int device,
                     char* text, size_t size);

#ifndef TVMFFI_CUBIN_COLD_COMPILED

TVMFFI_CUBIN_COLD bool DescribeRefusal(const Driver* driver, CUresult result,
                                       const ImageFacts& facts, int device, char* text,
                                       size_t size) {
  if (driver == nullptr || InForkedChild()) return false;
  const bool is_known = DeviceAttribute(driver, device, CU_DEVICE_ATTRIBUTE_WARP_SIZE) > 0;
  if (result == CUDA_ERROR_NO_BINARY_FOR_GPU && is_known) {
    const bool is_told = facts.arches[0] != '\0';
    snprintf(text, size, "is for %s, device %d is %s: compile it for that arch",
             is_told ? facts.arches : "another architecture", device,
             DescribeArch(driver, device).chars);
    return true;
  }
  return MayBeTooNew(result) && DescribeVersions(driver, result, facts, text, size);
}

#endif  // TVMFFI_CUBIN_COLD_COMPILED

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_IMAGE_REFUSAL_H_
