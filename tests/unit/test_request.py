"""The arguments of `load_inline`, checked and in one form."""

import os
from pathlib import Path

import pytest

from tvmffi_cubin import Cubin, Dispatch, Launch
from tvmffi_cubin.cache.key import Key
from tvmffi_cubin.device.instances import wanted_instances
from tvmffi_cubin.inline.request import make_request
from tvmffi_cubin.launches.export import Export
from tvmffi_cubin.sources.source import Source

SOURCE = 'extern "C" __global__ void k(int n) {}'


def request(name="m", **options):
    return make_request(name, **({"cuda_sources": SOURCE} | options))


def digest(**options) -> str:
    key = Key("test")
    request(**options).add_to(key)
    return key.hexdigest()


# One form


def test_sources_are_tuples_in_order():
    made = request(cuda_sources=["a", "b"], cpp_sources="c", kernel_sources=iter(["d"]))
    first, second = (Source(text, label=f"cuda_sources[{i}]") for i, text in enumerate("ab"))
    assert made.cuda_sources == (first, second)
    assert made.cpp_sources == (Source("c", label="cpp_sources"),)
    assert made.kernel_sources == (Source("d", label="kernel_sources"),)


def test_one_source_is_the_same_in_a_list():
    assert digest(cuda_sources=[SOURCE]) == digest(cuda_sources=SOURCE)


def test_blank_sources_and_byte_order_marks_are_left_out():
    made = request(cuda_sources=["", "\ufeffa", " \n"], cpp_sources="\t", kernel_sources="b\ufeff")
    assert [(x.text, x.label) for x in made.cuda_sources] == [("a", "cuda_sources[1]")]
    assert made.cpp_sources == ()
    assert [x.text for x in made.kernel_sources] == ["b\ufeff"]


def test_functions_come_as_a_name_a_list_or_a_mapping():
    launch = Launch(grid=1, block=1)
    assert request(functions="k").functions == (Export("k"),)
    assert request(functions=("k", "l")).functions == (Export("k"), Export("l"))
    spec = {"a": "doc", "b": launch, "c": [launch, launch], "d": None, "e": ""}
    assert request(functions=spec).functions == (
        Export("a", "doc"),
        Export("b", instances=((launch,),)),
        Export("c", instances=((launch, launch),)),
        Export("d"),
        Export("e"),
    )
    assert request(functions=[]).functions == ()


def test_a_dispatch_brings_the_launches_of_all_its_instances():
    dispatch = Launch(kernel="k<T>").over(T=["int", "float"])
    made = request(functions={"k": dispatch})
    assert made.functions == (Export("k", instances=dispatch.instances),)
    assert wanted_instances(made) == ("k<int>", "k<float>")


def test_images_are_bytes_however_they_come(tmp_path):
    path = tmp_path / "a.cubin"
    path.write_bytes(b"image")
    given = {
        "a": b"image",
        "b": bytearray(b"image"),
        "c": memoryview(b"image"),
        "d": Cubin(b"image", "sm_90"),
        "e": path,
        "f": str(path),
    }
    images = request(embed_cubin=given).images
    assert {name: image.image for name, image in images.items()} == dict.fromkeys(
        "abcdef", b"image"
    )


def test_one_image_has_its_file_s_name_or_the_module_s(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("lib.cubin", "no-name.cubin"):
        Path(name).write_bytes(name.encode())
    for given, kept in (
        ("lib.cubin", {"lib": b"lib.cubin"}),
        (Path("lib.cubin"), {"lib": b"lib.cubin"}),
        ("no-name.cubin", {"m": b"no-name.cubin"}),
        (b"image", {"m": b"image"}),
        (bytearray(b"image"), {"m": b"image"}),
        (Cubin(b"image", "sm_90"), {"m": b"image"}),
    ):
        made = request(cuda_sources=None, embed_cubin=given)
        assert {name: image.image for name, image in made.images.items()} == kept


def test_ptx_needs_an_architecture_unless_it_is_kept():
    text = b"//\n.version 8.0\n.target sm_80\n.entry k() {}\n"
    for given in ({"embed_cubin": text}, {"functions": {"k": Launch(image=text)}}):
        made = request(cuda_sources=None, **given)
        assert (made.assembles, made.needs_arch) == (True, True)
        made = request(cuda_sources=None, ptx="keep", **given)
        assert (made.assembles, made.needs_arch) == (False, False)
    assert not request(embed_cubin=b"\x7fELF").assembles
    assert digest(embed_cubin=text) != digest(embed_cubin=text, ptx="keep")


CUBIN = Cubin(b"image", "sm_90", signatures={"k": "int n"})


def carried(*images, **options):
    """Return the request of a function for each image: f0, f1, ..."""
    functions = {f"f{i}": Launch(image=image) for i, image in enumerate(images)}
    return request(functions=functions, **options)


def test_an_image_that_a_launch_carries_is_embedded_under_a_name_of_its_own(tmp_path):
    for name in ("one.cubin", "no-name.cubin"):
        (tmp_path / name).write_bytes(name.encode())
    made = carried(b"bytes", tmp_path / "one.cubin", tmp_path / "no-name.cubin", CUBIN, "f0", None)
    assert [export.launches[0].image for export in made.functions] == [
        *("f0", "one", "f2", "f3", "f0", None),
    ]
    assert {name: image.image for name, image in made.images.items()} == {
        "f0": b"bytes",
        "one": b"one.cubin",
        "f2": b"no-name.cubin",
        "f3": b"image",
    }
    assert made.images["f3"].signatures == {"k": "int n"}


def test_equal_images_are_embedded_once():
    made = carried(b"x", bytearray(b"x"), b"y", CUBIN, embed_cubin={"f2": b"y", "given": b"x"})
    assert [export.launches[0].image for export in made.functions] == [
        *("given", "given", "f2", "f3"),
    ]
    # Who names the architecture says nothing new; what is known of the kernels is part of an image.
    assert [*carried(b"image", Cubin(b"image", "sm_90")).images] == ["f0"]
    assert [*carried(b"image", CUBIN).images] == ["f0", "f1"]


def test_a_name_that_is_taken_is_numbered(tmp_path):
    path = tmp_path / "kernels.cubin"
    path.write_bytes(b"p")
    made = carried(b"a", b"b", path, embed_cubin={"f0": b"0", "f1": b"1", "f1_2": b"2"})
    assert [*made.images] == ["f0", "f1", "f1_2", "f0_2", "f1_3", "kernels_2"]


def test_every_instance_of_a_dispatch_has_its_image_embedded():
    dispatch = Dispatch([Launch(image=b"a"), [Launch(image=b"b"), Launch(image="other")]])
    (export,) = request(functions={"f": dispatch}).functions
    assert [[x.image for x in y] for y in export.instances] == [["f"], ["f_2", "other"]]


def test_an_image_that_cannot_be_read_is_named_with_its_function(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"the image of functions\['f0'\]: No such file"):
        carried(tmp_path / "none.cubin")


def test_what_an_image_and_its_launches_are_is_part_of_the_key():
    functions = [{"f": Launch(image=image)} for image in (None, "a", "b", b"a", b"b", CUBIN)]
    bare = Cubin(b"image", "sm_90")
    functions.append({"f": Launch(image=bare)})
    assert len({digest(functions=x) for x in functions}) == len(functions)
    assert digest(functions={"f": Launch(image=b"a")}) == digest(
        functions={"f": Launch(image=bytearray(b"a"))}
    )


def test_an_instance_in_another_image_is_not_asked_of_the_compiler():
    functions = {
        "f": Launch(kernel="fill<float>", image=b"x"),
        "g": Launch(kernel="fill<int>", image="kernels"),
    }
    assert wanted_instances(request(functions=functions)) == ("fill<int>",)


def test_flags_are_kept_without_surrounding_space():
    made = request(extra_cflags=["-O3 ", "", "  -DX"], extra_cuda_cflags=["-lineinfo"])
    assert made.cflags == ("-O3", "-DX")
    assert made.cuda_cflags == ("-lineinfo",)


def test_include_paths_are_absolute(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert request(extra_include_paths="inc").include_paths == (str(tmp_path / "inc"),)
    found = request(extra_include_paths=[Path("a"), "/b", "~/c"]).include_paths
    assert found == (str(tmp_path / "a"), "/b", os.path.expanduser("~/c"))


@pytest.mark.parametrize(
    ("options", "cuda", "arch"),
    [
        ({"cuda_sources": None, "cpp_sources": "int f();"}, False, False),
        ({"cuda_sources": "int f();"}, True, True),
        ({"cuda_sources": "int f();", "embed_cubin": {"a": b"i"}}, True, False),
        ({"cuda_sources": SOURCE}, True, True),
        ({"cuda_sources": None, "kernel_sources": "KERNEL(k)"}, True, True),
        ({"cuda_sources": None, "cpp_sources": "x", "embed_cubin": {"a": b"i"}}, True, False),
    ],
)
def test_what_a_request_needs_of_cuda(options, cuda, arch):
    made = request(**options)
    assert (made.needs_cuda, made.needs_arch) == (cuda, arch)


def test_template_instances_of_images_that_were_given_are_none_of_the_sources():
    launches = [Launch(kernel="fill<int>", image=name) for name in ("a", "kernels", "kernels_2")]
    made = request(functions={"f": launches}, embed_cubin={"a": b"i"})
    assert wanted_instances(made) == ("fill<int>", "fill<int>")


def test_template_instances_that_launches_name_are_asked_for_once():
    launches = [Launch(kernel="fill<float>"), Launch(kernel="plain"), Launch()]
    functions = {"f": launches, "g": "doc", "h": Launch(kernel="fill<float>")}
    made = request(functions=functions, name_expressions=["fill<int>"])
    assert set(wanted_instances(made)) == {"fill<int>", "fill<float>"}
    assert wanted_instances(request()) == ()


# Refusals


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"name": 3}, TypeError, "name is a str, got int"),
        ({"compiler": "clang"}, ValueError, "compiler is 'nvrtc' or 'nvcc', got 'clang'"),
        ({"backend": "hip"}, ValueError, "backend='hip': this package builds for CUDA only"),
        ({"lto": "yes"}, TypeError, "lto is True or False, got 'yes'"),
        ({"name": ""}, ValueError, "name '' cannot be a file's name"),
        ({"name": "a/b"}, ValueError, "name 'a/b' cannot be"),
        ({"name": "-o"}, ValueError, "cannot be a file's name"),
        ({"name": "a" * 300}, ValueError, "at most"),
        ({"cuda_sources": b"x"}, TypeError, "cuda_sources is a str or a sequence of str"),
        ({"cuda_sources": [b"x"]}, TypeError, "cuda_sources holds str, got bytes"),
        (
            {"cuda_sources": "my ops/x.cu"},
            ValueError,
            r"path of a file .*sources=\['my ops/x.cu'\]",
        ),
        ({"cpp_sources": [SOURCE, "x.cpp\n"]}, ValueError, "cpp_sources holds 'x.cpp.n', the path"),
        ({"device_libraries": {"a": b"i"}}, TypeError, "device_libraries is a seq.*, got one dict"),
        ({"device_libraries": "cudadevrt"}, TypeError, "got one str; pass a list"),
        ({"cpp_sources": "a\0b"}, ValueError, "cpp_sources holds a NUL character"),
        ({"functions": {"k": "\udce4"}}, ValueError, r"functions\['k'\] holds '\\udce4'"),
        ({"cuda_sources": None}, ValueError, "there is no source: give cuda_sources"),
        ({"cuda_sources": [" \n"]}, ValueError, "there is no source"),
        ({"ptx": "text"}, ValueError, "ptx is 'assemble' or 'keep', got 'text'"),
        (
            {"name": "a-b", "embed_cubin": b"x"},
            ValueError,
            "the module's name 'a-b' is none that C",
        ),
        ({"extra_cflags": "-O3"}, TypeError, r"extra_cflags is a sequence of flags, .*\['-O3'\]"),
        ({"extra_ldflags": [3]}, TypeError, "extra_ldflags holds str, got int"),
        (
            {"extra_include_paths": 3},
            TypeError,
            "extra_include_paths is a path or a sequence of paths",
        ),
        ({"extra_include_paths": [3]}, TypeError, "extra_include_paths holds paths, got int"),
        ({"embed_cubin": ".version 8\n"}, ValueError, "embed_cubin is text and no path of a file"),
        ({"embed_cubin": 3}, TypeError, "embed_cubin maps names .* or is one image .*, got int"),
        ({"embed_cubin": {"a b": b"x"}}, ValueError, "embed_cubin: 'a b' is not a name that C"),
        ({"embed_cubin": {3: b"x"}}, TypeError, "embed_cubin: a name is a str, got int"),
        ({"embed_cubin": {"a": 3}}, TypeError, r"embed_cubin\['a'\] is bytes, a Cubin or a path"),
        ({"functions": 3}, TypeError, "functions is a name, a sequence of names or a mapping"),
        ({"functions": ["k", "k"]}, ValueError, "functions names 'k' twice"),
        ({"functions": ["k", 3]}, TypeError, "functions: a name is a str, got int"),
        ({"functions": ["a-b"]}, ValueError, "functions: 'a-b' is not a name that C can have"),
        ({"functions": ["é"]}, ValueError, "is not a name that C can have"),
        ({"functions": {"k": []}}, TypeError, r"functions\['k'\] is a docstring, .* got \[\]"),
        ({"functions": {"k": [Launch(), 3]}}, TypeError, r"functions\['k'\] is a docstring"),
        ({"functions": ["_tvmffi_cubin_k"]}, ValueError, "begins as .* own functions do"),
    ],
)
def test_a_wrong_argument_is_refused_by_name(options, error, text):
    with pytest.raises(error, match=text):
        request(**options)


@pytest.mark.parametrize(
    "text", ["// see x.cu", '#include "x.cu"', "int x; // in x.cpp", "K(x).cu", "int a;\nx.cu"]
)
def test_a_line_of_code_is_no_path(text):
    assert request(cuda_sources=text).cuda_sources[0].text == text


def test_a_missing_image_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"embed_cubin\['a'\].*missing\.cubin"):
        request(embed_cubin={"a": tmp_path / "missing.cubin"})


# The key


def test_the_order_of_args_is_not_in_the_key_and_that_of_functions_is():
    one = digest(functions={"k": Launch(args={"a": 1, "b": 2})})
    assert one == digest(functions={"k": Launch(args={"b": 2, "a": 1})})
    assert digest(functions=["k", "l"]) != digest(functions=["l", "k"])


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -0.0, 10**30])
def test_any_constant_has_a_place_in_the_key(value):
    assert digest(functions={"k": Launch(args={"n": value})}) == digest(
        functions={"k": Launch(args={"n": value})}
    )


def test_bytes_that_are_no_unicode_may_be_in_flags_and_folders():
    assert request(extra_cflags=["-I/caf\udce9"]).cflags == ("-I/caf\udce9",)
    assert request(extra_include_paths=["/caf\udce9"]).include_paths == ("/caf\udce9",)


@pytest.mark.parametrize(
    ("options", "reads"),
    [
        ({"cuda_sources": '#include "x.h"'}, True),
        ({"kernel_sources": "const char data[] = {\n#embed <x>\n};"}, True),
        ({"cpp_sources": 'asm(".incbin \\"x\\"");'}, True),
        ({"cpp_sources": "import <x>;"}, True),
        ({"cpp_sources": "// important\nint f();", "cuda_sources": None}, False),
        ({"extra_cflags": ["-w"]}, True),
        ({"extra_ldflags": ["-lx"]}, True),
    ],
)
def test_whether_a_build_may_read_files_of_the_user_s(options, reads):
    assert request(**options).may_read_files == reads
