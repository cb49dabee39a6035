#include "failure.h"

#include "../core/device.h"
#include "../core/library.h"
#include "../core/limits.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief How well code for "sm_90a" and the like goes with a device, which is 90; 0: not. */
static int ArchFit(const char* arch, size_t length, int device) {
  int number = 0;
  for (size_t i = 0; i < length; ++i) {
    if (arch[i] >= '0' && arch[i] <= '9') number = 10 * number + (arch[i] - '0');
  }
  if (number > device || length == 0) return 0;
  if (arch[0] == 'c') return number;  // PTX, "compute_80": after all cubins
  const char last = arch[length - 1];
  if (number / 10 != device / 10 || (last == 'a' && number != device)) return 0;
  return 10000 + 3 * number + (last == 'a' ? 2 : last == 'f' ? 1 : 0);
}

/*! \brief How well the best of "sm_80, sm_90a, compute_90" goes with a device; each differently. */
static int BestFit(const char* arches, int device) {
  int best = 0;
  while (*arches != '\0') {
    size_t length = 0;
    while (arches[length] != '\0' && arches[length] != ',') ++length;
    const int fit = ArchFit(arches, length, device);
    if (fit > best) best = fit;
    arches += length;
    while (*arches == ',' || *arches == ' ') ++arches;
  }
  return best;
}

bool LacksKernel(const Driver* driver, const EmbeddedKernel& kernel, int device, CUresult result) {
  if (kernel.arches == nullptr || result == CUDA_ERROR_NOT_FOUND) return kernel.arches != nullptr;
  // The driver says this of dead streams, too.
  if (result != CUDA_ERROR_INVALID_HANDLE) return false;
  const int arch =
      10 * DeviceAttribute(driver, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
      DeviceAttribute(driver, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  return BestFit(kernel.arches, arch) != BestFit(ImageFacts(kernel.image->table).arches, arch);
}

/*! \brief What to do about a refusal that a graph capture is the reason of, else nothing. */
static Text DescribeCapture(const Status& status, bool is_launch, int device) {
  Text text;
  if (!IsCaptureRefusal(status.result)) return text;
  if (!is_launch || status.result == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED) {
    snprintf(text.chars, sizeof(text.chars),
             ". A CUDA graph is being captured: call mod.preload(%d) before that, which loads what "
             "a first launch there loads",
             device);
  } else if (status.result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT ||
             status.result == CUDA_ERROR_STREAM_CAPTURE_ISOLATION) {
    snprintf(text.chars, sizeof(text.chars),
             ". A CUDA graph is being captured on another stream: launch on that one, as by "
             "k.on(stream) or tvmffi_cubin.use_stream(stream)");
  } else if (status.result == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED) {
    snprintf(text.chars, sizeof(text.chars), ". An earlier call has ended the capture of a graph");
  }
  return text;
}

int FailLaunch(const LaunchSite& site, const EmbeddedKernel& kernel, int device,
               const CUlaunchConfig* config, const Status& status) {
  if (status.call == kErrorIsRaised) return -1;
  const Driver* driver = __atomic_load_n(&driver_state.ready, __ATOMIC_ACQUIRE);
  const EmbeddedImage& image = *kernel.image;
  const Text label = SiteText(site);
  const char* function = label.chars;
  Text text;
  DescribeStatus(status, text.chars, sizeof(text.chars));
  if (driver != nullptr && !InForkedChild()) {
    char meaning[640];
    if (config != nullptr && kernel.handle != nullptr &&
        FindRefusal(driver, device, kernel.handle, *config, status.result, text.chars,
                    sizeof(text.chars))) {
      return Fail("LaunchLimitError", "%s: launch of %s: %s", function, kernel.display, text.chars);
    }
    if (LacksKernel(driver, kernel, device, status.result)) {
      return Fail("LaunchError",
                  "%s: kernel %s is in the image %s for %s alone, device %d is %s: a condition "
                  "on the architecture leaves it out for others (%s)",
                  function, kernel.display, image.name, kernel.arches, device,
                  DescribeArch(driver, device).chars, text.chars);
    }
    if (DescribeRefusal(driver, status.result, ImageFacts(image.table), device, meaning,
                        sizeof(meaning))) {
      return Fail("LaunchError", "%s: the image %s %s (%s)", function, image.name, meaning,
                  text.chars);
    }
  }
  return Fail("LaunchError", "%s: kernel %s of image %s on device %d: %s%s", function,
              kernel.display, image.name, device, text.chars,
              DescribeCapture(status, config != nullptr, device).chars);
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin
