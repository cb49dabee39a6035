/*!
 * \file tvmffi_cubin/launcher/file.h
 * \brief Images in files of their own, which may have to be made first, and their kernels.
 */
#pragma once

#include <stdlib.h>

#include "error.h"

TVMFFI_CUBIN_BEGIN

TVMFFI_CUBIN_DRIVER_ENTRY(cuCtxSetCurrent, 12000)

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

/*! \brief Calls the maker of an image's file, if it has one; -1 with an error raised. */
TVMFFI_CUBIN_RARE int MakeFile(const EmbeddedImage& image, const char* path) {
  const ImageFile* told = __atomic_load_n(&image.file, __ATOMIC_ACQUIRE);
  if (told == nullptr || told->maker == nullptr) {
    return Fail("LaunchError",
                "the image %s: %s is missing: put it there, or have it made: load_module(path, "
                "generate={name: ...})",
                image.name, path);
  }
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
 * \brief Loads an image unless it is loaded: embedded, or from a file, which is made first where it
 * is missing. No lock is held meanwhile: that may be Python, and run for minutes.
 */
TVMFFI_CUBIN_RARE Status LoadImage(EmbeddedImage* image) {
  if (__atomic_load_n(&image->library.handle, __ATOMIC_ACQUIRE) != nullptr) return {};
  if (image->path == nullptr) {
    __atomic_store_n(&image->library.image, image->table[0], __ATOMIC_RELAXED);
    return image->library.Load();
  }
  const Text path = PathOf(*image);
  if (access(path.chars, F_OK) != 0 && MakeFile(*image, path.chars) != 0) return Raised(-1);
  return image->library.Load(path.chars);
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
  const CUlibrary library = kernel.image->library.handle;
  unsigned count = 0;
  entry::cuLibraryGetKernelCount(&count, library);
  if (count > kMost) count = kMost;
  const Status status{entry::cuLibraryEnumerateKernels(kernels, count, library),
                      "cuLibraryEnumerateKernels"};
  if (!status.ok()) return status;
  Text all;
  for (unsigned i = 0; i < count; ++i) {
    names[i] = "";
    entry::cuKernelGetName(&names[i], kernels[i]);
    all.Add("%s%s", i == 0 ? "" : ", ", names[i]);
  }
  bool is_one = kernel.declared->by_part;
  for (int with_number = 0; with_number < 2 && is_one && best == nullptr; ++with_number) {
    const auto has_part = [&](const char* name) {
      const char* part = strstr(name, kernel.symbol);
      const char* rest = part == nullptr ? "" : part + strlen(kernel.symbol);
      const bool is_numbered = rest[0] == '_' && rest[1] >= '0' && rest[1] <= '9';
      return part != nullptr && is_numbered == (with_number != 0);
    };
    for (unsigned i = 0; i < count; ++i) {
      if (!has_part(names[i]) || (best != nullptr && strlen(names[i]) >= strlen(best))) continue;
      best = names[i];
      *out = kernels[i];
    }
    for (unsigned i = 0; i < count && best != nullptr; ++i) {
      is_one &= !has_part(names[i]) || strncmp(names[i], best, strlen(best)) == 0;
    }
  }
  if (is_one && best != nullptr) return status;
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

/*! \brief Reads of the kernel of an image in a file what the build tells of one that it sees. */
TVMFFI_CUBIN_RARE Status ReadFileKernel(EmbeddedKernel* kernel, CUkernel handle) {
  const Status status = CheckParams(*kernel, handle);
  const int device = CurrentDevice();
  ClusterShape fixed;
  if (!status.ok() || !FindFixedCluster(handle, device, &fixed)) return status;
  const int threads = KernelAttribute(handle, device, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
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
