/*!
 * \file tvmffi_cubin/launcher/file.h
 * \brief Loads images, embedded or in files of their own, which may have to be made first, and
 * finds and checks the kernels of the latter.
 */
#pragma once

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <stdlib.h>

#include "../core/limits.h"
#include "error.h"

TVMFFI_CUBIN_BEGIN

TVMFFI_CUBIN_DRIVER_ENTRY(cuCtxSetCurrent, 4000)

/*! \brief What the body was told of an image's file. Never changed or freed: it may be in use. */
struct ImageFile {
  char* folder;         // in the place of the shared object's; or null
  TVMFFIObject* maker;  // a tvm-ffi function that makes the file where it is missing; or null
};

/*! \brief The path of an image's file. */
TVMFFI_CUBIN_RARE Text PathOf(const EmbeddedImage& image) {
  Text path;
  Dl_info found{};
  const ImageFile* told = __atomic_load_n(&image.file, __ATOMIC_ACQUIRE);
  if (image.path[0] != '/' && told != nullptr && told->folder != nullptr) {
    path.Add("%s/", told->folder);
  } else if (image.path[0] != '/' && dladdr(&image, &found) != 0) {
    const char* last = strrchr(found.dli_fname, '/');
    const int length = last == nullptr ? 0 : static_cast<int>(last - found.dli_fname + 1);
    path.Add("%.*s", length, found.dli_fname);
  }
  path.Add("%s", image.path);
  return path;
}

/*! \brief The content of a file, from malloc, with a zero behind it, as PTX needs one. */
TVMFFI_CUBIN_RARE unsigned char* ReadFile(const char* path, size_t* size) {
  FILE* file = fopen(path, "rbe");
  if (file == nullptr) return nullptr;
  fseek(file, 0, SEEK_END);
  const long end = ftell(file);
  *size = end > 0 ? static_cast<size_t>(end) : 0;
  rewind(file);
  auto* data = static_cast<unsigned char*>(calloc(*size + 1, 1));
  if (data != nullptr) *size = fread(data, 1, *size, file);
  fclose(file);
  return data;
}

/*! \brief Whether a cubin or fatbin is truncated; the driver would read past its end. */
TVMFFI_CUBIN_RARE bool IsTruncated(const unsigned char* data, size_t size) {
  Elf64_Ehdr head{};
  memcpy(&head, data, size < sizeof(head) ? size : sizeof(head));
  constexpr uint32_t kFatbin = 0xba55ed50;  // then a version, the header's size, the content's
  if (memcmp(&head, &kFatbin, sizeof(kFatbin)) == 0) {
    uint16_t header = 0;
    uint64_t content = 0;
    memcpy(&header, reinterpret_cast<char*>(&head) + 6, sizeof(header));
    memcpy(&content, reinterpret_cast<char*>(&head) + 8, sizeof(content));
    return header + content > size;
  }
  if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0) return false;
  // The tables of segments and sections come last.
  return size < sizeof(head) || head.e_phoff + head.e_phnum * uint64_t{head.e_phentsize} > size ||
         head.e_shoff + head.e_shnum * uint64_t{head.e_shentsize} > size;
}

/*! \brief Calls the maker of an image's file, if it has one; -1 with an error raised. */
TVMFFI_CUBIN_RARE int MakeFile(const EmbeddedImage& image, const char* path) {
  const ImageFile* told = __atomic_load_n(&image.file, __ATOMIC_ACQUIRE);
  if (told == nullptr || told->maker == nullptr) return 0;
  TVMFFIAny args[2]{}, result{};
  args[0].type_index = args[1].type_index = kTVMFFIRawStr;
  args[0].v_c_str = image.name;
  args[1].v_c_str = path;
  CUcontext context = nullptr;
  entry::cuCtxGetCurrent(&context);
  const int code = TVMFFIFunctionCall(told->maker, args, 2, &result);
  // The maker may have made another device current.
  entry::cuCtxSetCurrent(context);
  if (code == 0 && result.type_index >= kTVMFFIStaticObjectBegin) TVMFFIObjectDecRef(result.v_obj);
  return code;
}

/*!
 * \brief Loads an image from its file, which is made first where it is missing and there is a
 * maker. No lock is held meanwhile: that may be Python, and run for minutes.
 */
TVMFFI_CUBIN_RARE Status LoadFile(EmbeddedImage* image) {
  static int32_t lock = 0;
  if (__atomic_load_n(&image->library.handle, __ATOMIC_ACQUIRE) != nullptr) return {};
  const Text path = PathOf(*image);
  if (access(path.chars, F_OK) != 0 && MakeFile(*image, path.chars) != 0) {
    return Raised(-1);
  }
  size_t size = 0;
  unsigned char* const data = ReadFile(path.chars, &size);
  const char* refusal = nullptr;
  if (data == nullptr) {
    refusal = errno != ENOENT ? strerror(errno)
                              : "is missing: put it there, or have it made: load_module(path, "
                                "generate={name: ...})";
  } else if (IsTruncated(data, size)) {
    refusal = "is truncated";
  }
  Status status;
  if (refusal != nullptr) {
    status = Raised(Fail("LaunchError", "the image %s: %s %s", image->name, path.chars, refusal));
  } else {
    SpinLock hold(&lock);
    image->library.image = data;
    status = image->library.Load();
    // The driver has a copy of its own (CUDA driver API, CU_LIBRARY_BINARY_IS_PRESERVED).
    image->library.image = nullptr;
  }
  free(data);
  return status;
}

/*! \brief Loads an image, embedded or in a file, unless it is loaded. */
TVMFFI_CUBIN_RARE Status LoadImage(EmbeddedImage* image) {
  if (image->path != nullptr) return LoadFile(image);
  __atomic_store_n(&image->library.image, image->table[0], __ATOMIC_RELAXED);
  return image->library.Load();
}

/*!
 * \brief Finds the one kernel that a part of its name stands for, as the build does in an image
 * that it sees: the shortest of the names that have it, with which all the others begin. Those in
 * which a number follows the part, such as `k_1`, count where there are no others.
 */
TVMFFI_CUBIN_RARE Status FindByPart(const EmbeddedKernel& kernel, CUkernel* out) {
  constexpr unsigned kMost = 1024;
  CUkernel kernels[kMost];
  const char *names[kMost], *best = nullptr;
  unsigned count = 0, num_found = 0;
  bool is_best_numbered = true;
  const CUlibrary library = kernel.image->library.handle;
  Status status{entry::cuLibraryGetKernelCount(&count, library), "cuLibraryGetKernelCount"};
  if (count > kMost) count = kMost;
  if (status.ok()) {
    status = {entry::cuLibraryEnumerateKernels(kernels, count, library),
              "cuLibraryEnumerateKernels"};
  }
  Text all;
  for (unsigned i = 0; i < count && status.ok(); ++i) {
    const char* name = "";
    status = {entry::cuKernelGetName(&name, kernels[i]), "cuKernelGetName"};
    all.Add("%s%s", i == 0 ? "" : ", ", name);
    const char* part = kernel.declared->by_part ? strstr(name, kernel.symbol) : nullptr;
    if (part == nullptr) continue;
    const char* rest = part + strlen(kernel.symbol);
    const bool is_numbered = rest[0] == '_' && rest[1] >= '0' && rest[1] <= '9';
    if (is_numbered && !is_best_numbered) continue;
    if (is_numbered != is_best_numbered) num_found = 0, best = nullptr;
    is_best_numbered = is_numbered;
    names[num_found++] = name;
    if (best == nullptr || strlen(name) < strlen(best)) best = name, *out = kernels[i];
  }
  if (!status.ok()) return status;
  bool is_one = best != nullptr;
  for (unsigned i = 0; i < num_found; ++i) is_one &= strncmp(names[i], best, strlen(best)) == 0;
  if (is_one) return status;
  return Raised(Fail("LaunchError", "%s has %s kernel %s: name one in Launch(kernel=...): %s",
                     PathOf(*kernel.image).chars, best != nullptr ? "more than one" : "no",
                     kernel.symbol, all.chars));
}

/*! \brief Checks that all that a kernel reads of its parameters is passed. */
TVMFFI_CUBIN_RARE Status CheckParams(const EmbeddedKernel& kernel, CUkernel handle) {
  const DeclaredParams& declared = *kernel.declared;
  Text taken, passed;
  int count = 0;
  for (bool fits = true;; ++count) {
    size_t offset = 0, size = 0;
    const Status status{
        entry::cuKernelGetParamInfo(handle, static_cast<size_t>(count), &offset, &size),
        "cuKernelGetParamInfo"};
    if (status.result == CUDA_ERROR_INVALID_VALUE && fits && count >= declared.least) return {};
    if (status.result == CUDA_ERROR_INVALID_VALUE) break;
    if (!status.ok()) return status;
    fits &= count < declared.most && size == declared.sizes[count];
    taken.Add(" %zu", size);
  }
  for (int i = 0; i < declared.most; ++i) passed.Add(" %u", declared.sizes[i]);
  return Raised(Fail("LaunchError",
                     "kernel %s in %s has parameters of%s bytes, and of%s are declared: say what "
                     "it takes in Launch(params=...)",
                     kernel.display, PathOf(*kernel.image).chars, taken.chars, passed.chars));
}

/*!
 * \brief Takes the kernel of an image in a file, and reads what the build tells of one it sees.
 * \param status Of the look-up by its whole name.
 */
TVMFFI_CUBIN_RARE Status TakeFileKernel(EmbeddedKernel* kernel,
                                        Status status, CUkernel* out) {
  if (status.result == CUDA_ERROR_NOT_FOUND) status = FindByPart(*kernel, out);
  if (status.ok()) status = CheckParams(*kernel, *out);
  if (!status.ok()) return status;
  const int device = CurrentDevice();
  ClusterShape fixed;
  if (!FindFixedCluster(*out, device, &fixed)) return status;
  const int threads =
      KernelAttribute(*out, device, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  for (int i = 0; i < 3; ++i) __atomic_store_n(&kernel->cluster[i], fixed[i], __ATOMIC_RELAXED);
  __atomic_store_n(&kernel->max_threads, static_cast<uint32_t>(threads), __ATOMIC_RELAXED);
  return status;
}

/*!
 * \brief Says where the file of an image lies, and what makes it. The arguments: the image's name;
 * the folder, None for the shared object's; a function that is called with the image's name and the
 * path where it is missing, or None: what was told before stays.
 */
TVMFFI_CUBIN_RARE int SetImageFile(const ModulePlan& module, const TVMFFIAny* args) {
  const TVMFFIByteArray name = TextIn(args[0]), folder = TextIn(args[1]);
  for (int i = 0; i < module.num_images; ++i) {
    EmbeddedImage* const image = module.images[i];
    if (image->path == nullptr || !IsText(name, image->name)) continue;
    const ImageFile* before = __atomic_load_n(&image->file, __ATOMIC_ACQUIRE);
    auto* told = static_cast<ImageFile*>(calloc(1, sizeof(ImageFile)));
    told->folder = folder.data != nullptr ? strndup(folder.data, folder.size) : nullptr;
    told->maker = before != nullptr ? before->maker : nullptr;
    if (args[2].type_index == kTVMFFIFunction) {
      told->maker = args[2].v_obj;
      TVMFFIObjectIncRef(told->maker);
    }
    __atomic_store_n(&image->file, told, __ATOMIC_RELEASE);
  }
  return 0;
}

TVMFFI_CUBIN_END
