/*!
 * \file tvmffi_cubin/launcher/launch.h
 * \brief One kernel: loaded at first use, its limits checked, and its failures explained.
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
#include "error.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief What a caller sets for one call, in place of what the function says. */
struct CallOptions {
  bool has_stream = false;
  uint32_t replaced = 0;  // a bit for each Step::Target that is given
  CUlaunchConfig config = {1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, 0};
};

/*! \brief Those of a plain call. */
inline constexpr CallOptions kNoOptions;

/*! \brief One launch of a call, evaluated. */
struct PreparedLaunch {
  CUlaunchConfig config;
  const LaunchPlan* plan;
  void** params;
  bool is_empty;  // the grid has no blocks: nothing is to be done
};

/*! \brief All launches of one call, and where they go; on the call's own stack. */
struct CallFrame {
  const FunctionPlan& function;
  const Instance& instance;
  const Driver* driver = nullptr;
  int device = -1;  // -1: not known yet
  CUstream stream;
  bool has_stream;  // the caller or the function names the stream
  PreparedLaunch* launches = nullptr;

  CallFrame(const FunctionPlan& called, const Instance& taken, const CallOptions& options)
      : function(called),
        instance(taken),
        stream(options.config.hStream),
        has_stream(options.has_stream) {}

  LaunchSite Site(int launch, bool is_under_way = false) const {
    return {function.name, launch, instance.num_launches, is_under_way};
  }

  /*! \brief Calls `visit` for each parameter, of launches with blocks, that comes from there. */
  template <typename Visit>
  int ForEach(Source::From from, Visit visit) const {
    for (int i = 0; i < instance.num_launches; ++i) {
      const PreparedLaunch& launch = launches[i];
      for (int k = 0; k < launch.plan->num_sources && !launch.is_empty; ++k) {
        const Source& source = launch.plan->sources[k];
        if (source.from == from && visit(i, source, &launch.params[k]) != 0) return -1;
      }
    }
    return 0;
  }
};

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

/*!
 * \brief Whether a refusal means that an image has a kernel for other architectures alone than that
 * of the current device.
 */
TVMFFI_CUBIN_RARE bool LacksKernel(const EmbeddedKernel& kernel, CUresult result) {
  if (kernel.arches == nullptr) return false;
  // The driver says the latter of dead streams, too.
  return result == CUDA_ERROR_NOT_FOUND ||
         (result == CUDA_ERROR_INVALID_HANDLE && !LoadHere(kernel.handle).ok());
}

/*! \brief What to do about a refusal that a graph capture is the reason of, else nothing. */
TVMFFI_CUBIN_RARE const char* CaptureRemedy(CUresult result, bool is_launch) {
  if (!IsCaptureRefusal(result)) return "";
  if (!is_launch || result == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED) {
    return ". A CUDA graph is being captured: call mod.preload(%d) before that, which loads what a "
           "first launch there loads";
  }
  if (result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT ||
      result == CUDA_ERROR_STREAM_CAPTURE_ISOLATION) {
    return ". A CUDA graph is being captured on another stream: launch on that one, as by "
           "k.on(stream) or tvmffi_cubin.use_stream(stream)";
  }
  return result == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
             ? ". An earlier call has ended the capture of a graph"
             : "";
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
    if (LacksKernel(kernel, status.result)) {
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
  Text remedy;
  snprintf(remedy.chars, sizeof(remedy.chars), CaptureRemedy(status.result, config != nullptr),
           device);
  return Fail("LaunchError", "%s: kernel %s of image %s on device %d: %s%s", function,
              kernel.display, image.name, device, text.chars, remedy.chars);
}

/*! \brief Loads a kernel of an image in a file, and the image where it is not loaded. */
Status LoadFileKernel(const Driver* driver, EmbeddedKernel* kernel, CUkernel* out);

/*! \brief Loads a kernel, and its image where that is not loaded. */
TVMFFI_CUBIN_RARE Status LoadKernelNow(const Driver* driver, EmbeddedKernel* kernel,
                                       CUkernel* out) {
  CaptureScope relaxed;
  EmbeddedImage* image = kernel->image;
  Status status;
  if (image->path != nullptr) {
    status = LoadFileKernel(driver, kernel, out);
  } else {
    __atomic_store_n(&image->library.image, image->table[0], __ATOMIC_RELAXED);
    status = image->library.Load(driver);
    if (!status.ok()) return status;
    status = {driver->cuLibraryGetKernel(out, image->library.handle, kernel->symbol),
              "cuLibraryGetKernel"};
  }
  if (status.ok()) __atomic_store_n(&kernel->handle, *out, __ATOMIC_SEQ_CST);
  return status;
}

/*! \brief Loads a kernel and its image unless they are. */
inline Status LoadKernel(const Driver* driver, EmbeddedKernel* kernel) {
  CUkernel handle = __atomic_load_n(&kernel->handle, __ATOMIC_SEQ_CST);
  return __builtin_expect(handle != nullptr, 1) ? Status() : LoadKernelNow(driver, kernel, &handle);
}

/*!
 * \brief Checks that a launch's cluster is the kernel's own where it fixes one, and that the grid
 * consists of whole clusters.
 */
__attribute__((noinline)) inline int CheckClusters(const LaunchSite& site,
                                                   const EmbeddedKernel& kernel,
                                                   const CUlaunchConfig& config) {
  const ClusterShape cluster = FindCluster(kernel, config);
  const uint32_t sizes[] = {cluster.x, cluster.y, cluster.z};
  for (int i = 0; i < 3 && kernel.cluster[0] != 0; ++i) {
    if (sizes[i] == kernel.cluster[i]) continue;
    return Fail("ValueError",
                "%s: cluster.%c is %u, kernel %s fixes it as %u (__cluster_dims__): leave it out",
                SiteText(site).chars, 'x' + i, sizes[i], kernel.display, kernel.cluster[i]);
  }
  Text text;
  const LimitSearch search{nullptr, -1, nullptr, config, text.chars, sizeof(text.chars)};
  const bool is_over = (cluster.x != 0 && FindClusterShapeLimit(search, cluster, "cluster")) ||
                       (config.numAttrs != 0 && FindPreferredLimit(search, cluster));
  return is_over ? Fail("ValueError", "%s: %s", SiteText(site).chars, text.chars) : 0;
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

/*!
 * \brief Checks what a launch asks for beyond the plain, and opts into clusters; the device is
 * current, the kernel loaded.
 */
__attribute__((noinline)) inline int CheckLimits(const CallFrame& frame, int number) {
  const PreparedLaunch& launch = frame.launches[number];
  const CUlaunchConfig& config = launch.config;
  const Driver* const driver = frame.driver;
  EmbeddedKernel* const kernel = launch.plan->kernel;
  const int device = frame.device;
  Text text;
  const LimitSearch search{driver, device, kernel->handle, config, text.chars, sizeof(text.chars)};
  bool is_over = FindValueLimit(search);
  const uint64_t fixed = Volume(kernel->cluster[0], kernel->cluster[1], kernel->cluster[2]);
  const uint64_t asked = LargestClusterBlocks(config);
  const uint64_t blocks = asked > fixed ? asked : fixed;
  bool is_plain = HasPlainShape(*kernel, config);
  // A device that allows large clusters once has clusters for good, and is not asked again.
  if (blocks > 1 && !kernel->clusters.Covers(device, kPortableClusterBlocks + 1)) {
    is_plain &= DeviceAttribute(driver, device, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH) != 0;
    if (is_plain) {
      const Status status = kernel->clusters.Allow(driver, kernel->handle, device);
      if (!status.ok()) return FailLaunch(frame.Site(number), *kernel, device, nullptr, status);
    }
  }
  // How large a cluster may be depends on the device, on the block and on its shared memory.
  const bool is_large = blocks > kPortableClusterBlocks;
  if (is_plain && (is_large || IsCooperative(config))) {
    Occupancy occupancy;
    const Status status = FindOccupancy(driver, kernel->handle, device, config, &occupancy);
    if (!status.ok()) return FailLaunch(frame.Site(number), *kernel, device, nullptr, status);
    const uint64_t grid = Volume(config.gridDimX, config.gridDimY, config.gridDimZ);
    const bool is_resident = grid <= static_cast<uint64_t>(occupancy.cooperative_blocks);
    const bool has_cluster = blocks <= static_cast<uint64_t>(occupancy.cluster_blocks);
    is_plain = (!is_large || has_cluster) && (!IsCooperative(config) || is_resident);
  }
  is_over = is_over || (!is_plain && FindLimit(driver, device, kernel->handle, config, text.chars,
                                               sizeof(text.chars)));
  return is_over ? Fail("LaunchLimitError", "%s: launch of %s: %s",
                        SiteText(frame.Site(number)).chars, kernel->display, text.chars)
                 : 0;
}

/*! \brief Opts into more dynamic shared memory than every device allows. */
TVMFFI_CUBIN_RARE int RaiseSmem(const CallFrame& frame, int number) {
  const PreparedLaunch& launch = frame.launches[number];
  EmbeddedKernel* const kernel = launch.plan->kernel;
  const uint32_t bytes = launch.config.sharedMemBytes;
  int most = -1;
  const Status status = kernel->smem.Raise(frame.driver, kernel->handle, frame.device, &most);
  if (!status.ok()) return FailLaunch(frame.Site(number), *kernel, frame.device, nullptr, status);
  if (kernel->smem.Covers(frame.device, bytes)) return 0;
  return Fail("LaunchLimitError",
              "%s: launch of %s: dynamic_smem_bytes is %u, device %d allows this kernel %d",
              SiteText(frame.Site(number)).chars, kernel->display, bytes, frame.device, most);
}

/*!
 * \brief Loads a launch's kernel, opts into what it needs and checks the device's limits; the
 * device is current.
 */
__attribute__((always_inline)) inline int ReadyKernel(const CallFrame& frame, int number) {
  const PreparedLaunch& launch = frame.launches[number];
  EmbeddedKernel* const kernel = launch.plan->kernel;
  if (__builtin_expect(__atomic_load_n(&kernel->handle, __ATOMIC_SEQ_CST) == nullptr, 0)) {
    CUkernel handle = nullptr;
    const Status status = LoadKernelNow(frame.driver, kernel, &handle);
    if (!status.ok()) return FailLaunch(frame.Site(number), *kernel, frame.device, nullptr, status);
  }
  if (__builtin_expect(!kernel->smem.Covers(frame.device, launch.config.sharedMemBytes), 0) &&
      RaiseSmem(frame, number) != 0) {
    return -1;
  }
  return __builtin_expect(IsUnlimited(*kernel, launch.config), 1) ? 0 : CheckLimits(frame, number);
}

/*! \brief Launches with the grid counted in clusters of the size that the kernel fixes. */
__attribute__((noinline)) inline CUresult LaunchInClusters(const Driver* driver,
                                                           const EmbeddedKernel& kernel,
                                                           CUlaunchConfig config, void** params) {
  config.gridDimX /= kernel.cluster[0];
  config.gridDimY /= kernel.cluster[1];
  config.gridDimZ /= kernel.cluster[2];
  const auto function = reinterpret_cast<CUfunction>(kernel.handle);
  return driver->cuLaunchKernelEx(&config, function, params, nullptr);
}

/*! \brief Launches in order what is checked and has all its memory; the device is current. */
__attribute__((always_inline)) inline int LaunchInOrder(const CallFrame& frame) {
  for (int i = 0; i < frame.instance.num_launches; ++i) {
    const PreparedLaunch& launch = frame.launches[i];
    if (launch.is_empty) continue;
    const EmbeddedKernel& kernel = *launch.plan->kernel;
    // A CUkernel may be given where a CUfunction is asked for: the driver then takes the one of the
    // current context (CUDA driver API, cuLaunchKernelEx).
    const auto function = reinterpret_cast<CUfunction>(kernel.handle);
    const CUresult result =
        __builtin_expect(kernel.grid_in_clusters, 0)
            ? LaunchInClusters(frame.driver, kernel, launch.config, launch.params)
            : frame.driver->cuLaunchKernelEx(&launch.config, function, launch.params, nullptr);
    if (__builtin_expect(result != CUDA_SUCCESS, 0)) {
      return FailLaunch(frame.Site(i, true), kernel, frame.device, &launch.config,
                        {result, "cuLaunchKernelEx"});
    }
  }
  return 0;
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_LAUNCHER_LAUNCH_H_
