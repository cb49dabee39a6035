"""Kernels in headers that were not cut: which uses of their names are theirs."""

import pytest
from mixed_kit import cut

from tvmffi_cubin.uncut_kernels import refuse_uncut

HEADER = """
#ifdef OTHER
template <typename T> __global__ void copy(T* x) { x[0] = 1; }
#else
inline void copy(int* x) {}
template <typename T> void copy(T x, T y) {}
#endif
"""


@pytest.fixture
def header(tmp_path):
    path = tmp_path / "k.h"
    path.write_text(HEADER)
    return str(path)


@pytest.mark.parametrize(
    "use", ["copy<<<1, 1>>>(x);", "copy<int><<<1, 1>>>(x);", "launch(copy<int>, x);", "go(&copy);"]
)
def test_what_is_launched_or_passed_may_be_the_kernel(header, use):
    with pytest.raises(ValueError, match="k.h:3: kernel copy is in a header that only the host"):
        refuse_uncut(cut(f"void f(int* x) {{ {use} }}"), [header])


@pytest.mark.parametrize(
    "use", ["copy(x);", "copy<int>(1, 2);", "std::copy<int*>; x.copy; x->copy;", "// copy<<<>>>\n"]
)
def test_what_is_called_and_what_others_have_of_its_name_is_none(header, use):
    refuse_uncut(cut(f"void f(int* x) {{ {use} }}"), [header])
