"""Kernels of which an image tells the parameters' sizes alone: checked by width."""

import ctypes
import struct

import pytest
from stub.cuda_array import cuda_array

import tvmffi_cubin as tc

SOURCE = r"""
struct Odd { char bytes[3]; };
struct Line { float slope; int n; long long m; double x; };
struct __align__(64) Map { char bytes[128]; };
extern "C" {
__global__ void k1(char a) {}
__global__ void k2(short a) {}
__global__ void k3(Odd a) {}
__global__ void k4(int a) {}
__global__ void k8(long long a) {}
__global__ void k24(Line a) {}
__global__ void mapped(const __grid_constant__ Map map, int n) {}
__global__ void several(void* a, int b, short c, char d, double e, float f) {}
}
"""


@pytest.fixture(scope="module")
def image(_own_environment):
    return tc.nvrtc.nvrtc_compile(SOURCE, arch="sm_90")


@pytest.fixture(scope="module")
def raw(image):
    """Every kernel of the image, launched as mod.k[grid, block](...)."""
    return tc.load_inline("raw", embed_cubin=image)


def test_without_functions_every_kernel_is_exported_by_its_sizes(raw):
    assert {*raw.functions} == {"k1", "k2", "k3", "k4", "k8", "k24", "mapped", "several"}
    assert raw.several.signature == (
        "several(8 bytes arg0, 4 bytes arg1, 2 bytes arg2, 1 byte arg3, 8 bytes arg4, 4 bytes arg5)"
    )


@pytest.mark.parametrize(
    ("size", "value", "expected"),
    [
        (1, 255, b"\xff"),
        (4, -(2**31), b"\0\0\0\x80"),
        (4, 2**32 - 1, b"\xff" * 4),
        (4, 1.5, struct.pack("f", 1.5)),
        (8, -(2**63), struct.pack("q", -(2**63))),
        (8, 0.1, struct.pack("d", 0.1)),
        (8, None, bytes(8)),
        (8, ctypes.c_void_p(0x1234), struct.pack("Q", 0x1234)),
        (24, struct.pack("fiqd", 1, 2, 3, 4), struct.pack("fiqd", 1, 2, 3, 4)),
    ],
)
def test_what_fits_a_size_is_passed_as_its_bytes(raw, driver_stub, size, value, expected):
    raw[f"k{size}"][1, 1](value)
    assert driver_stub.launches()[0].params == (expected,)


REMEDY = "expected a value of its size: bytes; if"


@pytest.mark.parametrize(
    ("size", "value", "error", "text"),
    [
        (1, 256, ValueError, "(arg0: 1 byte): got the int 256, expected -128 to 255"),
        (1, 0.0, TypeError, "got the float 0, " + REMEDY),
        (3, 1, TypeError, "got the int 1, " + REMEDY),
        (4, 2**32, ValueError, "expected -2147483648 to 4294967295"),
        (4, 1e39, ValueError, "e+38, expected a number that fits in 4 bytes"),
        (4, ctypes.c_void_p(8), TypeError, REMEDY),
        (24, bytes(23), ValueError, "got 23 bytes, expected 24"),
    ],
)
def test_what_does_not_fit_a_size_is_refused(raw, driver_stub, size, value, error, text):
    with pytest.raises(error) as caught:
        raw[f"k{size}"][1, 1](value)
    message = str(caught.value)
    assert message.startswith(f"k{size}: argument 1 (arg0: {size} byte")
    assert text in message
    assert not driver_stub.launches()


def loaded(image, kernel, **options):
    launch = tc.Launch(kernel=kernel, image=image, **({"grid": 1, "block": 1} | options))
    return tc.load_inline("raw", functions={"f": launch}).f


def test_an_expression_reads_an_integer(image, driver_stub):
    f = loaded(image, "several", grid="ceil_div(arg1, 256)", args={"arg2": 0, "arg4": None})
    f(None, 1000, 7, 2.5)
    (launch,) = driver_stub.launches()
    assert launch.grid == (4, 1, 1)
    assert launch.values("Pihbqf") == (0, 1000, 0, 7, 0, 2.5)
    for value in (1.5, b"abcd"):
        with pytest.raises(TypeError, match="expected an int: a launch expression reads it"):
            f(None, value, 7, 2.5)
    f = loaded(image, "k8", grid="arg0")
    with pytest.raises(TypeError, match="expected an int: a launch expression reads it"):
        f(cuda_array(driver_stub, 4))
    with pytest.raises(ValueError, match="to 9223372036854775807$"):
        f(2**63)


def test_args_give_what_callers_do_not_pass(image, driver_stub):
    given = [
        ("k4", 1, struct.pack("i", 1)),
        ("k4", 1.0, struct.pack("f", 1)),  # equal in Python, with bytes of its own
        ("k8", None, bytes(8)),
        ("k24", bytes(range(24)), bytes(range(24))),
        ("k4", "num_sms", struct.pack("i", 132)),
    ]
    functions = {
        f"f{i}": tc.Launch(kernel=kernel, image=image, grid=1, block=1, args={"arg0": value})
        for i, (kernel, value, _) in enumerate(given)
    }
    mod = tc.load_inline("raw", functions=functions)
    for name in functions:
        mod[name]()
    found = [launch.params for launch in driver_stub.launches()]
    assert found == [(expected,) for _, _, expected in given]


MANGLED = """
struct Some { int a, b; };
enum Color { red };
namespace ns {
template <class T> __global__ void t(T x) {}
template __global__ void t<int>(int);
template __global__ void t<double>(double);
__global__ void typed(const float* x, Some some, Color color, unsigned char c, bool on) {}
}
"""


def test_types_that_a_symbol_spells_are_known(driver_stub, x):
    mangled = tc.nvrtc.nvrtc_compile(MANGLED, arch="sm_90")
    f = loaded(mangled, "typed")
    assert f.signature == (
        "f(const float* arg0, Some arg1, Color arg2, unsigned char arg3, bool arg4)"
    )
    f(x, struct.pack("ii", 1, 2), struct.pack("i", 1), 255, True)
    assert driver_stub.launches()[0].values("PqIB?") == (x.data_ptr, 1 + (2 << 32), 1, 255, True)
    with pytest.raises(TypeError, match="got a tensor of dtype int32 .*, expected float32"):
        f(cuda_array(driver_stub, 4, "int32"), bytes(8), bytes(4), 255, True)
    with pytest.raises(TypeError, match="arg3: unsigned char.: got None, expected an int"):
        f(x, bytes(8), bytes(4), None, True)
    assert loaded(mangled, "ns::t<double>").signature == "f(double arg0)"


def test_types_that_nvrtc_does_not_tell_are_to_be_declared():
    source = 'extern "C" __global__ void k(float* x, float by) { *x = by; }'
    options = {"arch": "sm_90a", "extra_cuda_cflags": ["-std=c++11"]}  # no variable templates
    with pytest.raises(
        ValueError, match=r"NVRTC did not report the types of k\(8 bytes x, .*params="
    ):
        tc.build_inline("c11", source, **options)
    launch = tc.Launch(params="float* x, float by")
    assert tc.build_inline("c11", source, functions={"k": launch}, **options)
