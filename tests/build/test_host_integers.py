"""The integers of 64 bits in device texts of mixed sources: the host compiler's, CCCL's too."""

from __future__ import annotations

import pytest

from tvmffi_cubin import nvrtc

TEXT = r"""
%s
template <class A, class B> constexpr bool same = false;
template <class A> constexpr bool same<A, A> = true;
static_assert(same<int64_t, %s> && same<uint64_t, unsigned %s>);
static_assert(same<intptr_t, int64_t> && same<uintmax_t, uint64_t>);
static_assert(same<std::int64_t, int64_t> && same<std::uint_least64_t, uint64_t>);
static_assert(same<decltype(INT64_MAX), int64_t> && same<decltype(INT64_MIN), int64_t>);
static_assert(same<int_fast32_t, std::int_fast32_t> && sizeof(int_fast32_t) == %d);
%s
template <typename T> __global__ void typed(T* x, T y) { *x = y; }
template <> __global__ void typed<int64_t>(int64_t* x, int64_t y) { *x = min(y, INT64_MAX) + 1; }
"""
CCCL = (
    "static_assert(same<cuda::std::int64_t, int64_t> && same<cuda::std::uintptr_t, uintptr_t>);"
    "static_assert(same<cuda::std::int_fast32_t, int_fast32_t>);"
    "static_assert(cuda::std::numeric_limits<int64_t>::max() == INT64_MAX);"
)


@pytest.mark.parametrize(
    ("header", "uses"),
    [
        ("#include <cstdint>", ""),
        ("#include <cstdint>\n#include <cuda/std/cstdint>\n#include <cuda/std/limits>", CCCL),
        ("#include <cub/block/block_reduce.cuh>\n#include <cuda/atomic>\n#include <stdint.h>\n"
         "#include <cstdint>", CCCL),
    ],
    ids=["ours", "cccl", "cub"],
)  # fmt: skip
@pytest.mark.parametrize("own", ["long", "long long"])
def test_are_one_type_whichever_header_names_it(header, uses, own):
    options = ["-DTVMFFI_CUBIN_HOST_INTEGERS"] if own == "long" else []
    names = ["typed<long>", "typed<long long>", "typed<int64_t>"]
    image = nvrtc.compile(
        TEXT % (header, own, own, 8 if options else 4, uses),
        arch="sm_90",
        options=options,
        name_expressions=names,
    )
    symbols = {"long": "_Z5typedIlEvPT_S0_", "long long": "_Z5typedIxEvPT_S0_"}
    assert [image.lowered_names[name] for name in names] == [*symbols.values(), symbols[own]]
    assert image.log == ""
