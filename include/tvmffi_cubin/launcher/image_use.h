/*!
 * \file tvmffi_cubin/launcher/image_use.h
 * \brief Launches and unloading that exclude each other, at no cost to launches.
 */
#ifndef TVMFFI_CUBIN_LAUNCHER_IMAGE_USE_H_
#define TVMFFI_CUBIN_LAUNCHER_IMAGE_USE_H_

#include "../core/gate.h"
#include "plan.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*!
 * \brief Keeps an image loaded, and the primary contexts retained, for the length of a launch.
 *
 * One at a time: a thread that waits for an unloading to end must not be what that waits for.
 */
class ImageUse : public GateUse {
 public:
  explicit ImageUse(EmbeddedImage* image) : GateUse(&image->gate) {}
};

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_LAUNCHER_IMAGE_USE_H_
