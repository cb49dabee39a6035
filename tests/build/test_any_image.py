"""Kernels of images that were made elsewhere: launched without a wrapper."""

import dataclasses
from pathlib import Path

import pytest
from inline_source import SAXPY
from stub.cuda_array import cuda_array

import tvmffi_cubin as tc

PARAMS = "float a, const float* x, float* y, int n"
SHAPE = {"grid": "ceil_div(n, 256)", "block": 256}


@pytest.fixture(scope="module")
def image(_own_environment):
    return tc.nvrtc.nvrtc_compile(SAXPY, arch="sm_90")


def with_signatures(image: bytes, **signatures: str) -> tc.Cubin:
    return tc.Cubin(image, "sm_90", signatures=signatures)


def test_a_launch_that_carries_its_image_is_the_whole_call(here, driver_stub, image):
    Path("axpy.cubin").write_bytes(image)
    launch = tc.Launch(image=Path("axpy.cubin"), params=PARAMS, args={"n": "x.numel"}, **SHAPE)
    mod = tc.load_inline("m", functions={"saxpy": launch})
    x, y = cuda_array(driver_stub, 1000), cuda_array(driver_stub, 1000)
    mod.saxpy(2.0, x, y)
    (done,) = driver_stub.launches()
    assert done.kernel == "saxpy"
    assert done.grid == (4, 1, 1)
    assert done.values("fPPi") == (2.0, x.data_ptr, y.data_ptr, 1000)
    assert [*mod.cubins] == ["axpy"]
    assert bytes(mod.cubins["axpy"]) == image


@pytest.mark.parametrize(
    ("params", "known"), [(PARAMS, "a, x, y, n, num_sms"), (None, "arg0, arg1, arg2, arg3")]
)
def test_names_that_an_image_lacks_are_numbers(image, params, known):
    launch = tc.Launch(params=params, grid="m", block=1)
    with pytest.raises(ValueError, match=f"unknown name 'm'; there are {known}"):
        tc.load_inline("m", functions={"saxpy": launch}, embed_cubin=image)


def test_a_cubin_with_signatures_needs_no_declaration(driver_stub, image):
    cubin = with_signatures(image, saxpy=PARAMS)
    mod = tc.load_inline("m", functions={"f": tc.Launch(kernel="saxpy", image=cubin, **SHAPE)})
    assert mod.f.signature == f"f({PARAMS})"
    x, y = cuda_array(driver_stub, 8), cuda_array(driver_stub, 8)
    mod.f(0.5, x, y, 8)
    assert driver_stub.launches()[0].values("fPPi") == (0.5, x.data_ptr, y.data_ptr, 8)
    with pytest.raises(
        TypeError, match="argument 2 .x: const float..: got the int 1, wanted a tensor"
    ):
        mod.f(0.5, 1, y, 8)


def test_an_instance_in_an_image_beside_sources_is_named_with_it(driver_stub):
    text = "template <typename T> __global__ void wipe(T* x) {}"
    image = tc.nvrtc.compile(text, arch="sm_90", name_expressions=["wipe<float>"]).image
    own = 'extern "C" __global__ void own(int n) {}'
    options = {"cuda_sources": own, "embed_cubin": {"other": image}, "arch": "sm_90"}
    launch = tc.Launch(kernel="wipe<float>", grid=1, block=1)
    with pytest.raises(ValueError, match=r"no instance of the source's .* Launch\(image=\.\.\.\)"):
        tc.load_inline("m", functions={"wipe": launch}, **options)
    launch = dataclasses.replace(launch, image="other")
    mod = tc.load_inline("m", functions={"wipe": launch}, **options)
    assert mod.wipe.signature == "wipe(float* arg0)"


def test_signatures_hold_for_images_that_have_names(driver_stub, image):
    cubin = with_signatures(image, saxpy=PARAMS)
    mod = tc.load_inline("m", embed_cubin={"given": cubin}, functions=["saxpy"])
    x, y = cuda_array(driver_stub, 8), cuda_array(driver_stub, 8)
    mod.saxpy[1, 32](0.5, x, y, 8)
    assert driver_stub.launches()[0].values("fPPi") == (0.5, x.data_ptr, y.data_ptr, 8)


def test_signatures_are_those_of_the_module_s_image_too(image):
    cubin = with_signatures(image, saxpy=PARAMS)
    mod = tc.load_inline("sig", embed_cubin={"given": cubin}, functions={"saxpy": tc.Launch()})
    assert mod.cubins["given"] == cubin


def test_params_name_what_signatures_know_in_any_order(driver_stub, image):
    launch = tc.Launch(
        kernel="saxpy",
        image=with_signatures(image, saxpy=PARAMS),
        params="const float* x, float* y, float a",
        args={"n": "x.numel"},
        **SHAPE,
    )
    mod = tc.load_inline("m", functions={"f": launch})
    x, y = cuda_array(driver_stub, 8), cuda_array(driver_stub, 8)
    mod.f(x, y, 0.5)
    assert driver_stub.launches()[0].values("fPPi") == (0.5, x.data_ptr, y.data_ptr, 8)


@pytest.mark.parametrize(
    ("signatures", "problem"),
    [
        ({"saxpy": "float a"}, "has 4 parameters .bytes: 4, 8, 8, 4., but 1 are declared"),
        ({"saxpy": PARAMS.replace("int n", "int64_t n")}, "which has 8 bytes, but the image's has"),
        (
            {"saxpy": "float a, x"},
            r"Cubin.signatures\['saxpy'\]: in 'x': a declared parameter needs a name",
        ),
        ({"nope": PARAMS}, "has 'nope', which is no kernel of the image; it has: saxpy"),
    ],
)
def test_signatures_that_do_not_fit_the_image_are_refused(image, signatures, problem):
    launch = tc.Launch(kernel="saxpy", image=with_signatures(image, **signatures), **SHAPE)
    with pytest.raises(ValueError, match=rf"the image of functions\['f'\].*{problem}"):
        tc.load_inline("m", functions={"f": launch})


def test_two_images_may_have_one_kernel_symbol(driver_stub, image):
    source = SAXPY.replace("a * x[i]", "a - x[i]")
    functions = {
        "theirs": tc.Launch(kernel="saxpy", image=image, params=PARAMS, **SHAPE),
        "ours": tc.Launch(kernel="saxpy", image="kernels", **SHAPE),
    }
    mod = tc.load_inline("m", source, functions=functions, arch="sm_90")
    x, y = cuda_array(driver_stub, 8), cuda_array(driver_stub, 8)
    mod.theirs(0.5, x, y, 8)
    mod.ours(0.5, x, y, 8)
    assert [x.kernel for x in driver_stub.launches()] == ["saxpy", "saxpy"]
    loads = driver_stub.calls("cuLibraryLoadData")
    assert len(loads) == 2
    both = tc.Launch(kernel="saxpy", params=PARAMS, **SHAPE)
    with pytest.raises(ValueError, match="is in 2 images, 'kernels', 'theirs': say which is meant"):
        tc.load_inline("m", source, functions={**functions, "f": both}, arch="sm_90")


def test_the_occupancy_of_kernels_of_one_symbol_is_told_apart(driver_stub, image):
    source = SAXPY.replace("a * x[i]", "a - x[i]")
    functions = {
        "theirs": tc.Launch(kernel="saxpy", image=image, params=PARAMS, grid=1, block=64),
        "ours": tc.Launch(kernel="saxpy", image="kernels", grid=1, block=128),
    }
    mod = tc.load_inline("m", source, functions=functions, arch="sm_90")
    assert (mod.theirs.occupancy().threads, mod.ours.occupancy().threads) == (64, 128)


def test_what_is_no_image_is_named_with_its_function():
    launch = tc.Launch(image=b"not an image", params="int n", grid=1, block=1)
    with pytest.raises(ValueError, match=r"the image of functions\['k'\]: it is no image"):
        tc.load_inline("m", functions={"k": launch})


def test_an_image_for_another_device_fails_at_the_launch_and_says_for_which(driver_stub, image):
    driver_stub.set_devices(80)
    mod = tc.load_inline("m", embed_cubin={"lib": image})
    with pytest.raises(tc.LaunchError, match="the image lib is for sm_90, device 0 is sm_80"):
        mod.saxpy[1, 1](1.0, None, None, 0)
