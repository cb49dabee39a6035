/*!
 * \file tvmffi_cubin/launcher/file.h
 * \brief An image that lies in a file of its own: found, made where it is missing, loaded; its
 * kernels found by their names, or by a part of them, and checked.
 */
#ifndef TVMFFI_CUBIN_LAUNCHER_FILE_H_
#define TVMFFI_CUBIN_LAUNCHER_FILE_H_

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../core/library.h"
#include "launch.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief What the body knows of the file of an image. */
struct ImageFile {
  char* folder;         // in the place of the shared object's; from malloc
  TVMFFIObject* maker;  // a tvm-ffi function that makes the file where it is missing
  int32_t lock;
};

/*! \brief Calls of makers that are under way. */
inline int32_t makers_under_way = 0;

/*! \brief The file of an image that lies in one; null without memory. */
TVMFFI_CUBIN_RARE ImageFile* FileOf(EmbeddedImage* image) {
  ImageFile* file = __atomic_load_n(&image->file, __ATOMIC_ACQUIRE);
  if (file != nullptr) return file;
  auto* made = static_cast<ImageFile*>(calloc(1, sizeof(ImageFile)));
  if (__atomic_compare_exchange_n(&image->file, &file, made, false, __ATOMIC_ACQ_REL,
                                  __ATOMIC_ACQUIRE)) {
    return made;
  }
  free(made);  // another thread was first
  return file;
}

/*! \brief The path of an image's file; its lock is held. */
struct FilePath {
  char chars[PATH_MAX];

  void Find(const EmbeddedImage& image) {
    const char* folder = image.file->folder;
    Dl_info found{};
    int length = folder == nullptr ? 0 : static_cast<int>(strlen(folder));
    if (folder == nullptr && dladdr(&image, &found) != 0 && found.dli_fname != nullptr) {
      const char* last = strrchr(found.dli_fname, '/');
      folder = last == nullptr ? "." : found.dli_fname;
      length = last == nullptr ? 1 : static_cast<int>(last - found.dli_fname);
    }
    if (image.path[0] == '/' || folder == nullptr) {
      snprintf(chars, sizeof(chars), "%s", image.path);
    } else {
      snprintf(chars, sizeof(chars), "%.*s/%s", length, folder, image.path);
    }
  }
};

/*! \brief The content of a file, with a zero behind it, as PTX needs one. */
struct FileContent {
  unsigned char* data = nullptr;
  size_t size = 0;

  FileContent() = default;
  ~FileContent() { free(data); }
  FileContent(const FileContent&) = delete;
  FileContent& operator=(const FileContent&) = delete;

  /*! \brief Reads a file, of what is no file nothing; returns 0 or what errno was. */
  int Read(const char* path) {
    // A pipe would wait for who writes to it.
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) return errno;
    struct stat facts;
    int problem = fstat(file, &facts) != 0 ? errno : S_ISDIR(facts.st_mode) ? EISDIR : 0;
    const size_t room = S_ISREG(facts.st_mode) ? static_cast<size_t>(facts.st_size) : 0;
    data = static_cast<unsigned char*>(calloc(room + 1, 1));
    if (data == nullptr) problem = ENOMEM;
    while (problem == 0 && size < room) {
      const ssize_t more = read(file, data + size, room - size);
      if (more < 0 && errno != EINTR) problem = errno;
      if (more == 0) break;
      if (more > 0) size += static_cast<size_t>(more);
    }
    close(file);
    return problem;
  }

  /*! \brief A number of an ELF file or a fatbin, which are little-endian, as all hosts of CUDA. */
  template <typename Number>
  uint64_t At(size_t offset) const {
    Number number = 0;
    if (offset + sizeof(number) <= size) memcpy(&number, data + offset, sizeof(number));
    return number;
  }

  /*! \brief Why the driver, which trusts what it is given, does not get it; null where it does. */
  const char* Problem() const {
    constexpr char kTruncated[] = "is truncated: its own tables speak of more bytes than it has";
    constexpr uint64_t kElf = 0x464c457f, kFatbin = 0xba55ed50, kCuda = 190, kMachine = 18;
    if (size == 0) return "is empty, or no regular file";
    if (At<uint32_t>(0) == kElf) {
      if (size >= 64 && At<uint16_t>(kMachine) != kCuda) {
        return "is an ELF file for another machine than a GPU";
      }
      // The tables of segments and sections lie behind all else.
      const uint64_t segments = At<uint64_t>(32) + At<uint16_t>(54) * At<uint16_t>(56);
      const uint64_t sections = At<uint64_t>(40) + At<uint16_t>(58) * At<uint16_t>(60);
      return size >= 64 && segments <= size && sections <= size ? nullptr : kTruncated;
    }
    if (At<uint32_t>(0) == kFatbin) {
      const uint64_t header = At<uint16_t>(6), content = At<uint64_t>(8);
      return size >= 16 && header <= size && content <= size - header ? nullptr : kTruncated;
    }
    return memmem(data, size < 65536 ? size : 65536, ".version", 8) != nullptr
               ? nullptr
               : "is no image: wanted a cubin, a fatbin or PTX";
  }
};

/*! \brief Has the file made; returns 0, or -1 with an error raised. */
TVMFFI_CUBIN_RARE int CallMaker(const Driver* driver, TVMFFIObject* maker, const char* name,
                                const char* path) {
  CUcontext before = nullptr, after = nullptr;
  driver->cuCtxGetCurrent(&before);
  TVMFFIAny args[2]{}, result{};
  args[0].type_index = args[1].type_index = kTVMFFIRawStr;
  args[0].v_c_str = name;
  args[1].v_c_str = path;
  __atomic_fetch_add(&makers_under_way, 1, __ATOMIC_SEQ_CST);
  const int code = TVMFFIFunctionCall(maker, args, 2, &result);
  __atomic_fetch_sub(&makers_under_way, 1, __ATOMIC_SEQ_CST);
  if (code == 0 && result.type_index >= kTVMFFIStaticObjectBegin) TVMFFIObjectDecRef(result.v_obj);
  // It may have made another device current, and the launch goes to the one that is.
  if (driver->cuCtxGetCurrent(&after) == CUDA_SUCCESS && after != before && before != nullptr) {
    if (after != nullptr) driver->cuCtxPopCurrent(&after);
    driver->cuCtxPushCurrent(before);
  }
  return code;
}

/*!
 * \brief Loads an image unless it is loaded, from its file.
 * \param[out] maker What is to make the file, where that is missing and `may_make`: nothing is
 * loaded then.
 */
TVMFFI_CUBIN_RARE Status TryImageFile(const Driver* driver, EmbeddedImage* image, bool may_make,
                                      FilePath* path, TVMFFIObject** maker) {
  SpinLock hold(&image->file->lock);
  if (__atomic_load_n(&image->library.handle, __ATOMIC_ACQUIRE) != nullptr) return {};
  path->Find(*image);
  FileContent content;
  const int problem = content.Read(path->chars);
  if (problem == ENOENT && may_make && image->file->maker != nullptr) {
    *maker = image->file->maker;
    TVMFFIObjectIncRef(*maker);
    return {};
  }
  if (problem == ENOENT) {
    return Raised(Fail("LaunchError",
                       "the image %s: %.1000s is missing: put it there, or have it made: "
                       "tvmffi_cubin.load_module(path, generate={\"%s\": ...})",
                       image->name, path->chars, image->name));
  }
  if (problem != 0) {
    return Raised(Fail("LaunchError", "the image %s: %.1000s cannot be read: %s", image->name,
                       path->chars, strerror(problem)));
  }
  if (const char* refusal = content.Problem()) {
    return Raised(
        Fail("LaunchError", "the image %s: %.1000s %s", image->name, path->chars, refusal));
  }
  __atomic_store_n(&image->library.image, content.data, __ATOMIC_RELAXED);
  const Status status = image->library.Load(driver);
  // The driver has a copy of its own (CUDA driver API, CU_LIBRARY_BINARY_IS_PRESERVED).
  __atomic_store_n(&image->library.image, nullptr, __ATOMIC_RELAXED);
  return status;
}

/*!
 * \brief Loads an image from its file, which is made first where it is missing and there is a
 * maker. No lock is held meanwhile: that may be Python, and run for minutes.
 */
TVMFFI_CUBIN_RARE Status LoadImageFile(const Driver* driver, EmbeddedImage* image) {
  if (FileOf(image) == nullptr) return {CUDA_ERROR_OUT_OF_MEMORY, "calloc"};
  FilePath path;
  TVMFFIObject* maker = nullptr;
  const Status status = TryImageFile(driver, image, true, &path, &maker);
  if (maker == nullptr) return status;
  const int code = CallMaker(driver, maker, image->name, path.chars);
  TVMFFIObjectDecRef(maker);
  return code != 0 ? Raised(code) : TryImageFile(driver, image, false, &path, nullptr);
}

/*!
 * \brief Says where the file of an image lies, and what makes it. The arguments: the image's name;
 * the folder, None for the shared object's; a function that is called with the image's name and the
 * path where it is missing, or None: what was told before stays.
 */
TVMFFI_CUBIN_RARE int SetImageFile(const ModulePlan& module, const TVMFFIAny* args, int num_args) {
  if (num_args != 3) return Fail("TypeError", "wanted 3 arguments, got %d", num_args);
  const bool has_folder = args[1].type_index != kTVMFFINone;
  const bool has_maker = args[2].type_index != kTVMFFINone;
  const TVMFFIByteArray name = TextIn(args[0]), folder = TextIn(args[1]);
  if (name.data == nullptr || (has_folder && folder.data == nullptr) ||
      (has_maker && args[2].type_index != kTVMFFIFunction)) {
    return Fail("TypeError",
                "wanted an image's name, its file's folder or None, and a function or None");
  }
  for (int i = 0; i < module.num_images; ++i) {
    EmbeddedImage* const image = module.images[i];
    if (image->path == nullptr || !IsText(name, image->name)) continue;
    ImageFile* const file = FileOf(image);
    if (file == nullptr) return Fail("MemoryError", "the image %s", image->name);
    char* const own = has_folder ? strndup(folder.data, folder.size) : nullptr;
    TVMFFIObject* before = has_maker ? args[2].v_obj : nullptr;
    if (has_maker) TVMFFIObjectIncRef(before);
    {
      SpinLock hold(&file->lock);
      free(file->folder);
      file->folder = own;
      if (has_maker) {
        TVMFFIObject* const maker = before;
        before = file->maker;
        file->maker = maker;
      }
    }
    if (before != nullptr) TVMFFIObjectDecRef(before);
    return 0;
  }
  return Fail("ValueError", "there is no image %.*s in a file of its own",
              static_cast<int>(name.size), name.data);
}

/*! \brief Raises that this driver does not tell what is in an image. */
TVMFFI_CUBIN_RARE Status FailOldDriver(const EmbeddedKernel& kernel) {
  return Raised(Fail("LaunchError",
                     "kernel %s is in a file of its own, and this driver does not tell what its "
                     "kernels take: update it to one of CUDA 12.4 or newer, or embed the image",
                     kernel.display));
}

/*! \brief "the image kernels, /path/k.cubin", for messages about what is in it. */
TVMFFI_CUBIN_RARE Text ImageText(const EmbeddedImage& image) {
  SpinLock hold(&image.file->lock);
  FilePath path;
  Text text;
  path.Find(image);
  text.Print("the image %.60s, %.250s", image.name, path.chars);
  return text;
}

/*! \brief Whether a number follows a part of a name where it first is: a variant, "k_1". */
inline bool IsVariant(const char* name, const char* part) {
  const char* rest = strstr(name, part) + strlen(part);
  return rest[0] == '_' && rest[1] >= '0' && rest[1] <= '9';
}

/*!
 * \brief Finds the one kernel that a part of its name stands for, as the build does in an image
 * that it sees: one in which no number follows the part before those in which one does, and of
 * those `k` before `k_1`.
 */
TVMFFI_CUBIN_RARE Status FindByPart(const EmbeddedKernel& kernel, CUkernel* out) {
  constexpr unsigned kMost = 1024;
  CUkernel kernels[kMost];
  unsigned count = 0;
  const CUlibrary library = kernel.image->library.handle;
  CUresult result = entry::cuLibraryGetKernelCount(&count, library);
  if (count > kMost) count = kMost;
  if (result == CUDA_SUCCESS) result = entry::cuLibraryEnumerateKernels(kernels, count, library);
  if (result == CUDA_ERROR_NOT_FOUND) return FailOldDriver(kernel);
  const char *base = nullptr, *names[kMost];
  bool is_variant = true;
  for (unsigned i = 0; i < count && result == CUDA_SUCCESS; ++i) {
    result = entry::cuKernelGetName(&names[i], kernels[i]);
    if (result != CUDA_SUCCESS || strstr(names[i], kernel.symbol) == nullptr) continue;
    const bool variant = IsVariant(names[i], kernel.symbol);
    const bool is_first = base == nullptr || (is_variant && !variant);
    if (is_first || (variant == is_variant && strlen(names[i]) < strlen(base))) {
      base = names[i], *out = kernels[i], is_variant = variant;
    }
  }
  if (result != CUDA_SUCCESS) return {result, "cuLibraryEnumerateKernels"};
  const bool by_part = kernel.declared->by_part && base != nullptr;
  LongText list;
  int found = 0, rivals = 0;
  for (unsigned i = 0; i < count; ++i) {
    if (by_part && (strstr(names[i], kernel.symbol) == nullptr ||
                    IsVariant(names[i], kernel.symbol) != is_variant)) {
      continue;
    }
    list.Add(0, "%s%s", found++ == 0 ? "" : ", ", names[i]);
    rivals += by_part && strncmp(names[i], base, strlen(base)) != 0;
  }
  if (by_part && rivals == 0) return {};
  const Text image = ImageText(*kernel.image);
  if (by_part) {
    return Raised(Fail("LaunchError",
                       "in %s, %d kernels have %s in their names: %.1000s: say more of the name, "
                       "Launch(kernel=...)",
                       image.chars, found, kernel.symbol, list.chars));
  }
  return Raised(Fail("LaunchError", "%s, has no kernel %s%s; it has %.1000s", image.chars,
                     kernel.symbol,
                     kernel.declared->by_part ? ", nor one with that in its name"
                                              : ": name it, or a part of it, in Launch(kernel=...)",
                     found > 0 ? list.chars : "none"));
}

/*! \brief Checks that all that a kernel reads of its parameters is passed. */
TVMFFI_CUBIN_RARE Status CheckParams(const EmbeddedKernel& kernel, CUkernel handle) {
  const DeclaredParams& declared = *kernel.declared;
  for (int index = 0;; ++index) {
    size_t offset = 0, size = 0;
    const CUresult result =
        entry::cuKernelGetParamInfo(handle, static_cast<size_t>(index), &offset, &size);
    if (result == CUDA_ERROR_NOT_FOUND) return FailOldDriver(kernel);
    const bool is_end = result == CUDA_ERROR_INVALID_VALUE;
    if (result != CUDA_SUCCESS && !is_end) return {result, "cuKernelGetParamInfo"};
    if (is_end && index >= declared.least) return {};
    if (is_end || index >= declared.most) {
      return Raised(Fail("LaunchError",
                         "kernel %s of %s, has %s than %d parameters, and %d are declared: say "
                         "what it takes in Launch(params=...)",
                         kernel.display, ImageText(*kernel.image).chars,
                         is_end ? "no more" : "more", index,
                         is_end ? declared.least : declared.most));
    }
    if (size != declared.sizes[index]) {
      return Raised(Fail("LaunchError",
                         "parameter %d of kernel %s of %s, has %zu bytes, and one of %u is "
                         "declared: say what it takes in Launch(params=...)",
                         index + 1, kernel.display, ImageText(*kernel.image).chars, size,
                         declared.sizes[index]));
    }
  }
}

TVMFFI_CUBIN_RARE Status LoadFileKernel(const Driver* driver, EmbeddedKernel* kernel,
                                        CUkernel* out) {
  Status status = LoadImageFile(driver, kernel->image);
  if (!status.ok()) return status;
  status = {driver->cuLibraryGetKernel(out, kernel->image->library.handle, kernel->symbol),
            "cuLibraryGetKernel"};
  if (status.result == CUDA_ERROR_NOT_FOUND) status = FindByPart(*kernel, out);
  if (status.ok()) status = CheckParams(*kernel, *out);
  if (!status.ok()) return status;
  // What the build tells of kernels that it sees.
  CUdevice device = 0;
  int threads = 0;
  ClusterShape fixed;
  if (driver->cuCtxGetDevice(&device) == CUDA_SUCCESS &&
      driver->cuKernelGetAttribute(&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, *out,
                                   device) == CUDA_SUCCESS &&
      FindFixedCluster(driver, *out, device, &fixed).ok()) {
    const uint32_t sizes[] = {fixed.x, fixed.y, fixed.z};
    for (int i = 0; i < 3; ++i) __atomic_store_n(&kernel->cluster[i], sizes[i], __ATOMIC_RELAXED);
    __atomic_store_n(&kernel->max_threads, static_cast<uint32_t>(threads), __ATOMIC_RELAXED);
  }
  return {};
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_LAUNCHER_FILE_H_
