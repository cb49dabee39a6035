"""What PTX text says of itself."""

import pytest

from tvmffi_cubin.kernels import ptx
from tvmffi_cubin.kernels.cubin import Cubin
from tvmffi_cubin.kernels.image import looks_like_ptx

HEAD = "//\n// Compiler Build ID: CL-1\n//\n.version 8.8\n.target sm_90\n.address_size 64\n"
TEXT = (
    HEAD
    + """
.extern .shared .align 16 .b8 dynamic[];
.shared .align 4 .b8 everyones[100];  // .entry comment( {
.global .align 1 .b8 text[8] = {1, 2, 3};
.visible .entry declared_only(.param .u64 p);
	// .globl	_Z4fillIfEvPT_S0_
.visible .entry _Z4fillIfEvPT_S0_(
	.param .u8 a,
	.param .u64 .ptr .global .align 4 b,
	.param .align 4 .b8 c[12],
	.param .align 64 .b8 d[128],
	.param .f16x2 e,
	.param .b128 f
)
.maxntid 16, 8
.minnctapersm 2
{
  .reg .b32 %r<3>;
  { .reg .b32 %r1; mov.b64 {%r1, %r2}, %rd1; }
  ret;
}
.entry $fixed.1
.reqntid 64, 1, 1
.explicitcluster
.reqnctapercluster 2, 1, 1
{ ret; }
\0.entry beyond() {}"""
)


def test_kernels_are_as_the_text_declares_them():
    assert ptx.arch(TEXT.encode()) == "compute_90"
    fill, fixed = Cubin(TEXT.encode(), "compute_90", kind="ptx").kernels
    assert (fill.name, fixed.name) == ("_Z4fillIfEvPT_S0_", "$fixed.1")
    assert (fill.param_sizes, fixed.param_sizes) == ((1, 8, 12, 128, 4, 16), ())
    assert (fill.max_threads, fill.required_block, fill.cluster) == (128, None, None)
    assert (fixed.max_threads, fixed.required_block, fixed.cluster) == (64, (64, 1, 1), (2, 1, 1))
    assert not fixed.grid_in_clusters
    counted = ptx.kernels(TEXT.replace(".explicitcluster", ".blocksareclusters").encode())
    assert [kernel.grid_in_clusters for kernel in counted if kernel.cluster] == [True]


@pytest.mark.parametrize("text", ["hello", ".version 8.8", "// .version 8.8\n"])
def test_other_text_is_a_value_error(text):
    assert looks_like_ptx(text.encode()) == (text == ".version 8.8")
    with pytest.raises(ValueError, match="not PTX"):
        ptx.arch(text.encode())
