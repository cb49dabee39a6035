"""Images made elsewhere, as files and as arguments: cubins, fatbins and PTX, without a wrapper."""

import functools
import re
from pathlib import Path

import pytest
from file_kit import SCALE, write
from inline_source import SAXPY
from stub.cuda_array import cuda_array
from wrapper_sources import DRIVER, KERNELS

import tvmffi_cubin as tc
from tvmffi_cubin.cuda import libraries

PARAMS = "float a, const float* x, float* y, int n"
SHAPE = {"grid": "ceil_div(n, 256)", "block": 256}


@pytest.fixture(scope="module")
def image(_own_environment):
    return tc.nvrtc.nvrtc_compile(KERNELS, arch="sm_90")


@pytest.fixture(scope="module")
def saxpy(_own_environment):
    return tc.nvrtc.nvrtc_compile(SAXPY, arch="sm_90")


def arrays(driver_stub, count=8):
    return cuda_array(driver_stub, count), cuda_array(driver_stub, count)


def test_an_image_s_kernels_are_launched_by_declared_parameters(here, driver_stub, image):
    Path("lib.cubin").write_bytes(image)
    params = "const float* x, float* y, int64_t n"
    launch = tc.Launch(grid=1, block=32, params=params, args={"n": "x.numel"})
    mod = tc.load("cubin", sources="lib.cubin", functions={"add_one": launch})
    x, y = arrays(driver_stub)
    mod.add_one(x, y)
    assert driver_stub.launches()[0].values("PPq") == (x.data_ptr, y.data_ptr, 8)
    short = tc.Launch(kernel="add_one", params="")
    with pytest.raises(ValueError, match="the kernel takes .8 bytes arg0, 8 bytes"):
        tc.load("cubin", sources="lib.cubin", functions={"add_one": short})


def test_images_alone_export_every_kernel(here, image):
    Path("lib.cubin").write_bytes(image)
    write_ptx("more.ptx")
    mod = tc.load("alone", sources=["lib.cubin", "more.ptx"], arch="sm_90")
    assert {"add_one", "scale"} < {*mod.functions}


def test_a_wrapper_embeds_an_image_by_its_file_s_name(here, driver_stub, image):
    Path("kernels.cubin").write_bytes(image)
    write("wrapper.cc", DRIVER)
    mod = tc.load("embedded", sources=["wrapper.cc", "kernels.cubin"], arch="sm_90")
    mod.add_one(*arrays(driver_stub))
    assert len(driver_stub.launches()) == 1
    with pytest.raises(ValueError, match=r"'kernels'\] and the file .* share a name"):
        tc.load("two", sources=["wrapper.cc", "kernels.cubin"], embed_cubin={"kernels": image})


def test_a_cubin_with_signatures_needs_no_declaration(driver_stub, saxpy):
    cubin = tc.Cubin(saxpy, "sm_90", signatures={"saxpy": PARAMS})
    turned = {"params": "const float* x, float* y, float a", "args": {"n": "x.numel"}}
    functions = {
        "f": tc.Launch(kernel="saxpy", image=cubin, **SHAPE),
        # By a part of its name, in another order, and with fewer.
        "g": tc.Launch(kernel="sax", image=cubin, **turned, **SHAPE),
    }
    mod = tc.load_inline("m", functions=functions)
    assert mod.f.signature == f"f({PARAMS})"
    assert mod.cubins["f"] == cubin
    x, y = arrays(driver_stub)
    mod.f(0.5, x, y, 8)
    mod.g(x, y, 0.5)
    for launch in driver_stub.launches():
        assert launch.values("fPPi") == (0.5, x.data_ptr, y.data_ptr, 8)
    with pytest.raises(TypeError, match="argument 2 .x: const float..: got the int 1, expected a"):
        mod.f(0.5, 1, y, 8)


def test_signatures_that_do_not_fit_the_image_are_refused(saxpy):
    for signatures, problem in (
        (
            {"saxpy": "float a"},
            "declares .float a., the kernel takes .4 bytes arg0, 8 bytes arg1, 8",
        ),
        ({"nope": PARAMS}, "names 'nope', not a kernel of the image"),
    ):
        image = tc.Cubin(saxpy, "sm_90", signatures=signatures)
        with pytest.raises(ValueError, match=rf"the image of functions\['f'\].*{problem}"):
            tc.load_inline("m", functions={"f": tc.Launch(kernel="saxpy", image=image, **SHAPE)})


def test_two_images_may_have_one_kernel_symbol(driver_stub, saxpy):
    source = SAXPY.replace("a * x[i]", "a - x[i]")
    functions = {
        "theirs": tc.Launch(kernel="saxpy", image=saxpy, params=PARAMS, grid=1, block=64),
        "ours": tc.Launch(kernel="saxpy", image="kernels", grid=1, block=128),
    }
    mod = tc.load_inline("m", source, functions=functions, arch="sm_90")
    x, y = arrays(driver_stub)
    mod.theirs(0.5, x, y, 8)
    mod.ours(0.5, x, y, 8)
    assert [x.kernel for x in driver_stub.launches()] == ["saxpy", "saxpy"]
    assert len(driver_stub.calls("cuLibraryLoadData")) == 2
    both = tc.Launch(kernel="saxpy", params=PARAMS, **SHAPE)
    named = "(?s)matches 2 kernels:.* in 'kernels'\n.* in 'theirs'\n"
    with pytest.raises(ValueError, match=named):
        tc.load_inline("m", source, functions={**functions, "f": both}, arch="sm_90")


def test_what_is_no_image_is_named(here):
    path = write("lib.cubin", "text")
    with pytest.raises(ValueError, match=re.escape(str(path))):
        tc.load("none", sources="lib.cubin", functions=["k"])
    launch = tc.Launch(image=b"not an image", params="int n", grid=1, block=1)
    with pytest.raises(ValueError, match=r"the image of functions\['k'\]: not an image"):
        tc.load_inline("m", functions={"k": launch})


def write_ptx(path, source=SCALE, arch="compute_80"):
    Path(path).write_bytes(tc.nvrtc.compile(source, arch=arch, target_type="ptx").image)


@pytest.mark.parametrize(
    ("options", "archs"),
    [
        ({"arch": ["sm_80", "sm_90", "compute_80"]}, ("sm_80", "sm_90", "compute_80")),
        ({}, ("sm_90a",)),  # the current device's
        # It stays text.
        ({"arch": "compute_80"}, ("compute_80",)),
        ({"arch": "sm_90", "ptx": "keep"}, ("compute_80",)),
    ],
)
def test_ptx_is_assembled_for_the_architectures_unless_it_is_to_be_kept(
    here, driver_stub, options, archs
):
    write_ptx("lib.ptx")
    mod = tc.load("ptx", sources="lib.ptx", **options)
    assert mod.cubins["lib"].archs == archs
    x = cuda_array(driver_stub, 8)
    mod.scale[1, 32](x, 2.0, 8)
    assert driver_stub.launches()[0].values("Pfi") == (x.data_ptr, 2.0, 8)


def test_ptx_is_known_by_its_content_and_without_a_gpu_for_its_own_and_newer_ones(monkeypatch):
    text = tc.nvrtc.compile(SCALE, arch="compute_80", target_type="ptx")
    for given in (text, {"lib": text.image}):
        mod = tc.load_inline("by_content", embed_cubin=given, arch="sm_90")
        assert [(x.kind, x.arch) for x in mod.cubins.values()] == [("cubin", "sm_90")]
    monkeypatch.setenv("TVMFFI_CUBIN_DRIVER", "/no/such/driver.so")
    mod = tc.load_inline("no_gpu", embed_cubin={"lib": text.image})
    assert mod.cubins["lib"].archs == ("sm_80", "compute_80")


def test_ptx_that_is_wrong_is_named(here):
    nonsense = ".version 8.0\n.target sm_80\n.address_size 64\nnonsense\n"
    write("broken.ptx", nonsense)
    write_ptx("newer.ptx", arch="compute_90")
    for arch in ("sm_90", "compute_80"):
        with pytest.raises(tc.CompileError, match=r"broken\.ptx"):
            tc.load("broken", sources="broken.ptx", functions=["k"], arch=arch)
    with pytest.raises(ValueError, match=r"newer\.ptx is for compute_90 and .* for sm_80"):
        tc.load("newer", sources="newer.ptx", functions=["scale"], arch="sm_80")


def test_without_nvjitlink_ptx_names_what_to_install_and_may_be_kept(
    here, driver_stub, monkeypatch
):
    write_ptx("lib.ptx")
    cuda = libraries.find_cuda()
    parts = {part: path for part, path in cuda.parts.items() if part != "nvjitlink"}
    cuda = cuda._replace(parts=parts)
    monkeypatch.setattr(libraries, "_find", functools.cache(lambda *_: cuda))
    with pytest.raises(tc.ToolchainError, match="pip install nvidia-nvjitlink"):
        tc.load("none", sources="lib.ptx", arch="sm_90")
    assert tc.load("none", sources="lib.ptx", ptx="keep").functions == ("scale",)
