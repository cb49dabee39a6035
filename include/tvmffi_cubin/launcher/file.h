/*!
 * \file tvmffi_cubin/launcher/file.h
 * \brief An image that lies in a file of its own: made where it is missing, loaded, and its kernels
 * found by their names, or by a part of them, and checked.
 */
#ifndef TVMFFI_CUBIN_LAUNCHER_FILE_H_
#define TVMFFI_CUBIN_LAUNCHER_FILE_H_

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <stdlib.h>

#include "../core/library.h"
#include "../core/occupancy.h"
#include "error.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

TVMFFI_CUBIN_DRIVER_ENTRY(cuCtxSetCurrent, 4000)

/*! \brief What the body was told of the file of an image. */
struct ImageFile {
  char* folder;         // in the place of the shared object's; from malloc
  TVMFFIObject* maker;  // a tvm-ffi function that makes the file where it is missing
};

/*! \brief Held while any image's file is told of, or loaded; never while one is made. */
inline int32_t files_lock = 0;

/*! \brief The path of an image's file. */
TVMFFI_CUBIN_RARE TextOf<4096> PathOf(const EmbeddedImage& image) {
  TextOf<4096> path;
  Dl_info found{};
  SpinLock hold(&files_lock);
  if (image.path[0] != '/' && image.file != nullptr && image.file->folder != nullptr) {
    path.Add("%s/", image.file->folder);
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

/*! \brief Why the driver, which trusts what a file says of itself, does not get one; else null. */
TVMFFI_CUBIN_RARE const char* FileProblem(const unsigned char* data, size_t size) {
  Elf64_Ehdr head{};
  memcpy(&head, data, size < sizeof(head) ? size : sizeof(head));
  constexpr uint32_t kFatbin = 0xba55ed50;  // behind it: a version, the header's size, the content's
  if (memcmp(&head, &kFatbin, sizeof(kFatbin)) == 0) {
    uint16_t header = 0;
    uint64_t content = 0;
    memcpy(&header, reinterpret_cast<char*>(&head) + 6, sizeof(header));
    memcpy(&content, reinterpret_cast<char*>(&head) + 8, sizeof(content));
    return header + content <= size ? nullptr : "is truncated";
  }
  if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0) return nullptr;
  if (head.e_machine != EM_CUDA) return "is an ELF file for another machine than a GPU";
  // The tables of segments and sections lie behind all else.
  const bool is_whole = head.e_phoff + head.e_phnum * uint64_t{head.e_phentsize} <= size &&
                        head.e_shoff + head.e_shnum * uint64_t{head.e_shentsize} <= size;
  return is_whole && size >= sizeof(head) ? nullptr : "is truncated";
}

/*! \brief Has the file of an image made, where there is a maker; returns 0, or -1 with an error. */
TVMFFI_CUBIN_RARE int MakeFile(EmbeddedImage* image, const char* path) {
  TVMFFIAny args[2]{}, result{};
  args[0].type_index = args[1].type_index = kTVMFFIRawStr;
  args[0].v_c_str = image->name;
  args[1].v_c_str = path;
  TVMFFIObject* maker = nullptr;
  {
    SpinLock hold(&files_lock);
    if (image->file != nullptr) maker = image->file->maker;
    if (maker != nullptr) TVMFFIObjectIncRef(maker);
  }
  if (maker == nullptr) return 0;
  CUcontext context = nullptr;
  entry::cuCtxGetCurrent(&context);
  const int code = TVMFFIFunctionCall(maker, args, 2, &result);
  // It may have made another device current, and the launch goes to the one that is.
  entry::cuCtxSetCurrent(context);
  TVMFFIObjectDecRef(maker);
  if (code == 0 && result.type_index >= kTVMFFIStaticObjectBegin) TVMFFIObjectDecRef(result.v_obj);
  return code;
}

/*!
 * \brief Loads an image from its file, which is made first where it is missing and there is a
 * maker. No lock is held meanwhile: that may be Python, and run for minutes.
 */
TVMFFI_CUBIN_RARE Status LoadFile(EmbeddedImage* image) {
  if (__atomic_load_n(&image->library.handle, __ATOMIC_ACQUIRE) != nullptr) return {};
  const auto path = PathOf(*image);
  if (access(path.chars, F_OK) != 0 && MakeFile(image, path.chars) != 0) return Raised(-1);
  size_t size = 0;
  unsigned char* const data = ReadFile(path.chars, &size);
  const char* const refusal =
      data != nullptr ? FileProblem(data, size)
      : errno != ENOENT
          ? strerror(errno)
          : "is missing: put it there, or have it made: load_module(path, generate={name: ...})";
  Status status;
  if (refusal != nullptr) {
    status = Raised(Fail("LaunchError", "the image %s: %s %s", image->name, path.chars, refusal));
  } else {
    SpinLock hold(&files_lock);
    image->library.image = data;
    status = image->library.Load();
    // The driver has a copy of its own (CUDA driver API, CU_LIBRARY_BINARY_IS_PRESERVED).
    image->library.image = nullptr;
  }
  free(data);
  return status;
}

/*!
 * \brief Finds the one kernel that a part of its name stands for, as the build does in an image
 * that it sees: one in which no number follows the part, `k`, before variants, `k_1`; of the names
 * that are left all begin with the shortest.
 */
TVMFFI_CUBIN_RARE Status FindByPart(const EmbeddedKernel& kernel, CUkernel* out) {
  constexpr unsigned kMost = 1024;
  CUkernel kernels[kMost];
  unsigned count = 0;
  const CUlibrary library = kernel.image->library.handle;
  Status status{entry::cuLibraryGetKernelCount(&count, library), "cuLibraryGetKernelCount"};
  if (count > kMost) count = kMost;
  if (status.ok()) {
    status = {entry::cuLibraryEnumerateKernels(kernels, count, library),
              "cuLibraryEnumerateKernels"};
  }
  TextOf<1024> all;
  // Names with the part, the variants apart: the shortest, and whether all begin with it.
  const char* best[2] = {};
  CUkernel found[2];
  bool has_rival[2] = {};
  for (unsigned i = 0; i < 2 * count && status.ok(); ++i) {
    const char* name = nullptr;
    const CUkernel handle = kernels[i % count];
    status = {entry::cuKernelGetName(&name, handle), "cuKernelGetName"};
    if (!status.ok()) return status;
    if (i < count) all.Add("%s%s", i == 0 ? "" : ", ", name);
    const char* part = kernel.declared->by_part ? strstr(name, kernel.symbol) : nullptr;
    if (part == nullptr) continue;
    const char* rest = part + strlen(kernel.symbol);
    const int is_variant = rest[0] == '_' && rest[1] >= '0' && rest[1] <= '9';
    const char*& shortest = best[is_variant];
    if (i >= count) {
      has_rival[is_variant] |= strncmp(name, shortest, strlen(shortest)) != 0;
    } else if (shortest == nullptr || strlen(name) < strlen(shortest)) {
      shortest = name, found[is_variant] = handle;
    }
  }
  const int kind = best[0] == nullptr;
  if (!status.ok()) return status;
  if (best[kind] != nullptr && !has_rival[kind]) {
    *out = found[kind];
    return status;
  }
  return Raised(Fail("LaunchError", "%s has %s kernel %s: name one in Launch(kernel=...): %s",
                     PathOf(*kernel.image).chars, best[kind] != nullptr ? "more than one" : "no",
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

/*! \brief Loads a kernel of an image in a file, and reads what the build tells of one it sees. */
TVMFFI_CUBIN_RARE Status LoadFileKernel(EmbeddedKernel* kernel, CUkernel* out) {
  if (driver_state.version < 12040) {
    return Raised(Fail("LaunchError",
                       "the image %s lies in a file, which takes a driver of CUDA 12.4: update the "
                       "driver, or embed the image",
                       kernel->image->name));
  }
  Status status = LoadFile(kernel->image);
  if (!status.ok()) return status;
  status = {entry::cuLibraryGetKernel(out, kernel->image->library.handle, kernel->symbol),
            "cuLibraryGetKernel"};
  if (status.result == CUDA_ERROR_NOT_FOUND) status = FindByPart(*kernel, out);
  if (status.ok()) status = CheckParams(*kernel, *out);
  CUdevice device = 0;
  ClusterShape fixed;
  if (!status.ok() || entry::cuCtxGetDevice(&device) != CUDA_SUCCESS ||
      !FindFixedCluster(*out, device, &fixed)) {
    return status;
  }
  const int threads = KernelAttribute(*out, device, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  for (int i = 0; i < 3; ++i) __atomic_store_n(&kernel->cluster[i], fixed[i], __ATOMIC_RELAXED);
  __atomic_store_n(&kernel->max_threads, static_cast<uint32_t>(threads), __ATOMIC_RELAXED);
  return status;
}

/*!
 * \brief Says where the file of an image lies, and what makes it. The arguments: the image's name;
 * the folder, None for the shared object's; a function that is called with the image's name and the
 * path where it is missing, or None: what was told before stays.
 */
TVMFFI_CUBIN_RARE int SetImageFile(const ModulePlan& module, const TVMFFIAny* args, int num_args) {
  const TVMFFIByteArray name = num_args == 3 ? TextIn(args[0]) : TVMFFIByteArray{nullptr, 0};
  if (name.data == nullptr) return Fail("TypeError", "wanted an image's name, folder and maker");
  const TVMFFIByteArray folder = TextIn(args[1]);
  for (int i = 0; i < module.num_images; ++i) {
    EmbeddedImage* const image = module.images[i];
    if (image->path == nullptr || !IsText(name, image->name)) continue;
    TVMFFIObject* released = nullptr;
    {
      SpinLock hold(&files_lock);
      if (image->file == nullptr) {
        image->file = static_cast<ImageFile*>(calloc(1, sizeof(ImageFile)));
      }
      free(image->file->folder);
      image->file->folder = folder.data != nullptr ? strndup(folder.data, folder.size) : nullptr;
      if (args[2].type_index == kTVMFFIFunction) {
        TVMFFIObjectIncRef(args[2].v_obj);
        released = image->file->maker;
        image->file->maker = args[2].v_obj;
      }
    }
    if (released != nullptr) TVMFFIObjectDecRef(released);
    return 0;
  }
  return Fail("ValueError", "there is no image %.*s in a file of its own",
              static_cast<int>(name.size), name.data);
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_LAUNCHER_FILE_H_
