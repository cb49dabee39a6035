/*!
 * \file tvmffi_cubin/launcher/file_kernel.h
 * \brief A kernel of an image that lies in a file: found by its name or a part of it, and checked.
 */
#ifndef TVMFFI_CUBIN_LAUNCHER_FILE_KERNEL_H_
#define TVMFFI_CUBIN_LAUNCHER_FILE_KERNEL_H_

#include "../core/library.h"
#include "../core/occupancy.h"
#include "image_file.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief Names in a row, as far as there is room for them. */
struct NameList {
  char chars[1024] = "";
  size_t used = 0;
  int count = 0;

  void Add(const char* name) {
    if (used < sizeof(chars)) {
      used += static_cast<size_t>(
          snprintf(chars + used, sizeof(chars) - used, "%s%s", count > 0 ? ", " : "", name));
    }
    ++count;
  }
};

/*! \brief Whether a number follows the pattern where it first is in a name: a variant, "k_1". */
inline bool IsVariant(const char* name, const char* pattern) {
  const char* rest = strstr(name, pattern) + strlen(pattern);
  return rest[0] == '_' && rest[1] >= '0' && rest[1] <= '9';
}

/*! \brief Whether a name is another's with numbers at the end, "k_1" or "k_1_2" of "k". */
inline bool IsNumbered(const char* name, const char* base) {
  const size_t length = strlen(base);
  if (strncmp(name, base, length) != 0 || name[length] != '_') return false;
  const char* rest = name + length;
  while (rest[0] == '_' && rest[1] >= '0' && rest[1] <= '9') {
    for (++rest; *rest >= '0' && *rest <= '9';) ++rest;
  }
  return *rest == '\0';
}

/*! \brief The kernels of an image, with names that are the driver's. */
struct KernelTable {
  CUkernel* kernels = nullptr;
  const char** names = nullptr;
  unsigned count = 0;

  KernelTable() = default;
  ~KernelTable() {
    free(kernels);
    free(names);
  }
  KernelTable(const KernelTable&) = delete;
  KernelTable& operator=(const KernelTable&) = delete;

  Status Fill(CUlibrary library) {
    CUresult result = entry::cuLibraryGetKernelCount(&count, library);
    if (result != CUDA_SUCCESS) return {result, "cuLibraryGetKernelCount"};
    kernels = static_cast<CUkernel*>(calloc(count + 1, sizeof(*kernels)));
    names = static_cast<const char**>(calloc(count + 1, sizeof(*names)));
    if (kernels == nullptr || names == nullptr) return {CUDA_ERROR_OUT_OF_MEMORY, "calloc"};
    result = entry::cuLibraryEnumerateKernels(kernels, count, library);
    for (unsigned i = 0; i < count && result == CUDA_SUCCESS; ++i) {
      result = entry::cuKernelGetName(&names[i], kernels[i]);
    }
    return {result, "cuLibraryEnumerateKernels"};
  }

  /*! \brief Whether one has the pattern in its name, and is no numbered one of another of those. */
  bool Matches(unsigned index, const char* pattern) const {
    const char* const name = names[index];
    if (strstr(name, pattern) == nullptr) return false;
    for (unsigned i = 0; i < count; ++i) {
      if (strstr(names[i], pattern) != nullptr && IsNumbered(name, names[i])) return false;
    }
    return true;
  }
};

/*! \brief Raises that this driver does not tell what is in an image. */
__attribute__((noinline, cold)) inline Status FailOldDriver(const EmbeddedKernel& kernel) {
  return Raised(Fail("LaunchError",
                     "kernel %s is in a file of its own, and this driver does not tell what its "
                     "kernels take: update it to one of CUDA 12.4 or newer, or embed the image",
                     kernel.display));
}

/*! \brief Raises that no kernel has a pattern in its name, or that several have. */
__attribute__((noinline, cold)) inline Status FailPattern(const EmbeddedKernel& kernel,
                                                          const NameList& found,
                                                          const NameList& all) {
  const FilePath path = PathOf(kernel.image->file);
  if (found.count == 0) {
    return Raised(Fail("LaunchError", "the image %s, %.500s, has no kernel %s%s; it has %s",
                       kernel.image->name, path.chars, kernel.symbol,
                       kernel.declared->by_part
                           ? ", nor one with that in its name"
                           : ": name it, or a part of it, in Launch(kernel=...)",
                       all.count > 0 ? all.chars : "none"));
  }
  return Raised(Fail("LaunchError",
                     "in the image %s, %.500s, %d kernels have %s in their names: %s: say more of "
                     "the name, Launch(kernel=...)",
                     kernel.image->name, path.chars, found.count, kernel.symbol, found.chars));
}

/*!
 * \brief Finds the one kernel that a part of its name stands for, as the build does in an image
 * that it sees: `k` before `k_1`, and one in which no number follows the part before those in which
 * one does.
 */
__attribute__((noinline, cold)) inline Status FindByPattern(const EmbeddedKernel& kernel,
                                                            CUkernel* out) {
  KernelTable table;
  const Status status = table.Fill(kernel.image->library.handle);
  if (status.result == CUDA_ERROR_NOT_FOUND) return FailOldDriver(kernel);
  if (!status.ok()) return status;
  NameList bases, variants, all;
  CUkernel base = nullptr, variant = nullptr;
  for (unsigned i = 0; i < table.count; ++i) {
    const char* const name = table.names[i];
    all.Add(name);
    if (!kernel.declared->by_part || !table.Matches(i, kernel.symbol)) continue;
    const bool is_variant = IsVariant(name, kernel.symbol);
    (is_variant ? variants : bases).Add(name);
    (is_variant ? variant : base) = table.kernels[i];
  }
  const NameList& found = bases.count > 0 ? bases : variants;
  *out = bases.count > 0 ? base : variant;
  return found.count == 1 ? Status() : FailPattern(kernel, found, all);
}

/*! \brief Checks that all that a kernel reads of its parameters is passed. */
__attribute__((noinline, cold)) inline Status CheckParams(const EmbeddedKernel& kernel,
                                                          CUkernel handle) {
  const DeclaredParams& declared = *kernel.declared;
  const char* const image = kernel.image->name;
  for (int index = 0;; ++index) {
    size_t offset = 0, size = 0;
    const CUresult result =
        entry::cuKernelGetParamInfo(handle, static_cast<size_t>(index), &offset, &size);
    if (result == CUDA_ERROR_NOT_FOUND) return FailOldDriver(kernel);
    const bool is_end = result == CUDA_ERROR_INVALID_VALUE;
    if (result != CUDA_SUCCESS && !is_end) return {result, "cuKernelGetParamInfo"};
    if (is_end && index >= declared.least) return {};
    const FilePath path = PathOf(kernel.image->file);
    if (is_end || index >= declared.most) {
      return Raised(Fail("LaunchError",
                         "kernel %s of the image %s, %.500s, has %s than %d parameters, and %d are "
                         "declared: say what it takes in Launch(params=...)",
                         kernel.display, image, path.chars, is_end ? "no more" : "more", index,
                         is_end ? declared.least : declared.most));
    }
    if (size != declared.sizes[index]) {
      return Raised(Fail("LaunchError",
                         "parameter %d of kernel %s of the image %s, %.500s, has %zu bytes, and "
                         "one of %u is declared: say what it takes in Launch(params=...)",
                         index + 1, kernel.display, image, path.chars, size,
                         declared.sizes[index]));
    }
  }
}

/*! \brief Notes what is told of embedded kernels by the build. */
inline void ReadFigures(const Driver* driver, EmbeddedKernel* kernel, CUkernel handle) {
  CUdevice device = 0;
  int value = 0;
  if (driver->cuCtxGetDevice(&device) != CUDA_SUCCESS) return;
  if (driver->cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, handle,
                                   device) == CUDA_SUCCESS) {
    __atomic_store_n(&kernel->max_threads, static_cast<uint32_t>(value), __ATOMIC_RELAXED);
  }
  ClusterShape fixed;
  if (!FindFixedCluster(driver, handle, device, &fixed).ok()) return;
  const uint32_t sizes[] = {fixed.x, fixed.y, fixed.z};
  for (int i = 0; i < 3; ++i) __atomic_store_n(&kernel->cluster[i], sizes[i], __ATOMIC_RELAXED);
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_LAUNCHER_FILE_KERNEL_H_
