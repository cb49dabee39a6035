/*!
 * \file tvmffi_cubin/launcher/maps.h
 * \brief The tensor maps of a call, made anew of the tensors that it is given.
 */
#ifndef TVMFFI_CUBIN_LAUNCHER_MAPS_H_
#define TVMFFI_CUBIN_LAUNCHER_MAPS_H_

#include "../core/tensor_map_encode.h"
#include "prepare.h"

namespace tvmffi_cubin {
TVMFFI_CUBIN_BEGIN_NAMESPACE

/*! \brief The strides of memory without gaps; of a dimension of one element any will do. */
inline bool FillStrides(int64_t align, int64_t bits, TensorMapMemory* out,
                        TensorMapProblem* problem) {
  int64_t total = bits;
  for (int i = out->rank - 1; i > 0; --i) {
    if (__builtin_mul_overflow(total, out->shape[i], &total)) {
      return FailMap(problem, "ValueError", "stride[%d] is 2**60 bytes or more", i - 1);
    }
    if (out->shape[i - 1] == 1 && total % (8 * align) != 0) {
      out->strides[i - 1] = align;
    } else if (total % 8 == 0) {
      out->strides[i - 1] = total / 8;
    } else {
      return FailMap(problem, "ValueError", "stride[%d] is %lld bits, no whole bytes", i - 1,
                     static_cast<long long>(total));
    }
  }
  return true;
}

/*!
 * \brief Works out the memory that a map says itself; what the driver asks of it is another
 * question (CheckTensorMap).
 */
__attribute__((noinline)) inline bool DescribeExtents(const TensorMapSpec& spec,
                                                      const Argument& given, TensorMapMemory* out,
                                                      TensorMapProblem* problem) {
  // What is no tensor comes with a type alone: conversion has seen to that.
  out->type = spec.type;
  if (spec.type == TensorMapType::kFromTensor &&
      !ResolveMapType(spec, *given.tensor, &out->type, problem)) {
    return false;
  }
  out->address = given.storage.pointer;
  if (out->address == nullptr) {
    return FailMap(problem, "ValueError", "there is no data: the address is null");
  }
  const int64_t bits = FactsOf(out->type).bits;
  out->rank = spec.num_global_dims;
  out->strides[out->rank - 1] = bits / 8;
  for (int i = 0; i < out->rank; ++i) {
    constexpr int64_t kMost = INT64_C(1) << 32;
    out->shape[i] = spec.global_dim[i];
    if (!CheckMapRange("global_dim", i, out->shape[i], 1, kMost, problem)) return false;
  }
  for (int i = 0; i < spec.num_global_strides; ++i) out->strides[i] = spec.global_strides[i];
  return spec.num_global_strides != 0 ||
         FillStrides(MapAlignment(out->type, spec.interleave), bits, out, problem);
}

/*! \brief Evaluates and makes one map. */
inline int EncodeMap(const CallFrame& frame, int launch, const TensorMapPlan& plan,
                     Evaluation* evaluation, CUtensorMap* map) {
  TensorMapSpec spec = plan.spec;
  TensorMapProblem problem;
  // All words, not only those of the box.
  evaluation->map_words =
      reinterpret_cast<int64_t*>(reinterpret_cast<char*>(&spec) + offsetof(TensorMapSpec, box_dim));
  if (!evaluation->Do(plan.steps, plan.num_steps, 0)) {
    return FailEvaluation(frame.Site(launch), *evaluation);
  }
  const Argument& given = evaluation->arguments[plan.argument];
  TensorMapMemory memory;
  const bool is_described = spec.num_global_dims != 0
                                ? DescribeExtents(spec, given, &memory, &problem)
                                : DescribeMemory(spec, *given.tensor, &memory, &problem);
  if (__builtin_expect(is_described && EncodeTensorMap(spec, memory, map, &problem), 1)) return 0;
  const char* name = frame.instance.params[plan.argument].name;
  const bool is_same = strcmp(name, plan.name) == 0;
  return Fail(problem.kind, "%s: tensor map %s%s%s: %s", SiteText(frame.Site(launch)).chars,
              plan.name, is_same ? "" : " of ", is_same ? "" : name, problem.text);
}

/*!
 * \brief Makes the maps of all launches that have blocks; the device is current. An empty tensor
 * has no map, and mostly gives an empty grid.
 * \param maps Room for all, as the driver wants it aligned.
 */
inline int EncodeMaps(const CallFrame& frame, Evaluation* evaluation, CUtensorMap* maps) {
  return frame.ForEach(Source::kTensorMap, [&](int launch, const Source& source, void** param) {
    *param = maps;
    const auto& plan = *static_cast<const TensorMapPlan*>(source.data);
    return EncodeMap(frame, launch, plan, evaluation, maps++);
  });
}

TVMFFI_CUBIN_END_NAMESPACE
}  // namespace tvmffi_cubin

#endif  // TVMFFI_CUBIN_LAUNCHER_MAPS_H_
