"""Host code through load_inline: wrappers in the guide's shapes, C++ alone, both sides at once."""

from __future__ import annotations

import struct

import pytest
import wrapper_sources
from stub.cuda_array import cuda_array

import tvmffi_cubin as tc
from tvmffi_cubin.cuda import libraries

ADD = "int add(int a, int b) { return a + b; }"
LAUNCH = tc.Launch(grid="ceil_div(x.numel, 256)", block=256, args={"n": "x.numel"})


@pytest.fixture(scope="module")
def image() -> bytes:
    return tc.nvrtc.nvrtc_compile(wrapper_sources.KERNELS, arch="sm_90")


@pytest.fixture
def arrays(driver_stub):
    return cuda_array(driver_stub, (1000,)), cuda_array(driver_stub, (1000,))


def expected_parameters(x, y) -> bytes:
    return struct.pack("<QQq", x.data_ptr, y.data_ptr, 1000)


@pytest.mark.parametrize("dialect", ["DRIVER", "RUNTIME"])
def test_a_wrapper_of_either_dialect_launches_its_image(dialect, image, arrays, driver_stub):
    source = getattr(wrapper_sources, dialect)
    # No header that is not its own warns.
    options = {"embed_cubin": {"kernels": image}, "extra_cflags": ["-Wall", "-Wextra", "-Werror"]}
    mod = tc.load_inline(f"w_{dialect}", source, **options)
    mod.add_one(*arrays)
    (launch,) = driver_stub.launches()
    assert (launch.kernel, launch.grid, launch.block) == ("add_one", (4, 1, 1), (256, 1, 1))
    assert b"".join(launch.params) == expected_parameters(*arrays)


def test_a_wrapper_reaches_the_kernels_beside_it_and_both_export(arrays, driver_stub):
    mod = tc.load_inline(
        "w_beside",
        [wrapper_sources.KERNELS, wrapper_sources.DRIVER],
        functions={"mul_two": LAUNCH},
        arch="sm_90",
    )
    mod.add_one(*arrays)
    mod.mul_two(*arrays)
    assert [launch.kernel for launch in driver_stub.launches()] == ["add_one", "mul_two"]
    assert {b"".join(x.params) for x in driver_stub.launches()} == {expected_parameters(*arrays)}


def test_an_image_that_arrives_at_run_time_is_kept(image, arrays, driver_stub):
    mod = tc.load_inline("w_bytes", wrapper_sources.BYTES, extra_ldflags=["-lcudart"])
    mod.load(image)
    mod.mul_two(*arrays)
    assert driver_stub.launches()[0].kernel == "mul_two"
    with pytest.raises(RuntimeError):
        mod.load(b"neither cubin nor fatbin")


def test_a_function_needs_no_export_macro_of_its_own():
    mod = tc.load_inline("w_cpp", cpp_sources=ADD, functions={"add": "Adds."})
    assert mod.add(2, 3) == 5
    assert mod.get_function_doc("add") == "Adds."
    assert isinstance(mod.add, tc.Function)
    with pytest.raises(TypeError, match="C\\+\\+ function"):
        mod.add[1, 1](2, 3)


def test_an_error_in_host_code_shows_the_user_s_own_line():
    with pytest.raises(tc.BuildError, match=r"cpp_sources\.cpp:2:\d+: error: .*nonsense"):
        tc.load_inline("w_error", cpp_sources="int f() {\n  return nonsense;\n}", functions="f")


def test_cpp_sources_need_nothing_of_cuda(monkeypatch):
    def missing():
        raise tc.ToolchainError("no CUDA here")

    monkeypatch.setattr(libraries, "find_cuda", missing)
    source = "double half(double x) { return x / 2; }"
    assert tc.load_inline("w_plain", cpp_sources=source, functions="half").half(3.0) == 1.5
