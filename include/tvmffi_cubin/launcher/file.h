/*!
 * \file tvmffi_cubin/launcher/file.h
 * \brief An image that lies in a file of its own: found, made where it is missing, loaded; its
 * kernels found by their names or a part of them.
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
  char* folder;         // in the place of the shared object's; of malloc's
  TVMFFIObject* maker;  // a tvm-ffi function that makes the file where it is missing
  int32_t lock;
  int32_t makers;  // calls of those that are under way
};

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
TVMFFI_CUBIN_RARE int ReadFile(const char* path, FileContent* content) {
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
TVMFFI_CUBIN_RARE const char* ImageProblem(const FileContent& content) {
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

/*! \brief The file of an image that lies in one. */
TVMFFI_CUBIN_RARE ImageFile* FileOf(EmbeddedImage* image) {
  ImageFile* file = __atomic_load_n(&image->file, __ATOMIC_ACQUIRE);
  if (file != nullptr) return file;
  auto* made = static_cast<ImageFile*>(calloc(1, sizeof(ImageFile)));
  const bool is_first =
      made != nullptr && __atomic_compare_exchange_n(&image->file, &file, made, false,
                                                     __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
  if (is_first) return made;
  free(made);
  return file;
}

/*! \brief A path of a file. */
struct FilePath {
  char chars[PATH_MAX] = "";
};

/*! \brief Where an image's file lies; its lock is held. */
inline void FindFile(const EmbeddedImage& image, const ImageFile& file, FilePath* path) {
  const char* folder = file.folder;
  int length = folder == nullptr ? 0 : static_cast<int>(strlen(folder));
  Dl_info found{};
  if (folder == nullptr && dladdr(&image, &found) != 0 && found.dli_fname != nullptr) {
    const char* last = strrchr(found.dli_fname, '/');
    folder = last == nullptr ? "." : found.dli_fname;
    length = last == nullptr ? 1 : static_cast<int>(last - found.dli_fname);
  }
  const bool is_absolute = image.path[0] == '/' || folder == nullptr;
  snprintf(path->chars, sizeof(path->chars), "%.*s%s%s", is_absolute ? 0 : length,
           is_absolute ? "" : folder, is_absolute ? "" : "/", image.path);
}

/*! \brief The same, of a file whose lock is free. */
inline FilePath PathOf(EmbeddedImage* image) {
  FilePath path;
  SpinLock hold(&image->file->lock);
  FindFile(*image, *image->file, &path);
  return path;
}

/*! \brief Has the file made; returns 0, or -1 with an error raised. */
inline int CallMaker(const Driver* driver, TVMFFIObject* maker, const char* name,
                     const char* path) {
  CUcontext before = nullptr, after = nullptr;
  driver->cuCtxGetCurrent(&before);
  TVMFFIAny args[2], result;
  memset(args, 0, sizeof(args));
  memset(&result, 0, sizeof(result));
  const char* const texts[] = {name, path};
  for (int i = 0; i < 2; ++i) {
    args[i].type_index = kTVMFFIRawStr;
    args[i].v_c_str = texts[i];
  }
  const int code = TVMFFIFunctionCall(maker, args, 2, &result);
  if (code == 0 && result.type_index >= kTVMFFIStaticObjectBegin) {
    TVMFFIObjectDecRef(result.v_obj);
  }
  // It may have made another device current, and the launch goes to the one that is.
  if (driver->cuCtxGetCurrent(&after) == CUDA_SUCCESS && after != before && before != nullptr) {
    if (after != nullptr) driver->cuCtxPopCurrent(&after);
    driver->cuCtxPushCurrent(before);
  }
  return code;
}

/*! \brief Loads what was read; the file's lock is held. */
inline Status LoadContent(const Driver* driver, EmbeddedImage* image, const FilePath& path,
                          const FileContent& content) {
  if (const char* problem = ImageProblem(content)) {
    return Raised(
        Fail("LaunchError", "the image %s: %.1000s %s", image->name, path.chars, problem));
  }
  __atomic_store_n(&image->library.image, content.data, __ATOMIC_RELAXED);
  const Status status = image->library.Load(driver);
  // The driver has a copy of its own (CUDA driver API, CU_LIBRARY_BINARY_IS_PRESERVED).
  __atomic_store_n(&image->library.image, nullptr, __ATOMIC_RELAXED);
  return status;
}

/*!
 * \brief Loads the image unless it is loaded. Where its file is missing and there is a maker, that
 * one is called first, with no lock held: it may be Python, and run for minutes.
 */
TVMFFI_CUBIN_RARE Status LoadImageFile(const Driver* driver, EmbeddedImage* image) {
  ImageFile* const file = FileOf(image);
  if (file == nullptr) return {CUDA_ERROR_OUT_OF_MEMORY, "calloc"};
  for (bool is_made = false;; is_made = true) {
    FilePath path;
    TVMFFIObject* maker = nullptr;
    {
      SpinLock hold(&file->lock);
      if (__atomic_load_n(&image->library.handle, __ATOMIC_ACQUIRE) != nullptr) return {};
      FindFile(*image, *file, &path);
      FileContent content;
      const int problem = ReadFile(path.chars, &content);
      if (problem == 0) return LoadContent(driver, image, path, content);
      if (problem != ENOENT) {
        return Raised(Fail("LaunchError", "the image %s: %.1000s cannot be read: %s", image->name,
                           path.chars, strerror(problem)));
      }
      maker = is_made ? nullptr : file->maker;
      if (maker != nullptr) TVMFFIObjectIncRef(maker);
    }
    if (maker == nullptr) {
      return Raised(Fail("LaunchError",
                         "the image %s: %.1000s is missing: put it there, or have it made: "
                         "tvmffi_cubin.load_module(path, generate={\"%s\": ...})",
                         image->name, path.chars, image->name));
    }
    __atomic_fetch_add(&file->makers, 1, __ATOMIC_SEQ_CST);
    const int code = CallMaker(driver, maker, image->name, path.chars);
    __atomic_fetch_sub(&file->makers, 1, __ATOMIC_SEQ_CST);
    TVMFFIObjectDecRef(maker);
    if (code != 0) return Raised(code);
  }
}

/*!
 * \brief Says where the file of an image lies, and what makes it. The arguments: the image's name;
 * the folder, None for the shared object's; a function that is called with the image's name and the
 * path where it is missing, or None: what was told before stays.
 */
TVMFFI_CUBIN_RARE int SetImageFile(const ModulePlan& module, const TVMFFIAny* args, int num_args) {
  const bool has_folder = num_args == 3 && args[1].type_index != kTVMFFINone;
  const bool has_maker = num_args == 3 && args[2].type_index != kTVMFFINone;
  const TVMFFIByteArray name = num_args == 3 ? TextIn(args[0]) : TVMFFIByteArray{};
  const TVMFFIByteArray folder = has_folder ? TextIn(args[1]) : TVMFFIByteArray{};
  if (name.data == nullptr || (has_folder && folder.data == nullptr) ||
      (has_maker && args[2].type_index != kTVMFFIFunction)) {
    return Fail("TypeError",
                "wanted an image's name, its file's folder or None, and a function or None");
  }
  for (int i = 0; i < module.num_images; ++i) {
    EmbeddedImage* const image = module.images[i];
    if (image->path == nullptr || strlen(image->name) != name.size ||
        memcmp(image->name, name.data, name.size) != 0) {
      continue;
    }
    ImageFile* const file = FileOf(image);
    if (file == nullptr) return Fail("MemoryError", "the image %s", image->name);
    char* const own = has_folder ? strndup(folder.data, folder.size) : nullptr;
    TVMFFIObject* const maker = has_maker ? args[2].v_obj : nullptr;
    if (maker != nullptr) TVMFFIObjectIncRef(maker);
    TVMFFIObject* before = nullptr;
    {
      SpinLock hold(&file->lock);
      free(file->folder);
      file->folder = own;
      if (maker != nullptr) {
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
TVMFFI_CUBIN_RARE Status FailOldDriver(const EmbeddedKernel& kernel) {
  return Raised(Fail("LaunchError",
                     "kernel %s is in a file of its own, and this driver does not tell what its "
                     "kernels take: update it to one of CUDA 12.4 or newer, or embed the image",
                     kernel.display));
}

/*! \brief Raises that no kernel has a pattern in its name, or that several have. */
TVMFFI_CUBIN_RARE Status FailPattern(const EmbeddedKernel& kernel, const NameList& found,
                                     const NameList& all) {
  const FilePath path = PathOf(kernel.image);
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
TVMFFI_CUBIN_RARE Status FindByPattern(const EmbeddedKernel& kernel, CUkernel* out) {
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
TVMFFI_CUBIN_RARE Status CheckParams(const EmbeddedKernel& kernel, CUkernel handle) {
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
    const FilePath path = PathOf(kernel.image);
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

TVMFFI_CUBIN_RARE Status LoadFileKernel(const Driver* driver, EmbeddedKernel* kernel,
                                        CUkernel* out) {
  Status status = LoadImageFile(driver, kernel->image);
  if (!status.ok()) return status;
  CUlibrary library = kernel->image->library.handle;
  const CUresult result = driver->cuLibraryGetKernel(out, library, kernel->symbol);
  if (result == CUDA_ERROR_NOT_FOUND) {
    status = FindByPattern(*kernel, out);
  } else if (result != CUDA_SUCCESS) {
    status = {result, "cuLibraryGetKernel"};
  }
  if (status.ok()) status = CheckParams(*kernel, *out);
  if (status.ok()) ReadFigures(driver, kernel, *out);
  return status;
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_LAUNCHER_FILE_H_
