"""`load` of files that are images: cubins, fatbins and PTX."""

import re
from pathlib import Path

import pytest
from file_kit import ADD, SCALE, write
from stub.cuda_array import cuda_array
from wrapper_sources import DRIVER, KERNELS

import tvmffi_cubin as tc
from tvmffi_cubin.cuda import libraries

# Images


@pytest.fixture
def image():
    return tc.nvrtc.nvrtc_compile(KERNELS, arch="sm_90")


def test_a_cubin_s_kernels_are_launched_by_declared_parameters(here, driver_stub, image):
    Path("lib.cubin").write_bytes(image)
    launch = tc.Launch(
        grid=1, block=32, params="const float* x, float* y, int64_t n", args={"n": "x.numel"}
    )
    mod = tc.load("cubin", sources="lib.cubin", functions={"add_one": launch})
    x, y = cuda_array(driver_stub, 8), cuda_array(driver_stub, 8)
    mod.add_one(x, y)
    assert driver_stub.launches()[0].values("PPq") == (x.data_ptr, y.data_ptr, 8)


def test_parameters_that_a_kernel_does_not_have_need_no_declaration(here, driver_stub):
    source = "__device__ int done; __global__ void mark() { done = 1; }"
    for suffix, arch in (("cubin", "sm_90"), ("fatbin", ["sm_80", "sm_90"]), ("ptx", "compute_80")):
        Path(f"lib.{suffix}").write_bytes(tc.nvrtc.nvrtc_compile(source, arch=arch))
        functions = {
            "bare": tc.Launch(grid=1, block=1, kernel="mark"),
            "declared": tc.Launch(grid=1, block=1, kernel="mark", params=""),
            "shaped": tc.Launch(grid="n", block=1, kernel="mark", params="int n"),
        }
        mod = tc.load("bare", sources=f"lib.{suffix}", functions=functions, arch="sm_90")
        mod.bare()
        mod.declared()
        mod.shaped(3)
        assert [x.grid for x in driver_stub.launches()] == [(1, 1, 1), (1, 1, 1), (3, 1, 1)]
        driver_stub.reset()


def test_as_many_parameters_are_declared_as_a_kernel_has(here, image):
    Path("lib.cubin").write_bytes(image)
    launch = tc.Launch(kernel="add_one", params="")
    with pytest.raises(ValueError, match="the image has 3 parameters"):
        tc.load("cubin", sources="lib.cubin", functions={"add_one": launch})


def test_a_fatbin_s_kernels_are_launched(here, driver_stub):
    fatbin = tc.nvrtc.compile(SCALE, arch=["sm_80", "sm_90"])
    Path("lib.fatbin").write_bytes(fatbin.image)
    launch = tc.Launch(grid=1, block=1, params="float* x, float by, int n")
    mod = tc.load("fatbin", sources="lib.fatbin", functions={"scale": launch})
    mod.scale(cuda_array(driver_stub, 4), 2.0, 4)
    assert len(driver_stub.launches()) == 1


@pytest.mark.parametrize("suffix", [".cubin", ".fatbin"])
def test_a_wrapper_embeds_an_image_by_its_file_s_name(here, driver_stub, image, suffix):
    Path(f"kernels{suffix}").write_bytes(image)
    write("wrapper.cc", DRIVER)
    mod = tc.load("embedded", sources=["wrapper.cc", f"kernels{suffix}"])
    mod.add_one(cuda_array(driver_stub, 8), cuda_array(driver_stub, 8))
    assert len(driver_stub.launches()) == 1


def test_an_image_s_file_must_have_a_name_that_c_can_have(here, image):
    Path("add-one.cubin").write_bytes(image)
    with pytest.raises(ValueError, match=r"'add-one' is not a name that C can have.*embed_cubin="):
        tc.load("name", sources="add-one.cubin", functions=["add_one"])
    launch = tc.Launch(grid=1, block=1, params="const float* x, float* y, int64_t n")
    mod = tc.load(
        "name", sources=[write("add.cc", ADD)], embed_cubin={"add_one": "add-one.cubin"},
        functions={"one": tc.Launch(kernel="add_one", params=launch.params)},
    )  # fmt: skip
    assert mod.functions == ("one",)


def test_images_of_one_name_are_refused(here, image):
    for folder in ("a", "b"):
        (here / folder).mkdir()
        (here / folder / "lib.cubin").write_bytes(image)
    with pytest.raises(ValueError, match=r"a/lib\.cubin and .*b/lib\.cubin would both be embedded"):
        tc.load("twice", sources=["a/lib.cubin", "b/lib.cubin"], functions=["add_one"])
    with pytest.raises(ValueError, match=r"embed_cubin\['lib'\] and the file .*a/lib\.cubin"):
        tc.load("twice", sources="a/lib.cubin", embed_cubin={"lib": image}, functions=["add_one"])


def test_a_kernel_of_two_images_is_named_with_both(here, image):
    for name in ("a", "b"):
        Path(f"{name}.cubin").write_bytes(image)
    with pytest.raises(ValueError, match="add_one is in 2 images, 'a', 'b': say which"):
        tc.load("twins", sources=["a.cubin", "b.cubin"], functions=["add_one"])


def test_an_image_called_as_that_of_the_kernels_is_refused(here, image):
    Path("kernels.cubin").write_bytes(image)
    write("scale.cu", SCALE)
    with pytest.raises(ValueError, match=r"kernels\.cubin is an image called 'kernels'"):
        tc.load("kernels", sources=["kernels.cubin", "scale.cu"], arch="sm_90")


def test_images_alone_export_every_kernel(here, driver_stub, image):
    Path("lib.cubin").write_bytes(image)
    write_ptx("more.ptx")
    mod = tc.load("alone", sources=["lib.cubin", "more.ptx"], arch="sm_90")
    assert {"add_one", "scale"} < {*mod.functions}
    x = cuda_array(driver_stub, 8)
    mod.add_one[1, 8](x, x, 8)
    mod.scale[1, 8](x, 2.0, 8)
    assert driver_stub.launches()[0].values("PPq") == (x.data_ptr, x.data_ptr, 8)
    assert driver_stub.launches()[1].values("Pfi") == (x.data_ptr, 2.0, 8)


def test_a_file_that_is_no_image_is_named(here):
    path = write("lib.cubin", "text")
    with pytest.raises(ValueError, match="is no image|it is |corrupt") as caught:
        tc.load("none", sources="lib.cubin", functions=["k"])
    assert str(path) in str(caught.value)


# PTX


def write_ptx(path, source=SCALE, arch="compute_80"):
    Path(path).write_bytes(tc.nvrtc.compile(source, arch=arch, target_type="ptx").image)


def test_ptx_is_assembled_for_the_architecture(here, driver_stub):
    write_ptx("lib.ptx")
    launch = tc.Launch(grid=1, block=32, params="float* x, float by, int n", args={"n": "x.numel"})
    mod = tc.load("ptx", sources="lib.ptx", functions={"scale": launch}, arch="sm_90")
    assert mod.cubins["lib"].arch == "sm_90"
    assert mod.cubins["lib"].image.startswith(b"\x7fELF")
    x = cuda_array(driver_stub, 8)
    mod.scale(x, 2.0)
    assert driver_stub.launches()[0].values("Pfi") == (x.data_ptr, 2.0, 8)


def test_a_wrapper_embeds_ptx_by_its_file_s_name(here, driver_stub):
    write_ptx("kernels.ptx", KERNELS)
    write("wrapper.cc", DRIVER)
    mod = tc.load("ptx_wrapper", sources=["kernels.ptx", "wrapper.cc"], arch="sm_90")
    mod.add_one(cuda_array(driver_stub, 8), cuda_array(driver_stub, 8))
    assert len(driver_stub.launches()) == 1


def test_ptx_is_assembled_for_several_architectures(here, driver_stub):
    write_ptx("lib.ptx")
    launch = tc.Launch(grid=1, block=1, params="float* x, float by, int n")
    archs = ["sm_80", "sm_90", "compute_80"]
    mod = tc.load("ptx_archs", sources="lib.ptx", functions={"scale": launch}, arch=archs)
    assert mod.cubins["lib"].archs == ("sm_80", "sm_90", "compute_80")
    mod.scale(cuda_array(driver_stub, 4), 2.0, 4)
    assert len(driver_stub.launches()) == 1


def test_ptx_stays_text_where_ptx_is_asked_for(here, driver_stub):
    write_ptx("lib.ptx")
    launch = tc.Launch(grid=1, block=1, params="float* x, float by, int n")
    options = {"sources": "lib.ptx", "functions": {"scale": launch}, "arch": "compute_80"}
    assert tc.load("ptx_text", **options).cubins["lib"].kind == "ptx"
    text = Path("lib.ptx").read_text()
    write("lib.ptx", text.replace(".target sm_80", ".target sm_90a").rstrip("\0"))
    with pytest.raises(ValueError, match=r"lib\.ptx is for sm_90a alone, and PTX is wanted"):
        tc.load("ptx_text", **options)


def test_ptx_for_a_newer_architecture_is_named(here):
    write_ptx("lib.ptx", arch="compute_90")
    with pytest.raises(ValueError, match=r"lib\.ptx is for compute_90 and .* for sm_80"):
        tc.load("newer", sources="lib.ptx", functions=["scale"], arch="sm_80")


def test_ptx_that_is_wrong_is_named(here):
    write("broken.ptx", ".version 8.0\n.target sm_80\n.address_size 64\nnonsense\n")
    with pytest.raises(tc.CompileError, match=r"broken\.ptx"):
        tc.load("broken", sources="broken.ptx", functions=["k"], arch="sm_90")
    with pytest.raises(tc.CompileError, match=r"broken\.ptx"):
        tc.load("broken", sources="broken.ptx", functions=["k"], arch="compute_80")
    with pytest.raises(ValueError, match="no kernel 'k' in the image"):
        tc.load("broken", sources="broken.ptx", functions=["k"], ptx="keep")
    write("text.ptx", "text")
    with pytest.raises(ValueError, match=r"text\.ptx: it is no image: it begins with"):
        tc.load("text", sources="text.ptx", functions=["k"], arch="sm_90")


def test_without_an_architecture_and_a_gpu_ptx_is_for_its_own_and_newer_ones(here, monkeypatch):
    monkeypatch.setenv("TVMFFI_CUBIN_DRIVER", str(here / "none.so"))
    write_ptx("lib.ptx")
    assert tc.load("no_gpu", sources="lib.ptx").cubins["lib"].archs == ("sm_80", "compute_80")
    # What has features of one architecture alone is for that one.
    text = Path("lib.ptx").read_text().replace(".target sm_80", ".target sm_90a").rstrip("\0")
    write("lib.ptx", text)
    assert tc.load("no_gpu", sources="lib.ptx").cubins["lib"].archs == ("sm_90a",)


def test_without_an_architecture_ptx_is_assembled_for_the_current_device(here, driver_stub):
    write_ptx("lib.ptx")
    assert tc.load("here", sources="lib.ptx").cubins["lib"].archs == ("sm_90a",)


def test_ptx_is_kept_for_the_driver_where_that_is_asked_for(here, driver_stub):
    write_ptx("lib.ptx")
    mod = tc.load("kept", sources="lib.ptx", ptx="keep", arch="sm_90")
    assert mod.cubins["lib"].kind == "ptx"
    mod.scale[1, 1](cuda_array(driver_stub, 4), 2.0, 4)
    assert len(driver_stub.launches()) == 1


def test_ptx_is_embedded_by_its_content_whatever_it_is_called(driver_stub):
    text = tc.nvrtc.compile(SCALE, arch="compute_80", target_type="ptx")
    for given in (text, text.image, {"lib": text.image}):
        mod = tc.load_inline("by_content", embed_cubin=given, arch="sm_90")
        (cubin,) = mod.cubins.values()
        assert (cubin.kind, cubin.arch) == ("cubin", "sm_90")
        mod = tc.load_inline("by_content", embed_cubin=given, ptx="keep")
        assert [x.kind for x in mod.cubins.values()] == ["ptx"]
    launch = tc.Launch(image=text, grid=1, block=1)
    mod = tc.load_inline("by_content", functions={"scale": launch}, arch=["sm_80", "sm_90"])
    assert mod.cubins["scale"].archs == ("sm_80", "sm_90")
    mod.scale(cuda_array(driver_stub, 4), 2.0, 4)
    assert len(driver_stub.launches()) == 1


def test_ptx_that_is_wrong_is_named_by_its_argument():
    text = b".version 8.0\n.target sm_80\n.address_size 64\nnonsense\n"
    with pytest.raises(tc.CompileError, match=r"embed_cubin\['lib'\].* cannot be linked"):
        tc.load_inline("broken", embed_cubin={"lib": text}, arch="sm_90")
    launch = tc.Launch(image=text, grid=1, block=1)
    with pytest.raises(tc.CompileError, match=r"the image of functions\['k'\]"):
        tc.load_inline("broken", functions={"k": launch}, arch="sm_90")


def test_without_nvjitlink_ptx_names_what_to_install_and_how_to_do_without(
    here, driver_stub, monkeypatch
):
    write_ptx("lib.ptx")
    cuda = libraries.find_cuda()
    parts = {part: path for part, path in cuda.parts.items() if part != "nvjitlink"}
    cuda = cuda._replace(parts=parts)
    monkeypatch.setattr(libraries, "_find", lambda *_: cuda)
    with pytest.raises(tc.ToolchainError) as error:
        tc.load("none", sources="lib.ptx", arch="sm_90")
    for text in ("pip install nvidia-nvjitlink", 'give ptx="keep"'):
        assert text in str(error.value)
    assert tc.load("none", sources="lib.ptx", ptx="keep").functions == ("scale",)


def test_ptx_of_a_newer_compiler_says_what_reads_it():
    text = tc.nvrtc.compile(SCALE, arch="compute_80", target_type="ptx").image
    newer = re.sub(rb"\.version \d+\.\d+", b".version 99.0", text)
    with pytest.raises(tc.CompileError, match="Unsupported .version 99.0") as error:
        tc.load_inline("newer", embed_cubin=newer, arch="sm_90")
    for text in ("pip install --upgrade nvidia-nvjitlink", "cu13", 'ptx="keep"'):
        assert text in str(error.value)
