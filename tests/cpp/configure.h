// A LaunchConfig as tests write it down: rows of a setter's number and up to three values.
#ifndef TESTS_CPP_CONFIGURE_H_
#define TESTS_CPP_CONFIGURE_H_

#include <string.h>
#include <tvm/ffi/container/tensor.h>
#include <tvmffi_cubin/launch_config.h>

inline tvmffi_cubin::Dim3 ToDim3(const int64_t* v) {
  return {static_cast<uint32_t>(v[0]), static_cast<uint32_t>(v[1]), static_cast<uint32_t>(v[2])};
}

inline void Apply(tvmffi_cubin::LaunchConfig* config, const int64_t* row) {
  const int64_t* v = row + 1;
  const int first = static_cast<int>(v[0]);
  CUlaunchAttribute raw{};
  switch (row[0]) {
    case 0:
      config->SetGrid(ToDim3(v));
      break;
    case 1:
      config->SetBlock(ToDim3(v));
      break;
    case 2:
      config->SetDynamicSmemBytes(static_cast<uint32_t>(v[0]));
      break;
    case 3:
      config->SetStream(reinterpret_cast<CUstream>(v[0]));
      break;
    case 4:
      config->SetCluster(ToDim3(v));
      break;
    case 6:
      config->SetClusterSchedulingPolicy(static_cast<CUclusterSchedulingPolicy>(v[0]));
      break;
    case 7:
      config->SetProgrammaticDependentLaunch(first != 0);
      break;
    case 10:
      config->SetCooperative(first != 0);
      break;
    case 11:
      raw.id = static_cast<CUlaunchAttributeID>(v[0]);
      memcpy(raw.value.pad, &v[1], 2 * sizeof(int64_t));
      config->SetAttribute(raw);
      break;
    case 12:
      config->SetDevice(first);
      break;
  }
}

inline void Configure(tvmffi_cubin::LaunchConfig* config, tvm::ffi::TensorView rows) {
  const int64_t* row = static_cast<const int64_t*>(rows.data_ptr());
  for (int64_t i = 0; i < rows.size(0); ++i, row += 4) Apply(config, row);
}

#endif  // TESTS_CPP_CONFIGURE_H_
