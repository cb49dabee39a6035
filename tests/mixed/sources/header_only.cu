// All of it is in a header, and what is exported is made of a template there.
#include <whole.cuh>

TVM_FFI_DLL_EXPORT_TYPED_FUNC(tripled, (whole::Scaler<float, 3>::run));
