// The third: the host functions.
void blended(tvm::ffi::TensorView x, tvm::ffi::TensorView y, double t) {
  const Line a{2.f, 1.f}, b{-1.f, 0.5f};
  TVM_FFI_ICHECK(a.at(1.f) == 3.f);
  const auto n = x.numel();
  blend_kernel<<<parts_blocks(n), PARTS_BLOCK, 0,
                 (cudaStream_t)TVMFFIEnvGetStream(x.device().device_type, x.device().device_id)>>>(
      a, b, t, (const __half*)x.data_ptr(), (float*)y.data_ptr(), n);
}
