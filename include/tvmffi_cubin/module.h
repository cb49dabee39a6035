/*!
 * \file tvmffi_cubin/module.h
 * \brief CubinModule: an image, loaded when first needed and unloaded with its last user.
 */
#ifndef TVMFFI_CUBIN_MODULE_H_
#define TVMFFI_CUBIN_MODULE_H_

#include <tvm/ffi/string.h>

#include "kernel.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief Whether the process exits or this shared object is unloaded. */
inline bool exit_begun = false;

/*!
 * \brief Watches for that once the driver is open. Exit handlers run in reverse order, so this one
 * precedes the destructor of a static image made before; one made later is destroyed while the
 * driver still lives.
 */
inline void WatchExit() {
  static const int watched = atexit([] { exit_begun = true; });
  (void)watched;
}

/*! \brief What a module and its kernels share. */
struct __attribute__((visibility("default"))) LoadedImage {
  Library library{};
  ImageFacts facts;
  tvm::ffi::Bytes bytes;  // owns an image that was handed over

  LoadedImage() = default;
  LoadedImage(const LoadedImage&) = delete;
  LoadedImage& operator=(const LoadedImage&) = delete;
  ~LoadedImage() {
    // At exit the driver may be gone already; the process's end frees what is loaded.
    if (!exit_begun && !InForkedChild()) library.Unload();
  }
};

/*!
 * \brief An image; movable. Making one calls nothing, so a static one needs no driver; the first
 * GetKernel loads it, once for all devices, from whichever thread comes first.
 */
class __attribute__((visibility("default"))) CubinModule {
 public:
  /*! \brief No image; to be assigned to. */
  CubinModule() = default;
  CubinModule(CubinModule&&) = default;
  CubinModule& operator=(CubinModule&&) = default;

  /*! \param image A cubin, fatbin or PTX text; kept as long as the module. */
  explicit CubinModule(tvm::ffi::Bytes image) : CubinModule(static_cast<const void*>(nullptr)) {
    image_->bytes = std::move(image);
    // Only now: a few bytes are stored in the Bytes object itself, whose address has just changed.
    image_->library.image = image_->bytes.data();
  }

  /*!
   * \param image The same, in memory that stays valid until the image is loaded.
   * \param table What EMBED_CUBIN declares, or null where nothing embeds the image.
   */
  explicit CubinModule(const void* image, const void* const* table = nullptr)
      : image_(std::make_shared<LoadedImage>()) {
    image_->library.image = image;
    if (table != nullptr) image_->facts = ImageFacts(table);
  }

  /*!
   * \brief Loads the image now, unless it is loaded.
   * \throws LaunchError There is no driver, or it refuses the image.
   */
  void Load() const;

  /*!
   * \param name The kernel's symbol: its name where it is `extern "C"`, else the mangled one.
   * \throws LaunchError As Load, or the image has no such kernel.
   */
  CubinKernel GetKernel(const char* name) const {
    return CubinKernel(GetHandle(), name, image_, image_->facts);
  }
  CubinKernel operator[](const char* name) const { return GetKernel(name); }

  /*! \brief The driver's handle; loads the image, so it throws as Load does. */
  CUlibrary GetHandle() const {
    Load();
    return image_->library.handle;
  }

 private:
  std::shared_ptr<LoadedImage> image_;
};

/*!
 * \brief The module of an image that EMBED_CUBIN declared, one in a shared object. It is never
 * destroyed: kernels kept in static variables use it to the process's end.
 */
template <const void* const (&kImage)[4]>
CubinModule& EmbeddedModule() {
  static CubinModule* const module = new CubinModule(kImage[0], kImage);
  return *module;
}

#ifndef TVMFFI_CUBIN_COLD_COMPILED

TVMFFI_CUBIN_COLD void CubinModule::Load() const {
  if (image_ == nullptr || image_->library.image == nullptr) {
    TVM_FFI_THROW(LaunchError) << "the CubinModule has no image: it was moved from, or never set";
  }
  RequireDriver();
  WatchExit();
  const Status status = image_->library.Load();
  if (status.ok()) return;
  ThrowLaunchError(status, DescribeImageError(status, image_->facts, "the image cannot be loaded"));
}

#endif  // TVMFFI_CUBIN_COLD_COMPILED

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_MODULE_H_
