/*!
 * \file tvmffi_cubin/launcher/image_use.h
 * \brief Launches and unloading that exclude each other, at no cost to launches.
 */
#ifndef TVMFFI_CUBIN_LAUNCHER_IMAGE_USE_H_
#define TVMFFI_CUBIN_LAUNCHER_IMAGE_USE_H_

#include "../driver.h"
#include "plan.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*!
 * \brief Keeps an image loaded, and the primary contexts retained, for the length of a launch.
 *
 * One at a time: a thread that waits for an unloading to end must not be what that waits for.
 */
class ImageUse {
 public:
  explicit ImageUse(EmbeddedImage* image) : image_(image) {
    // Both sides announce themselves first and look at the other second: one of them always sees.
    __atomic_fetch_add(&image_->launching, 1, __ATOMIC_SEQ_CST);
    while (__builtin_expect(__atomic_load_n(&image_->unloading, __ATOMIC_SEQ_CST) != 0, 0)) {
      // Another thread's unloading never ends in a fork; the driver refuses what follows.
      if (InForkedChild()) return;
      __atomic_fetch_sub(&image_->launching, 1, __ATOMIC_SEQ_CST);
      usleep(20);
      __atomic_fetch_add(&image_->launching, 1, __ATOMIC_SEQ_CST);
    }
  }
  ~ImageUse() { __atomic_fetch_sub(&image_->launching, 1, __ATOMIC_SEQ_CST); }
  ImageUse(const ImageUse&) = delete;
  ImageUse& operator=(const ImageUse&) = delete;

 private:
  EmbeddedImage* image_;
};

/*! \brief Has launches of an image, and other unloadings, wait before they begin. */
inline void CloseImage(EmbeddedImage* image) {
  int32_t open = 0;
  while (!__atomic_compare_exchange_n(&image->unloading, &open, 1, false, __ATOMIC_SEQ_CST,
                                      __ATOMIC_SEQ_CST)) {
    open = 0;
    usleep(20);
  }
}

/*! \brief Waits for the launches of a closed image that are under way. */
inline void WaitForLaunches(EmbeddedImage* image) {
  while (__atomic_load_n(&image->launching, __ATOMIC_SEQ_CST) != 0) usleep(20);
}

/*! \brief Lets launches of an image begin again. */
inline void OpenImage(EmbeddedImage* image) {
  __atomic_store_n(&image->unloading, 0, __ATOMIC_SEQ_CST);
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_LAUNCHER_IMAGE_USE_H_
