"""What functions of several instances say: why none fits, and what there is."""

import inspect

import pytest
from stub.cuda_array import cuda_array


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
    assert repr(scale) == f"<tvmffi_cubin.Function {scale.signature}>"
    assert list(inspect.signature(scale).parameters) == ["x", "y", "by", "n"]
    assert str(inspect.signature(instances.counts)) == "(*args) -> None"
    assert "scale" in instances.functions
