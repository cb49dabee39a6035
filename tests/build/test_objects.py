"""`build(output="x.o")`: an object that is yet to be linked, complete with images and launchers."""

from pathlib import Path

import pytest
import tvm_ffi
from file_kit import ADD, EXPORT, SCALE, compiled, linked, write
from stub.cuda_array import cuda_array

import tvmffi_cubin as tc


def test_an_object_goes_where_its_output_says(here):
    write("add.cc", ADD)
    write("more.c", "int more(void) { return 1; }\n")
    (here / "sub").mkdir()
    for output in ("ops.obj", "sub/ops.o", str(here / "absolute.o")):
        made = tc.build("add", sources=["add.cc", "more.c"], output=output)
        assert made == str(here / output)
        assert Path(made).read_bytes()[16:18] == b"\x01\x00"  # ET_REL
        assert tvm_ffi.load_module(linked(made)).add(1, 2) == 3
        # An object becomes a source of the next build.
        assert tc.load("again", sources=made).add(1, 2) == 3


def test_an_object_has_images_and_launchers_in_it(here, driver_stub):
    write("scale.cu", SCALE)
    made = tc.build("scale", sources="scale.cu", arch="sm_90", output="scale.o")
    mod = tc.load_module(linked(made))
    x = cuda_array(driver_stub, 8)
    mod.scale[2, 4](x, 3.0, 8)
    assert driver_stub.launches()[0].values("Pfi") == (x.data_ptr, 3.0, 8)


def test_an_object_of_a_file_that_others_include_holds_nothing(here):
    write("part.cu", "template <typename T> __device__ T twice(T x) { return 2 * x; }\n")
    made = tc.build("part", sources="part.cu", arch="sm_90", output="part.o")
    with pytest.raises(tc.ImageError):
        tc.inspect(made)


def test_objects_given_become_part_of_the_object(here):
    write("twice.c", "int twice(int x) { return 2 * x; }\n")
    text = 'extern "C" int twice(int);\nint four(int x) { return twice(twice(x)); }\n'
    write("four.cc", text + EXPORT.format("four"))
    sources = ["four.cc", compiled("cc", "twice.c")]
    assert (
        tvm_ffi.load_module(linked(tc.build("four", sources=sources, output="four.o"))).four(1) == 4
    )
