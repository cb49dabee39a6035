"""Functions of several instances: the first that the arguments fit is launched."""

import pytest
from stub.cuda_array import CPU, cuda_array

# Which one is launched


@pytest.mark.parametrize(
    ("dtype", "name"), [("float32", "float"), ("float16", "__half"), ("float64", "double")]
)
@pytest.mark.parametrize(
    ("n", "width"),
    [
        (1024, 4),
        (1023, 1),
    ],
)
def test_dtype_and_condition_choose_the_instance(
    dtype, name, n, width, instances, driver_stub, launched
):
    x, y = cuda_array(driver_stub, 8, dtype), cuda_array(driver_stub, 8, dtype)
    instances.scale(x, y, 1.5, n)
    (launch,) = driver_stub.launches()
    assert launch.grid == (-(-n // (256 * width)), 1, 1)
    scalar = {"float": "f", "__half": "e", "double": "d"}[name]
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


def test_a_condition_that_has_no_value_does_not_hold(instances, driver_stub):
    x = cuda_array(driver_stub, 4)
    instances.guarded(x, 6, 3)
    instances.guarded(x, 1001, 10)
    assert len(driver_stub.launches()) == 2
    with pytest.raises(ValueError) as error:
        instances.guarded(x, 2**20, 0)
    _, one, two, three = str(error.value).split("\n")
    assert one.endswith(": the condition 'm != 0 and n % m == 0' does not hold")
    assert two.endswith(": the condition 'n // m > 100' divides by zero")
    assert three.endswith(": the condition 'n * n * 4000000000 > 0' overflows 64 bits")


# What is not a matter of fitting


def test_a_tensor_in_the_wrong_place_is_a_value_error(instances, driver_stub):
    x, host = cuda_array(driver_stub, 8), cuda_array(driver_stub, 8, device_type=CPU)
    with pytest.raises(
        ValueError,
        match=r"^scale: no instance(?s:.*)argument 2 \(y: float\*\): got a tensor .* on cpu",
    ):
        instances.scale(x, host, 1.0, 8)
    with pytest.raises(
        ValueError,
        match=r"^scale: no instance(?s:.*)argument 2 \(y: double\*\): .* on cuda:1, wanted",
    ):
        instances.scale(
            cuda_array(driver_stub, 8, "float64"),
            cuda_array(driver_stub, 8, "float64", device=1),
            *(1.0, 8),
        )
    assert not driver_stub.launches()


# Options and keywords


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
    with pytest.raises(
        TypeError, match=r"^scale: wanted by, n by name, got n\nscale<float, 4>\(const"
    ):
        instances.scale.call(x, y, n=8)


# Conditions of functions that are no dispatch


def test_the_conditions_of_several_launches_are_checked_before_any_is_launched(
    instances, driver_stub
):
    x = cuda_array(driver_stub, 4)
    instances.both(x, 2, x)
    assert len(driver_stub.launches()) == 2
    for n, text in ((7, "n != 7"), (5, "n % 2 == 0")):
        expected = f"both: the condition '{text}' does not hold"
        with pytest.raises(ValueError, match=expected):
            instances.both(x, n, x)
    assert len(driver_stub.launches()) == 2
