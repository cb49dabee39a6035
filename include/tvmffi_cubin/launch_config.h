/*!
 * \file tvmffi_cubin/launch_config.h
 * \brief LaunchConfig: grid, block, dynamic shared memory, stream, and the attributes' storage.
 */
#ifndef TVMFFI_CUBIN_LAUNCH_CONFIG_H_
#define TVMFFI_CUBIN_LAUNCH_CONFIG_H_

#include <cuda.h>
#include <stdint.h>

#include "namespace.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief One to three dimensions; those left out are 1. */
struct Dim3 {
  uint32_t x, y, z;
  constexpr Dim3(uint32_t x_ = 1, uint32_t y_ = 1, uint32_t z_ = 1) : x(x_), y(y_), z(z_) {}
};

/*!
 * \brief How a kernel is launched.
 *
 * It points into itself, so it cannot be copied; setters return it, so it can be composed:
 * `LaunchConfig(blocks, 256).SetStream(stream).SetDynamicSmemBytes(bytes)`.
 */
class __attribute__((visibility("default"))) LaunchConfig {
 public:
  /*! \brief Most attributes that one launch can have. */
  static constexpr unsigned kMaxAttributes = 16;

  /*!
   * \param grid Blocks in each dimension.
   * \param block Threads in each dimension.
   */
  LaunchConfig(Dim3 grid, Dim3 block) {
    config_.attrs = attributes_;
    SetGrid(grid);
    SetBlock(block);
  }
  LaunchConfig(const LaunchConfig&) = delete;
  LaunchConfig& operator=(const LaunchConfig&) = delete;

  LaunchConfig& SetGrid(Dim3 grid) {
    config_.gridDimX = grid.x;
    config_.gridDimY = grid.y;
    config_.gridDimZ = grid.z;
    return *this;
  }

  LaunchConfig& SetBlock(Dim3 block) {
    config_.blockDimX = block.x;
    config_.blockDimY = block.y;
    config_.blockDimZ = block.z;
    return *this;
  }

  /*! \brief Dynamic shared memory in bytes, 0 unless set; more than 48 KB is opted into. */
  LaunchConfig& SetDynamicSmemBytes(uint32_t bytes) {
    config_.sharedMemBytes = bytes;
    return *this;
  }

  /*! \brief The stream, the default one unless set; a cudaStream_t is the same type. */
  LaunchConfig& SetStream(CUstream stream) {
    config_.hStream = stream;
    return *this;
  }

  /*! \brief What the driver takes; valid as long as this object. */
  const CUlaunchConfig& Get() const { return config_; }

 private:
  CUlaunchConfig config_{};
  CUlaunchAttribute attributes_[kMaxAttributes]{};
};

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_LAUNCH_CONFIG_H_
