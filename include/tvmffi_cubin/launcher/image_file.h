/*!
 * \file tvmffi_cubin/launcher/image_file.h
 * \brief An image that lies in a file of its own: found, made where it is missing, loaded.
 */
#ifndef TVMFFI_CUBIN_LAUNCHER_IMAGE_FILE_H_
#define TVMFFI_CUBIN_LAUNCHER_IMAGE_FILE_H_

#include <dlfcn.h>
#include <limits.h>

#include "../core/library.h"
#include "error.h"
#include "image_bytes.h"
#include "image_file_plan.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief The status of what has failed and raised; takes what Fail returns. */
inline Status Raised(int) { return {CUDA_ERROR_UNKNOWN, kErrorIsRaised}; }

/*! \brief A path of a file. */
struct FilePath {
  char chars[PATH_MAX] = "";
};

/*! \brief Where an image's file lies; its lock is held. */
inline void FindFile(const ImageFile& file, FilePath* path) {
  const char* folder = file.folder;
  int length = folder == nullptr ? 0 : static_cast<int>(strlen(folder));
  Dl_info found{};
  if (folder == nullptr && dladdr(&file, &found) != 0 && found.dli_fname != nullptr) {
    const char* last = strrchr(found.dli_fname, '/');
    folder = last == nullptr ? "." : found.dli_fname;
    length = last == nullptr ? 1 : static_cast<int>(last - found.dli_fname);
  }
  const bool is_absolute = file.path[0] == '/' || folder == nullptr;
  snprintf(path->chars, sizeof(path->chars), "%.*s%s%s", is_absolute ? 0 : length,
           is_absolute ? "" : folder, is_absolute ? "" : "/", file.path);
}

/*! \brief The same, of a file whose lock is free. */
inline FilePath PathOf(ImageFile* file) {
  FilePath path;
  SpinLock hold(&file->lock);
  FindFile(*file, &path);
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
__attribute__((noinline, cold)) inline Status LoadImageFile(const Driver* driver,
                                                            EmbeddedImage* image) {
  ImageFile* const file = image->file;
  for (bool is_made = false;; is_made = true) {
    FilePath path;
    TVMFFIObject* maker = nullptr;
    {
      SpinLock hold(&file->lock);
      if (__atomic_load_n(&image->library.handle, __ATOMIC_ACQUIRE) != nullptr) return {};
      FindFile(*file, &path);
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

/*! \brief The text of an argument; null data where it is none. */
inline TVMFFIByteArray TextIn(const TVMFFIAny& any) {
  switch (any.type_index) {
    case kTVMFFIRawStr:
      return {any.v_c_str, strlen(any.v_c_str)};
    case kTVMFFISmallStr:
      return TVMFFISmallBytesGetContentByteArray(&any);
    case kTVMFFIStr:
      return *TVMFFIBytesGetByteArrayPtr(any.v_obj);
    default:
      return {nullptr, 0};
  }
}

/*! \brief Sets where an image's file lies and what makes it, see SetImageFile. */
__attribute__((noinline, cold)) inline int SetFile(EmbeddedImage* const* images, int num_images,
                                                   const TVMFFIAny* args, int num_args) {
  const bool has_folder = num_args == 3 && args[1].type_index != kTVMFFINone;
  const bool has_maker = num_args == 3 && args[2].type_index != kTVMFFINone;
  const TVMFFIByteArray name = num_args == 3 ? TextIn(args[0]) : TVMFFIByteArray{};
  const TVMFFIByteArray folder = has_folder ? TextIn(args[1]) : TVMFFIByteArray{};
  if (name.data == nullptr || (has_folder && folder.data == nullptr) ||
      (has_maker && args[2].type_index != kTVMFFIFunction)) {
    return Fail("TypeError",
                "wanted an image's name, its file's folder or None, and a function or None");
  }
  for (int i = 0; i < num_images; ++i) {
    ImageFile* const file = images[i]->file;
    if (file == nullptr || strlen(images[i]->name) != name.size ||
        memcmp(images[i]->name, name.data, name.size) != 0) {
      continue;
    }
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

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_LAUNCHER_IMAGE_FILE_H_
