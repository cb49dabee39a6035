"""Functions of several instances: the first that the arguments fit is launched; why none fits."""

import inspect
from collections.abc import Callable

import pytest
from stub.cuda_array import CPU, cuda_array
from stub.driver_stub import DriverStub

import tvmffi_cubin as tc

SOURCE = r"""
#include <cuda_fp16.h>
template <class T, int W> __global__ void scale(const T* x, T* y, T by, int n) {}
extern "C" __global__ void first(float* t, int n) {}
extern "C" __global__ void second(const float* t, float* y) {}
extern "C" __global__ void whole(const double* t, int n, double* y) {}
__global__ void over(const float* x) {}
__global__ void over(const int* x) {}
__global__ void over(long long x) {}
extern "C" __global__ void bytes(unsigned char v) {}
extern "C" __global__ void none() {}
"""
ONE = {"grid": 1, "block": 1}
FUNCTIONS = {
    "scale": tc.Dispatch(
        tc.Launch(
            kernel=f"scale<{T}, {W}>", grid=f"ceil_div(n, {256 * W})", block=256,
            when=f"n % {W} == 0",
        )
        for T in ("float", "__half", "double")
        for W in (4, 1)
    ),
    "aligned": tc.Dispatch([
        tc.Launch(kernel="scale<float, 4>", when="x.data_ptr % 16 == 0 and y.data_ptr % 16 == 0"),
        tc.Launch(kernel="scale<float, 1>"),
    ]),
    "pipeline": tc.Dispatch([
        [
            tc.Launch(kernel="first", grid="n", block=32),
            tc.Launch(kernel="second", grid="n + 1", block=64, when="n > 0"),
        ],
        tc.Launch(kernel="whole", **ONE),
    ]),
    "overloads": tc.Dispatch(
        tc.Launch(kernel="over", params=params, **ONE)
        for params in ("const float* x", "const int* x", "long long x")
    ),
    "counts": tc.Dispatch([tc.Launch(kernel="none", **ONE), tc.Launch(kernel="bytes", **ONE)]),
    "guarded": tc.Dispatch(
        tc.Launch(kernel="first", params="float* t, int n, int m", when=when, **ONE)
        for when in ("m != 0 and n % m == 0", "n // m > 100", "n * n * 4000000000 > 0")
    ),
    "both": [
        tc.Launch(kernel="first", grid="n", block=1, when="n != 7"),
        tc.Launch(kernel="second", grid="n", block=1, when="n % 2 == 0"),
    ],
}  # fmt: skip


@pytest.fixture(scope="module")
def instances(_own_environment: None) -> tc.Module:
    return tc.load_inline("instances", SOURCE, functions=FUNCTIONS, arch="sm_90")


@pytest.fixture
def launched(instances: tc.Module, driver_stub: DriverStub) -> Callable[[], list[str]]:
    """The kernels launched since the last call of this, as people write them."""
    names = {symbol: name for name, symbol in instances.cubins["kernels"].lowered_names.items()}

    def take() -> list[str]:
        kernels = [names.get(x.kernel or "", x.kernel or "") for x in driver_stub.launches()]
        driver_stub.reset()
        return kernels

    return take


@pytest.mark.parametrize(
    ("dtype", "name", "scalar"),
    [("float32", "float", "f"), ("float16", "__half", "e"), ("float64", "double", "d")],
)
@pytest.mark.parametrize(("n", "width"), [(1024, 4), (1023, 1)])
def test_dtype_and_condition_choose_the_instance(
    dtype, name, scalar, n, width, instances, driver_stub, launched
):
    x, y = cuda_array(driver_stub, 8, dtype), cuda_array(driver_stub, 8, dtype)
    instances.scale(x, y, 1.5, n)
    (launch,) = driver_stub.launches()
    assert launch.grid == (-(-n // (256 * width)), 1, 1)
    assert launch.values(f"PP{scalar}i") == (x.data_ptr, y.data_ptr, 1.5, n)
    assert launched() == [f"scale<{name}, {width}>"]


def test_unaligned_data_falls_back_by_condition(instances, driver_stub, launched):
    even, odd = cuda_array(driver_stub, 8), cuda_array(driver_stub, 8, address_offset=4)
    offset = cuda_array(driver_stub, 8, byte_offset=8)
    for x, y in ((even, even), (odd, even), (even, odd), (offset, even)):
        instances.aligned[1, 1](x, y, 1.0, 8)
    instances.aligned[1, 1](None, even, 1.0, 8)
    assert launched() == [f"scale<float, {width}>" for width in (4, 1, 1, 1, 4)]


def test_overloads_make_a_function(instances, driver_stub, launched):
    instances.overloads(cuda_array(driver_stub, 4, "int32"))
    instances.overloads(cuda_array(driver_stub, 4))
    instances.overloads(2**40)
    instances.overloads(None)
    assert launched() == ["_Z4overPKi", "_Z4overPKf", "_Z4overx", "_Z4overPKf"]


def test_an_instance_of_several_launches_runs_them_all_or_none(instances, driver_stub, launched):
    t, y = cuda_array(driver_stub, 4), cuda_array(driver_stub, 4)
    instances.pipeline(t, 3, y)
    assert [x.grid[0] for x in driver_stub.launches()] == [3, 4]
    assert driver_stub.launches()[1].values("PP") == (t.data_ptr, y.data_ptr)
    assert launched() == ["first", "second"]
    with pytest.raises(ValueError, match="the condition 'n > 0' does not hold"):
        instances.pipeline(t, 0, y)
    wide = cuda_array(driver_stub, 4, "float64")
    instances.pipeline(wide, 0, wide)
    assert launched() == ["whole"]


def test_a_condition_that_has_no_value_does_not_hold(instances, driver_stub, x):
    instances.guarded(x, 6, 3)
    instances.guarded(x, 1001, 10)
    assert len(driver_stub.launches()) == 2
    with pytest.raises(ValueError) as error:
        instances.guarded(x, 2**20, 0)
    ends = [line.rpartition("' ")[2] for line in str(error.value).split("\n")[1:]]
    assert ends == ["does not hold", "divides by zero", "overflows 64 bits"]


def test_a_tensor_in_the_wrong_place_is_a_value_error(instances, driver_stub):
    x, host = cuda_array(driver_stub, 8), cuda_array(driver_stub, 8, device_type=CPU)
    with pytest.raises(ValueError, match=r"\(y: float\*\): got a tensor .* on cpu"):
        instances.scale(x, host, 1.0, 8)
    with pytest.raises(ValueError, match=r"\(y: float\*\): .* on cuda:1, expected"):
        instances.scale(x, cuda_array(driver_stub, 8, device=1), 1.0, 8)
    assert not driver_stub.launches()


def test_options_are_for_the_instance_that_is_launched(instances, driver_stub, launched):
    x = cuda_array(driver_stub, 8, "float16")
    with driver_stub.stream() as stream:
        instances.scale[(3, 2), 64, 128].on(stream)(x, x, 1.0, 8)
        instances.scale.on(stream)(x, x, 1.0, 7)
    first, second = driver_stub.launches()
    assert (first.grid, first.block, first.dynamic_smem_bytes) == ((3, 2, 1), (64, 1, 1), 128)
    assert (first.stream, second.stream) == (stream, stream)
    assert (second.grid, second.block) == ((1, 1, 1), (256, 1, 1))
    assert launched() == ["scale<__half, 4>", "scale<__half, 1>"]


def test_keywords_go_by_the_names_that_all_instances_have(instances, driver_stub, launched):
    x, y = cuda_array(driver_stub, 8, "float64"), cuda_array(driver_stub, 8, "float64")
    instances.scale.call(n=8, by=2, y=y, x=x)
    instances.scale[2, 2].call(x, y, n=7, by=0.5)
    values = [launch.values("PPdi") for launch in driver_stub.launches()]
    assert values == [(x.data_ptr, y.data_ptr, 2.0, 8), (x.data_ptr, y.data_ptr, 0.5, 7)]
    assert launched() == ["scale<double, 4>", "scale<double, 1>"]
    with pytest.raises(TypeError, match="^scale: expected by, n by name, got n\nscale<float, 4>"):
        instances.scale.call(x, y, n=8)


def test_the_conditions_of_several_launches_are_checked_before_any_is_launched(
    instances, driver_stub
):
    x = cuda_array(driver_stub, 4)
    instances.both(x, 2, x)
    assert len(driver_stub.launches()) == 2
    for n, text in ((7, "n != 7"), (5, "n % 2 == 0")):
        with pytest.raises(ValueError, match=f"both: the condition '{text}' does not hold"):
            instances.both(x, n, x)
    assert len(driver_stub.launches()) == 2


def test_where_none_fits_every_instance_says_why(instances, driver_stub):
    x = cuda_array(driver_stub, (2, 3), "int32")
    with pytest.raises(TypeError) as error:
        instances.scale(x, x, 1.5, 7)
    tensor = "a tensor of dtype int32 and rank 2 on cuda:0"
    wanted = {"float": "float32", "__half": "float16", "double": "float64"}
    lines = [
        f"  scale<{t}, {w}>(const {t}* x, {t}* y, {t} by, int n) when n % {w} == 0: "
        f"argument 1 (x: const {t}*): got {tensor}, expected {dtype}"
        for t, dtype in wanted.items()
        for w in (4, 1)
    ]
    assert str(error.value).split("\n") == ["scale: no instance fits:", *lines]


def test_a_function_shows_its_instances(instances):
    scale = instances.scale
    lines = scale.signature.split("\n")
    assert len(lines) == 6
    assert lines[3] == (
        "scale<__half, 1>(const __half* x, __half* y, __half by, int n) when n % 1 == 0"
    )
    assert scale.__doc__ == scale.signature
    assert scale.params[2:] == (("by", "float | __half | double"), ("n", "int"))
    assert repr(scale) == f"<tvmffi_cubin.Function {scale.signature}>"
    assert list(inspect.signature(scale).parameters) == ["x", "y", "by", "n"]
    assert not hasattr(instances.counts, "__signature__")
    assert "scale" in instances.functions
