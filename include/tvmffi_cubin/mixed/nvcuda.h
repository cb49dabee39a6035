/*!
 * \file tvmffi_cubin/mixed/nvcuda.h
 * \brief The types of CUDA's mma.h for host code, whose classes may name them; without members.
 */
#ifndef TVMFFI_CUBIN_MIXED_NVCUDA_H_
#define TVMFFI_CUBIN_MIXED_NVCUDA_H_

namespace nvcuda {
namespace wmma {

enum layout_t { mem_row_major, mem_col_major };
struct row_major;
struct col_major;
struct matrix_a;
struct matrix_b;
struct accumulator;

namespace precision {
struct tf32;
}
namespace experimental {
namespace precision {
struct u4;
struct s4;
struct b1;
}  // namespace precision
}  // namespace experimental

template <typename Use, int m, int n, int k, typename T, typename Layout = void>
class fragment;

}  // namespace wmma
}  // namespace nvcuda

#endif  // TVMFFI_CUBIN_MIXED_NVCUDA_H_
