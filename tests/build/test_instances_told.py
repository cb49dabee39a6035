"""What functions of several instances say: why none fits, and what there is."""

import inspect

import pytest
from dispatch_kernels import ONE
from stub.cuda_array import cuda_array

import tvmffi_cubin as tc

MANY = 60


# None fits


def test_where_none_fits_every_instance_says_why(instances, driver_stub):
    x = cuda_array(driver_stub, (2, 3), "int32")
    with pytest.raises(TypeError) as error:
        instances.scale(x, x, 1.5, 7)
    tensor = "a tensor of dtype int32 and rank 2 on cuda:0"
    wanted = {"float": "float32", "__half": "float16", "double": "float64"}
    lines = [
        f"  scale<{t}, {w}>(const {t}* x, {t}* y, {t} by, int n) when n % {w} == 0: "
        f"argument 1 (x: const {t}*): got {tensor}, wanted {dtype}"
        for t, dtype in wanted.items()
        for w in (4, 1)
    ]
    assert str(error.value).split("\n") == [
        f"scale: no instance fits ({tensor}, {tensor}, the float 1.5, the int 7):",
        *lines,
    ]


@pytest.mark.parametrize(
    ("function", "args", "reasons"),
    [
        ("vector", ("x", 4), ["*): got a str, wanted a tensor, None (a null"] * 2),
        ("vector", (None, 2.0), ["argument 2 (n: int): got the float 2, wanted an int"] * 2),
        ("mask", (None, True, "n"), ["argument 3 (n: int): got a str, wanted an int"] * 2),
        ("ranks", (3,), ["got the int 3, wanted a tensor"] * 3),
        (
            "ranges",
            ("1",),
            ["char): got a str, wanted an int", "wanted an int", "got a str, wanted a number"],
        ),
        (
            "ranges",
            (1e39,),
            [
                "got the float 9.9999999999999994e+38, wanted an int",
                "wanted an int",
                "(v: float): got the float 9.9999999999999994e+38, wanted a finite number",
            ],
        ),
        ("counts", (1, 2), ["got 2 arguments, wanted 0", "got 2 arguments, wanted 1"]),
        ("counts", (256,), ["got 1 arguments, wanted 0", "the int 256, wanted 0 to 255"]),
        ("mask", (None, 1, 2), ["argument 2 (causal: bool): got the int 1, wanted a bool"] * 2),
    ],
)
def test_each_reason_is_the_one_that_a_single_instance_would_give(
    function, args, reasons, instances, driver_stub
):
    is_value = any("finite" in reason or "255" in reason for reason in reasons)
    with pytest.raises(ValueError if is_value else TypeError) as error:
        instances[function](*args)
    _, *lines = str(error.value).split("\n")
    for line, reason in zip(lines, reasons, strict=True):
        assert reason in line


def test_without_arguments_that_is_said(instances, driver_stub):
    with pytest.raises(TypeError, match=r"^scale: no instance fits \(\):\n"):
        instances.scale()


def test_a_list_of_many_instances_and_arguments_is_cut(driver_stub):
    launches = [
        tc.Launch(kernel=f"k<{i}>", when=f"n == {i} and {'n == n and ' * 12}n == n", **ONE)
        for i in range(MANY)
    ]
    source = "template <int I> __global__ void k(const float* x, int n) {}"
    mod = tc.load_inline("many", source, functions={"k": tc.Dispatch(launches)}, arch="sm_90")
    mod.k(None, MANY - 1)
    assert driver_stub.launches()[0].kernel == "_Z1kILi59EEvPKfi"
    with pytest.raises(
        ValueError, match=r"\n  k<1>\(const float\* x, int n\) when n == 1"
    ) as error:
        mod.k(None, MANY)
    assert len(str(error.value)) < 8192


def test_nothing_is_launched_where_none_fits(instances, driver_stub):
    for _ in range(3):
        with pytest.raises(TypeError):
            instances.scale(1, 2, 3, 4)
    assert not driver_stub.launches()


# What is said of them


def test_a_function_shows_its_instances(instances):
    scale = instances.scale
    lines = scale.signature.split("\n")
    assert len(lines) == 6
    assert lines[3] == (
        "scale<__half, 1>(const __half* x, __half* y, __half by, int n) when n % 1 == 0"
    )
    assert scale.__doc__ == scale.signature
    assert scale.params[2:] == (("by", "float | __half | double"), ("n", "int"))
    assert scale.summary in repr(scale)
    assert repr(instances.overloads) == (
        "<tvmffi_cubin.Function overloads(const float* | const int* | long long x), "
        "the first of 3 instances that fits>"
    )
    assert list(inspect.signature(scale).parameters) == ["x", "y", "by", "n"]
    assert str(inspect.signature(instances.counts)) == "(*args) -> None"
    assert "scale" in instances.functions


def test_the_manifest_has_every_instance(instances):
    facts = instances.manifest["functions"]["vector"]
    assert [[x["kernel"] for x in one["launches"]] for one in facts["instances"]] == [
        ["wide"],
        ["narrow"],
    ]
    assert [x["params"] for x in facts["instances"]] == [
        [["x", "const float4*"], ["n", "int"]],
        [["x", "const float*"], ["n", "int"]],
    ]
    assert facts["signature"] == instances.vector.signature
    assert "instances" not in instances.manifest["functions"]["alone"]


# Building


def test_an_instance_that_does_not_compile_is_the_compiler_s_error():
    launch = tc.Launch(kernel="k<T>", **ONE).over(T=["float", "Unknown"])
    source = "template <class T> __global__ void k(T* x) {}"
    with pytest.raises((tc.CompileError, ValueError), match="Unknown"):
        tc.load_inline("unknown", source, functions={"f": launch}, arch="sm_90")
