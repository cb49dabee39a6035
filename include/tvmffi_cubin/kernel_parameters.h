/*!
 * \file tvmffi_cubin/kernel_parameters.h
 * \brief The sizes of a kernel's parameters, against which a typed launch is checked.
 */
#ifndef TVMFFI_CUBIN_KERNEL_PARAMETERS_H_
#define TVMFFI_CUBIN_KERNEL_PARAMETERS_H_

#include <tvm/ffi/error.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "core/device.h"
#include "core/namespace.h"
#include "core/dispatch.h"
#include "core/library.h"
#include "launch_config.h"

#ifdef TVMFFI_CUBIN_BOUND_PARAMS
#include "core/bound.h"
extern "C" __attribute__((visibility("hidden"))) tvmffi_cubin::BoundTable __tvmffi_cubin_bound;
#endif

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief A kernel's name in its image; "a kernel" where the driver is too old to say. */
inline const char* KernelName(CUkernel kernel) {
  const char* name = nullptr;
  const bool known = entry::cuKernelGetName(&name, kernel) == CUDA_SUCCESS && name != nullptr;
  return known ? name : "a kernel";
}

/*! \brief The sizes of a kernel's parameters in bytes, where they are known. */
struct ParameterSizes {
  bool known = false;
  std::vector<size_t> sizes;
};

/*! \brief How many of the last parameters no caller passes. */
inline size_t NumBoundParams() {
#ifdef TVMFFI_CUBIN_BOUND_PARAMS
  return static_cast<size_t>(__tvmffi_cubin_bound.num_trailing);
#else
  return 0;
#endif
}

/*!
 * \brief Read from the image at the first typed launch, from whichever thread; movable. Drivers
 * before CUDA 12.4 do not tell them, and then nothing is checked.
 */
class KernelParameters {
 public:
  KernelParameters() = default;
  KernelParameters(KernelParameters&& other) noexcept { *this = std::move(other); }
  KernelParameters& operator=(KernelParameters&& other) noexcept {
    if (this != &other) delete table_.exchange(other.table_.exchange(nullptr));
    return *this;
  }
  ~KernelParameters() { delete table_.load(std::memory_order_relaxed); }

  /*!
   * \brief Checks a launch's arguments.
   * \param config Where the launch goes: the driver does not tell the sizes outside a context.
   * \param sizes Bytes of each.
   * \return What kept the device from being entered.
   * \throws TypeError Their number or a size is not the kernel's.
   */
  Status Check(const Driver* driver, CUkernel kernel, const LaunchConfig& config,
               const size_t* sizes, size_t count) {
    const ParameterSizes* table = nullptr;
    const Status status = Find(driver, kernel, config.Get().hStream, config.GetDevice(), &table);
    if (!status.ok()) return status;
    if (table == nullptr || !table->known) return {};
    bool same = table->sizes.size() == count + NumBoundParams();
    for (size_t i = 0; same && i < count; ++i) same = table->sizes[i] == sizes[i];
    if (__builtin_expect(!same, 0)) Throw(kernel, table->sizes, sizes, count);
    return {};
  }

  /*! \brief Takes the sizes from the build where that tells them: with bound_params. */
#ifdef TVMFFI_CUBIN_BOUND_PARAMS
  void TakeFromBuild(const ImageFacts& facts, const char* name);
#else
  void TakeFromBuild(const ImageFacts&, const char*) {}
#endif

  /*!
   * \brief Finds the sizes.
   * \param stream, device Where the launch goes.
   * \param[out] sizes Null where the driver cannot tell now and may later.
   * \return What kept the device from being entered.
   */
  Status Find(const Driver* driver, CUkernel kernel, CUstream stream, int device,
              const ParameterSizes** sizes) {
    *sizes = table_.load(std::memory_order_acquire);
    if (__builtin_expect(*sizes != nullptr, 1)) return {};
    return Read(driver, kernel, stream, device, sizes);
  }

 private:
  /*! \brief Reads the table. */
  Status Read(const Driver* driver, CUkernel kernel, CUstream stream, int device,
              const ParameterSizes** table);

  [[noreturn]] static void Throw(CUkernel kernel, const std::vector<size_t>& wanted,
                                 const size_t* sizes, size_t count);

  std::atomic<const ParameterSizes*> table_{nullptr};
};

#ifndef TVMFFI_CUBIN_COLD_COMPILED

#ifdef TVMFFI_CUBIN_BOUND_PARAMS
TVMFFI_CUBIN_COLD void KernelParameters::TakeFromBuild(const ImageFacts& facts, const char* name) {
  const BoundTable& table = __tvmffi_cubin_bound;
  for (int i = 0; i < table.num_kernels; ++i) {
    const BoundKernel& kernel = table.kernels[i];
    // The text with the architectures is the image's own, so its address tells which image it is.
    if (kernel.image[2] != facts.arches || strcmp(kernel.symbol, name) != 0) continue;
    auto read = std::make_unique<ParameterSizes>();
    read->known = true;
    read->sizes.assign(kernel.sizes, kernel.sizes + kernel.num_params);
    delete table_.exchange(read.release());
    return;
  }
}
#endif

TVMFFI_CUBIN_COLD Status KernelParameters::Read(const Driver* driver, CUkernel kernel,
                                                CUstream stream, int device,
                                                const ParameterSizes** table) {
  CaptureScope relaxed;
  DeviceScope scope;
  const Status status = EnterLaunch(driver, stream, device, &scope);
  if (!status.ok()) return status;
  auto read = std::make_unique<ParameterSizes>();
  size_t offset = 0, size = 0;
  CUresult result = CUDA_SUCCESS;
  while (result == CUDA_SUCCESS) {
    result = entry::cuKernelGetParamInfo(kernel, read->sizes.size(), &offset, &size);
    if (result == CUDA_SUCCESS) read->sizes.push_back(size);
  }
  read->known = result == CUDA_ERROR_INVALID_VALUE;  // what it says of the one past the last
  if (!read->known && result != CUDA_ERROR_NOT_FOUND) return {};
  *table = nullptr;
  if (table_.compare_exchange_strong(*table, read.get())) *table = read.release();
  return {};  // else another thread was first, and the table is its
}

[[noreturn]] TVMFFI_CUBIN_COLD void KernelParameters::Throw(CUkernel kernel,
                                                            const std::vector<size_t>& wanted,
                                                            const size_t* sizes, size_t count) {
  const std::string name = KernelName(kernel);
  const size_t bound = NumBoundParams();
  if (wanted.size() != count + bound) {
    const std::string less = bound == 0 ? "" : " less " + std::to_string(bound) + " that are bound";
    TVM_FFI_THROW(TypeError) << name << " takes " << wanted.size() << " arguments" << less
                             << ", Launch got " << count;
  }
  size_t i = 0;
  while (sizes[i] == wanted[i]) ++i;
  TVM_FFI_THROW(TypeError) << name << ": argument " << i + 1 << " of " << count << " has "
                           << sizes[i] << " bytes, the kernel's parameter has " << wanted[i]
                           << ": pass a value of the parameter's own type";
  __builtin_unreachable();
}

#endif  // TVMFFI_CUBIN_COLD_COMPILED

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_KERNEL_PARAMETERS_H_
