/*!
 * \file tvmffi_cubin/launcher/launch.h
 * \brief One kernel: loaded at first use, its limits checked, launched, and its failures explained.
 *
 * What a device cannot do is told before the driver is asked to: a refusal in the midst of a graph
 * capture would spoil the capture.
 */
#ifndef TVMFFI_CUBIN_LAUNCHER_LAUNCH_H_
#define TVMFFI_CUBIN_LAUNCHER_LAUNCH_H_

#include "../core/device.h"
#include "../core/gate.h"
#include "../core/library.h"
#include "../core/limits.h"
#include "../core/occupancy.h"
#include "expression.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*!
 * \brief Keeps an image loaded, and the primary contexts retained, for the length of a launch.
 *
 * One at a time: a thread that waits for an unloading to end must not be what that waits for.
 */
class ImageUse : public GateUse {
 public:
  explicit ImageUse(EmbeddedImage* image) : GateUse(&image->gate) {}
};

/*! \brief Whether a grid has no blocks. */
inline bool IsEmpty(const CUlaunchConfig& config) {
  return config.gridDimX == 0 || config.gridDimY == 0 || config.gridDimZ == 0;
}

/*! \brief A launch's cluster: what it carries, else what the kernel fixes. */
inline ClusterShape FindCluster(const EmbeddedKernel& kernel, const CUlaunchConfig& config) {
  const auto* value = FindAttribute(config, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
  if (value != nullptr) return ClusterIn(value);
  return {kernel.cluster[0], kernel.cluster[1], kernel.cluster[2]};
}

/*! \brief Whether all blocks of a launch have to be resident at once. */
inline bool IsCooperative(const CUlaunchConfig& config) {
  const auto* value = FindAttribute(config, CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
  return value != nullptr && value->cooperative != 0;
}

/*! \brief How well code for "sm_90a" and the like goes with a device, which is 90; 0: not. */
TVMFFI_CUBIN_RARE int ArchFit(const char* arch, size_t length, int device) {
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
TVMFFI_CUBIN_RARE int BestFit(const char* arches, int device) {
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

/*! \brief Whether a refusal means that what a device takes of an image lacks a kernel. */
TVMFFI_CUBIN_RARE bool LacksKernel(const Driver* driver, const EmbeddedKernel& kernel, int device, CUresult result) {
  if (kernel.arches == nullptr || result == CUDA_ERROR_NOT_FOUND) return kernel.arches != nullptr;
  // The driver says this of dead streams, too.
  if (result != CUDA_ERROR_INVALID_HANDLE) return false;
  const int arch =
      10 * DeviceAttribute(driver, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
      DeviceAttribute(driver, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  return BestFit(kernel.arches, arch) != BestFit(ImageFacts(kernel.image->table).arches, arch);
}

/*! \brief What to do about a refusal that a graph capture is the reason of, else nothing. */
TVMFFI_CUBIN_RARE Text DescribeCapture(const Status& status, bool is_launch, int device) {
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

/*! \brief Raises what a failed load or launch means: limits and architectures by name. */
TVMFFI_CUBIN_RARE int FailLaunch(const LaunchSite& site, const EmbeddedKernel& kernel, int device,
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

/*! \brief Loads a kernel of an image in a file, and the image where it is not loaded. */
Status LoadFileKernel(const Driver* driver, EmbeddedKernel* kernel, CUkernel* out);

/*! \brief Loads a kernel, and its image where that is not loaded. */
TVMFFI_CUBIN_RARE Status LoadKernelNow(const Driver* driver, EmbeddedKernel* kernel, CUkernel* out) {
  CaptureScope relaxed;
  EmbeddedImage* image = kernel->image;
  Status status;
  if (image->path != nullptr) {
    status = LoadFileKernel(driver, kernel, out);
  } else {
    __atomic_store_n(&image->library.image, image->table[0], __ATOMIC_RELAXED);
    status = image->library.Load(driver);
    if (!status.ok()) return status;
    status = {driver->cuLibraryGetKernel(out, image->library.handle, kernel->symbol), "cuLibraryGetKernel"};
  }
  if (status.ok()) __atomic_store_n(&kernel->handle, *out, __ATOMIC_SEQ_CST);
  return status;
}

/*! \brief Loads a kernel and its image unless they are. */
inline Status LoadKernel(const Driver* driver, EmbeddedKernel* kernel, CUkernel* out) {
  *out = __atomic_load_n(&kernel->handle, __ATOMIC_SEQ_CST);
  return __builtin_expect(*out != nullptr, 1) ? Status() : LoadKernelNow(driver, kernel, out);
}

/*! \brief Checks that the grid consists of whole clusters. */
__attribute__((noinline)) inline int CheckClusters(const LaunchSite& site,
                                                   const EmbeddedKernel& kernel,
                                                   const CUlaunchConfig& config) {
  const ClusterShape shape = FindCluster(kernel, config);
  const auto* preferred = FindAttribute(config, kPreferredClusterDimension);
  const uint32_t cluster[] = {shape.x, shape.y, shape.z};
  const uint32_t grid[] = {config.gridDimX, config.gridDimY, config.gridDimZ};
  if (preferred != nullptr && shape.x == 0) {
    return Fail("ValueError", "%s: preferred_cluster is given without cluster, its least size",
                SiteText(site).chars);
  }
  for (int i = 0; i < 3 && shape.x != 0; ++i) {
    const char axis = static_cast<char>('x' + i);
    if (kernel.cluster[0] != 0 && cluster[i] != kernel.cluster[i]) {
      return Fail("ValueError",
                  "%s: cluster.%c is %u, kernel %s fixes it as %u (__cluster_dims__): leave it out",
                  SiteText(site).chars, axis, cluster[i], kernel.display, kernel.cluster[i]);
    }
    const char* what = "cluster";
    uint32_t wanted = cluster[i];
    if (preferred != nullptr) {
      // The three words lie as those of clusterDim.
      const uint32_t larger = (&preferred->clusterDim.x)[i];
      if (wanted == 0 || larger == 0 || larger % wanted != 0) {
        return Fail("ValueError",
                    "%s: preferred_cluster.%c is %u, wanted a multiple of cluster.%c, %u",
                    SiteText(site).chars, axis, larger, axis, wanted);
      }
      if (i == 2 && larger != wanted) {
        return Fail("ValueError", "%s: preferred_cluster.z is %u, wanted %u as in cluster.z",
                    SiteText(site).chars, larger, wanted);
      }
      what = "preferred_cluster";
      wanted = larger;
    }
    if (wanted == 0 || grid[i] % wanted != 0) {
      return Fail("ValueError",
                  "%s: grid.%c is %u, wanted a multiple of %s.%c, %u: a grid counts blocks, with "
                  "clusters too",
                  SiteText(site).chars, axis, grid[i], what, axis, wanted);
    }
  }
  return 0;
}

/*! \brief Whether a shape is within what every device allows the kernel. */
inline bool HasPlainShape(const EmbeddedKernel& kernel, const CUlaunchConfig& config) {
  constexpr uint32_t kBlock = 1024, kBlockZ = 64, kGrid = 65535, kGridX = INT32_MAX;
  return config.gridDimX <= kGridX && config.gridDimY <= kGrid && config.gridDimZ <= kGrid &&
         config.blockDimX <= kBlock && config.blockDimY <= kBlock && config.blockDimZ <= kBlockZ &&
         config.blockDimX * config.blockDimY * config.blockDimZ <= kernel.max_threads;
}

/*! \brief Whether there is nothing about a launch that a device might refuse. */
inline bool IsUnlimited(const EmbeddedKernel& kernel, const CUlaunchConfig& config) {
  return config.numAttrs == 0 && kernel.cluster[0] == 0 && HasPlainShape(kernel, config);
}

/*! \brief Raises what is over a limit. */
TVMFFI_CUBIN_RARE int FailLimit(const LaunchSite& site, const EmbeddedKernel& kernel, const char* text) {
  return Fail("LaunchLimitError", "%s: launch of %s: %s", SiteText(site).chars, kernel.display, text);
}

/*!
 * \brief Checks what a launch asks for beyond the plain, and opts into large clusters; the device
 * is current, the kernel loaded.
 */
__attribute__((noinline)) inline int CheckLimits(const LaunchSite& site, const Driver* driver,
                                                 EmbeddedKernel* kernel, int device,
                                                 const CUlaunchConfig& config) {
  const uint64_t fixed = Volume(kernel->cluster[0], kernel->cluster[1], kernel->cluster[2]);
  const uint64_t asked = LargestClusterBlocks(config);
  const uint64_t blocks = asked > fixed ? asked : fixed;
  Text text;
  const LimitSearch search{driver, device, kernel->handle, config, text.chars, sizeof(text.chars)};
  if (FindValueLimit(search)) return FailLimit(site, *kernel, text.chars);
  bool is_plain = HasPlainShape(*kernel, config);
  if (blocks > 1 && DeviceAttribute(driver, device, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH) == 0) {
    is_plain = false;
  } else if (!kernel->clusters.Covers(device, blocks)) {
    const Status status = kernel->clusters.Allow(driver, kernel->handle, device);
    if (!status.ok()) return FailLaunch(site, *kernel, device, nullptr, status);
  }
  // How large a cluster may be depends on the device, on the block and on its shared memory.
  const bool is_large = blocks > kPortableClusterBlocks;
  if (is_plain && (is_large || IsCooperative(config))) {
    Occupancy occupancy;
    const Status status = FindOccupancy(driver, kernel->handle, device, config, &occupancy);
    if (!status.ok()) return FailLaunch(site, *kernel, device, nullptr, status);
    const uint64_t grid = Volume(config.gridDimX, config.gridDimY, config.gridDimZ);
    const bool is_resident = grid <= static_cast<uint64_t>(occupancy.cooperative_blocks);
    const bool has_cluster = blocks <= static_cast<uint64_t>(occupancy.cluster_blocks);
    is_plain = (!is_large || has_cluster) && (!IsCooperative(config) || is_resident);
  }
  const bool is_over =
      !is_plain && FindLimit(driver, device, kernel->handle, config, text.chars, sizeof(text.chars));
  return is_over ? FailLimit(site, *kernel, text.chars) : 0;
}

/*!
 * \brief Loads a kernel, opts into what a launch needs and checks the device's limits; the device
 * is current already.
 */
__attribute__((always_inline)) inline int PrepareKernel(const LaunchSite& site,
                                                        const Driver* driver,
                                                        EmbeddedKernel* kernel, int device,
                                                        const CUlaunchConfig& config,
                                                        CUkernel* out) {
  Status status = LoadKernel(driver, kernel, out);
  if (!status.ok()) return FailLaunch(site, *kernel, device, nullptr, status);
  if (__builtin_expect(!kernel->smem.Covers(device, config.sharedMemBytes), 0)) {
    int most = -1;
    status = kernel->smem.Raise(driver, *out, device, &most);
    if (!status.ok()) return FailLaunch(site, *kernel, device, nullptr, status);
    if (!kernel->smem.Covers(device, config.sharedMemBytes)) {
      return Fail("LaunchLimitError",
                  "%s: launch of %s: dynamic_smem_bytes is %u, device %d allows "
                  "this kernel %d",
                  SiteText(site).chars, kernel->display, config.sharedMemBytes, device, most);
    }
  }
  if (__builtin_expect(IsUnlimited(*kernel, config), 1)) return 0;
  return CheckLimits(site, driver, kernel, device, config);
}

/*! \brief Does what PrepareKernel does where it could fail, long before the launch. */
__attribute__((noinline)) inline int CheckAhead(const LaunchSite& site, const Driver* driver,
                                                EmbeddedKernel* kernel, int device,
                                                const CUlaunchConfig& config) {
  if (kernel->smem.Covers(device, config.sharedMemBytes) && IsUnlimited(*kernel, config)) return 0;
  ImageUse use(kernel->image);
  DeviceScope scope;
  const Status status = scope.Enter(driver, device);
  if (!status.ok()) return FailLaunch(site, *kernel, device, nullptr, status);
  CUkernel handle = nullptr;
  return PrepareKernel(site, driver, kernel, device, config, &handle);
}

/*! \brief Launches with the grid counted in clusters of the size that the kernel fixes. */
__attribute__((noinline)) inline CUresult LaunchInClusters(const Driver* driver,
                                                           const EmbeddedKernel& kernel,
                                                           CUlaunchConfig config,
                                                           CUfunction function, void** params) {
  config.gridDimX /= kernel.cluster[0];
  config.gridDimY /= kernel.cluster[1];
  config.gridDimZ /= kernel.cluster[2];
  return driver->cuLaunchKernelEx(&config, function, params, nullptr);
}

/*! \brief Launches; the device is current already. */
inline int LaunchKernel(const LaunchSite& site, const Driver* driver, EmbeddedKernel* kernel,
                        int device, const CUlaunchConfig& config, void** params) {
  CUkernel handle = nullptr;
  if (PrepareKernel(site, driver, kernel, device, config, &handle) != 0) return -1;
  // A CUkernel may be given where a CUfunction is asked for: the driver then takes the one of the
  // current context (CUDA driver API, cuLaunchKernelEx).
  const auto function = reinterpret_cast<CUfunction>(handle);
  const CUresult result = __builtin_expect(kernel->grid_in_clusters, 0)
                              ? LaunchInClusters(driver, *kernel, config, function, params)
                              : driver->cuLaunchKernelEx(&config, function, params, nullptr);
  if (__builtin_expect(result != CUDA_SUCCESS, 0)) {
    return FailLaunch(site, *kernel, device, &config, {result, "cuLaunchKernelEx"});
  }
  return 0;
}

/*! \brief Launches while some image of the module is in use, so that none is unloaded. */
__attribute__((always_inline)) inline int RunInUse(const LaunchSite& site, const Driver* driver,
                                                   EmbeddedKernel* kernel, int device,
                                                   const CUlaunchConfig& config, void** params) {
  DeviceScope scope;
  Status status = scope.Enter(driver, device);
  if (!status.ok()) return FailLaunch(site, *kernel, device, nullptr, status);
  if (LaunchKernel(site, driver, kernel, device, config, params) != 0) return -1;
  status = scope.Leave();
  if (__builtin_expect(status.ok(), 1)) return 0;
  return FailLaunch(site, *kernel, device, nullptr, status);
}

/*! \brief Launches what PrepareLaunch prepared; a grid with a zero in it does nothing. */
inline int RunLaunch(const LaunchSite& site, const Driver* driver, EmbeddedKernel* kernel, int device, const CUlaunchConfig& config, void** params) {
  if (IsEmpty(config)) return 0;
  // Before the scope: what is unloaded releases the contexts, too.
  ImageUse use(kernel->image);
  return RunInUse(site, driver, kernel, device, config, params);
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_LAUNCHER_LAUNCH_H_
