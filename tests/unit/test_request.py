"""The arguments of `load_inline`, checked and in one form."""

from pathlib import Path

import pytest

from tvmffi_cubin import Cubin, Dispatch, Launch
from tvmffi_cubin.inline.options import make_request

SOURCE = 'extern "C" __global__ void k(int n) {}'
CUBIN = Cubin(b"image", "sm_90", signatures={"k": "int n"})


def request(name="m", **options):
    return make_request(name, **({"cuda_sources": SOURCE} | options))


# One form


def test_images_are_bytes_however_they_come_and_have_a_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("lib.cubin", "no-name.cubin"):
        Path(name).write_bytes(b"image")
    given = {"a": bytearray(b"image"), "b": CUBIN, "c": Path("lib.cubin"), "d": "lib.cubin"}
    images = request(embed_cubin=given).images
    assert {name: image.image for name, image in images.items()} == dict.fromkeys("abcd", b"image")
    for alone, kept in (("lib.cubin", "lib"), ("no-name.cubin", "m"), (b"image", "m")):
        assert [*request(cuda_sources=None, embed_cubin=alone).images] == [kept]


def carried(*images, **options):
    """Return the request of a function for each image: f0, f1, ..."""
    functions = {f"f{i}": Launch(image=image) for i, image in enumerate(images)}
    return request(functions=functions, **options)


def test_an_image_that_a_launch_carries_is_embedded_once_under_a_name_of_its_own(tmp_path):
    (tmp_path / "one.cubin").write_bytes(b"one")
    made = carried(b"x", tmp_path / "one.cubin", CUBIN, b"x", b"given", "f0", None)
    names = [export.launches[0].image for export in made.functions]
    assert names == ["f0", "one", "f2", "f0", "f4", "f0", None]
    assert made.images["f2"].signatures == {"k": "int n"}
    # Names that are taken are numbered, and an image that is there already is used.
    made = carried(b"a", b"b", embed_cubin={"f0": b"0", "given": b"b"})
    assert [export.launches[0].image for export in made.functions] == ["f0_2", "given"]
    dispatch = Dispatch([Launch(image=b"a"), [Launch(image=b"b"), Launch(image="other")]])
    (export,) = request(functions={"f": dispatch}).functions
    assert [[x.image for x in y] for y in export.instances] == [["f"], ["f_2", "other"]]


# Refusals


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"name": 3}, TypeError, "name must be a str, got 3"),
        ({"compiler": "nvcc", "kernel_sources": "int a;"}, ValueError, "_sources is for NVRTC"),
        ({"functions": {"k": [Launch(), 3]}}, TypeError, r"functions\['k'\] must be Launch"),
        ({"name": "a/b"}, ValueError, "name 'a/b' is not a valid file name"),
        ({"compiler": "clang"}, ValueError, "compiler must be 'nvrtc' or 'nvcc' or 'auto', got"),
        ({"cuda_sources": [b"x"]}, TypeError, "cuda_sources must be str or a sequence of str, got"),
        ({"cuda_sources": "my ops/x.cu"}, ValueError, r"a file's path .*sources=\['my ops/x.cu'\]"),
        ({"cuda_sources": [" \n"]}, ValueError, "no source: pass cuda_sources"),
        ({"device_libraries": "cudadevrt"}, TypeError, "device_libraries must be a sequence of"),
        (
            {"embed_cubin": ".version 8\n"},
            ValueError,
            "embed_cubin.* is text, not a file's path",
        ),
        ({"embed_cubin": {"a": 3}}, TypeError, r"embed_cubin\['a'\] must be bytes, a Cubin or a p"),
        ({"embed_cubin": {"a": "no.cubin"}}, FileNotFoundError, r"no\.cubin"),
        (
            {"functions": ["f<int>"]},
            ValueError,
            r"not a valid C identifier; for a kernel: {'k': Launch\(kernel='f<int>",
        ),
        ({"functions": [["k"]]}, TypeError, "functions: a name must be a str, got list"),
        ({"bound_params": ["float* x, int n"]}, ValueError, "expected one parameter, got 2"),
        ({"functions": {"k": Launch(image="no")} | {"f": Launch(image=Path("no"))}}, OSError, "no"),
    ],
)
def test_a_wrong_argument_is_refused_by_name(options, error, text):
    with pytest.raises(error, match=text):
        request(**options)


@pytest.mark.parametrize("text", ["// see x.cu", '#include "x.cu"', "K(x).cu", "int a;\nx.cu"])
def test_a_line_of_code_is_no_path(text):
    assert request(cuda_sources=text).cuda_sources[0].text == text
