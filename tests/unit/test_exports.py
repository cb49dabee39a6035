"""Which exports are kernels and which are C++ functions."""

import pytest

from tvmffi_cubin import Cubin, Launch, Parameter
from tvmffi_cubin.device.image import Image
from tvmffi_cubin.device.signature import KernelSignature
from tvmffi_cubin.functions.exports import resolve
from tvmffi_cubin.kernels.cubin import Kernel
from tvmffi_cubin.kernels.demangle import demangle, take_apart
from tvmffi_cubin.kernels.types import parse_params
from tvmffi_cubin.launches.export import Export


def signature(symbol: str, params: str = "float* x") -> KernelSignature:
    name = take_apart(demangle(symbol))
    parsed = parse_params(params)
    slots = tuple(Parameter(index, 8 * index, p.type.size or 0) for index, p in enumerate(parsed))
    return KernelSignature(
        symbol=symbol,
        name=name.qualified.rpartition("::")[2],
        qualified=name.qualified,
        display=name.display,
        params=parsed,
        names_known=True,
        line=1,
        kernel=Kernel(symbol, slots, 16, 0, 0, 1024),
    )


def image(*signatures: KernelSignature, name: str = "kernels", problem: str = "") -> Image:
    return Image(name, Cubin(b"", "sm_90"), signatures, problem)


KERNELS = image(signature("saxpy"), signature("_ZN2ns3addEPf"))


def resolved(functions, *, images=(KERNELS,), host=(), has_host=None, sources=()):
    return resolve(
        functions,
        images,
        host_functions=host,
        has_host=bool(host) if has_host is None else has_host,
        device_sources=sources,
    )


def chosen(kernel: str, **others) -> tuple[str, str]:
    """Return image and symbol of the kernel that a Launch names."""
    (function,) = resolved(
        (Export("f", instances=((Launch(kernel=kernel),),)),), **others
    ).functions
    ref = function.launches[0].kernel
    return ref.image, ref.signature.symbol


def names(exports):
    return [name for name, _ in exports.host], [f.name for f in exports.functions]


def test_by_default_every_kernel_of_the_sources_is_exported():
    assert names(resolved(None)) == ([], ["saxpy", "add"])


def test_by_default_images_that_came_ready_export_nothing():
    images = (KERNELS, image(signature("other"), name="extra"))
    assert names(resolved(None, images=images, sources=[""])) == ([], ["saxpy", "add"])


def test_without_sources_every_kernel_of_the_images_is_exported():
    images = (image(signature("_ZN2ns3addEPf"), name="a"), image(signature("k"), name="b"))
    exports = resolved(None, images=images)
    assert names(exports) == ([], ["add", "k"])
    kernels = [f.launches[0].kernel for f in exports.functions]
    assert [(ref.image, ref.signature.symbol) for ref in kernels] == [
        *(("a", "_ZN2ns3addEPf"), ("b", "k")),
    ]


def test_kernels_of_images_that_share_a_name_are_listed():
    images = (image(signature("_Z4fillIfEvPT_"), signature("_Z4fillIdEvPT_"), name="a"),)
    problem = r"2 kernels are called 'fill':\n  fill<float>\(.*in 'a'\n  fill<double>.*\nname each"
    with pytest.raises(ValueError, match=problem):
        resolved(None, images=images)
    images = (image(signature("k"), name="a"), image(signature("k"), name="b"))
    with pytest.raises(ValueError, match=r"called 'k':\n  k\(.*in 'a'\n  k\(.*in 'b'\n.*image="):
        resolved(None, images=images)


def test_a_kernel_s_name_that_c_cannot_have_is_no_function_s():
    images = (image(signature("main.0"), signature("k"), name="a"),)
    with pytest.raises(ValueError, match=r"'main.0' is not a name that C can have"):
        resolved(None, images=images)


def test_images_without_a_kernel_say_so_or_why_none_is_known():
    with pytest.raises(ValueError, match="no kernel is in 'a'"):
        resolved(None, images=(image(name="a"),))
    with pytest.raises(ValueError, match="image 'a': it is compressed"):
        resolved(None, images=(image(name="a", problem="it is compressed"),))


def test_by_default_host_code_exports_itself_alone():
    assert names(resolved(None, host=["f"])) == ([], [])
    assert names(resolved((), host=["f"])) == ([], [])


def test_a_name_is_a_kernel_or_a_function_of_the_sources():
    functions = (Export("f", "doc"), Export("saxpy"), Export("macro_made"))
    exports = resolved(functions, host=["f"])
    assert exports.host == (("f", "doc"), ("macro_made", ""))
    assert [f.name for f in exports.functions] == ["saxpy"]


def test_a_name_on_both_sides_is_an_error():
    with pytest.raises(ValueError, match="'saxpy', which is both a kernel and a C\\+\\+ function"):
        resolved((Export("saxpy"),), host=["saxpy"])


def test_a_launch_may_have_another_name_than_its_kernel():
    exports = resolved((Export("f", instances=((Launch(kernel="ns::add"),),)),), host=["g"])
    (function,) = exports.functions
    assert function.launches[0].kernel.signature.symbol == "_ZN2ns3addEPf"


def test_a_launch_may_give_a_part_of_its_kernel_s_name():
    extra = image(signature("main_kernel"), signature("main_kernel_1"), name="extra")
    assert chosen("main", images=(KERNELS, extra)) == ("extra", "main_kernel")
    assert chosen("ax", images=(KERNELS, extra), host=["g"]) == ("kernels", "saxpy")


def test_a_function_s_own_name_is_a_kernel_s_whole_name():
    for export in (Export("sax"), Export("sax", instances=((Launch(grid=1, block=1),),))):
        with pytest.raises(ValueError, match=r"no kernel 'sax' in the image; did you mean 'saxpy'"):
            resolved((export,))
    added = image(signature("add_rows"))
    assert names(resolved((Export("add"),), images=(added,), host=["g"])) == (["add"], [])


def test_a_template_without_an_instance_is_no_part_of_another_kernel():
    filled = (image(signature("fill_all")),)
    source = "template <class T> __global__ void fill(T* x) {}"
    assert chosen("fill", images=filled) == ("kernels", "fill_all")
    with pytest.raises(
        ValueError, match="no kernel 'fill' in the image: of a template name an instance"
    ):
        chosen("fill", images=filled, sources=["", source])
    assert chosen("fill_a", images=filled, sources=[source]) == ("kernels", "fill_all")


def test_where_an_image_cannot_be_read_a_part_of_a_name_is_none():
    packed = image(name="packed", problem="the member for sm_80: it is compressed by zstd")
    assert chosen("saxpy", images=(KERNELS, packed)) == ("kernels", "saxpy")
    with pytest.raises(ValueError, match="no kernel 'sax' .*; image 'packed': the member for"):
        chosen("sax", images=(KERNELS, packed))


def test_a_part_that_is_in_kernels_of_several_images_lists_them():
    extra = image(signature("saxpby"), name="extra")
    with pytest.raises(ValueError, match="'sax' stands for 2 kernels") as error:
        chosen("sax", images=(KERNELS, extra))
    assert "[saxpby]" in str(error.value)
    twin = image(signature("saxpy"), name="twin")
    with pytest.raises(ValueError, match="kernel saxpy is in 2 images, 'kernels', 'twin'"):
        chosen("sax", images=(KERNELS, twin))


def test_a_name_that_is_nowhere_is_an_error_without_host_code():
    with pytest.raises(ValueError, match="function 'nope': there is no kernel 'nope'"):
        resolved((Export("nope"),))


def test_a_kernel_is_taken_from_the_image_that_has_it():
    extra = image(signature("other"), name="extra")
    exports = resolved((Export("saxpy"), Export("other")), images=(KERNELS, extra))
    assert [f.launches[0].kernel.image for f in exports.functions] == ["kernels", "extra"]


def test_a_name_that_may_be_where_nothing_can_be_read_says_why():
    packed = image(name="packed", problem="the member for sm_80: it is compressed by zstd")
    with pytest.raises(
        ValueError, match="no kernel 'nope'.*; image 'packed': the member for sm_80"
    ):
        resolved((Export("nope"),), images=(KERNELS, packed))


def test_a_docstring_stays_with_its_function():
    assert resolved((Export("saxpy", "Adds."),)).functions[0].doc == "Adds."


def test_sources_without_a_kernel_say_how_templates_are_instantiated():
    with pytest.raises(ValueError, match='Launch\\(kernel="fill<float>"'):
        resolved(None, images=(image(),), sources=[""])


def test_kernels_of_one_name_have_to_be_told_apart():
    twice = image(signature("_ZN1a3addEPf"), signature("_ZN1b3addEPf"))
    with pytest.raises(ValueError, match=r"2 kernels are called 'add':\n  a::add\(.*\n  b::add\("):
        resolved(None, images=(twice,), sources=[""])


def test_a_kernel_that_two_images_have_is_named_with_both():
    kernel = signature("_Z1kPfi", "float* x, int n")
    opaque = kernel._replace(params=(), problem="declare its parameters")
    images = (image(kernel), image(opaque, name="j"))
    for wanted in ("k", "_Z1kPfi"):
        export = Export("f", instances=((Launch(kernel=wanted),),))
        problem = r"kernel k is in 2 images, 'kernels', 'j': .* Launch\(image='kernels'\)"
        with pytest.raises(ValueError, match=problem):
            resolved((export,), images=images)


def test_a_launch_says_which_image_has_its_kernel():
    twin = image(signature("saxpy"), signature("_Z4fillIfEvPT_"), name="twin")
    for name in ("kernels", "twin"):
        (function,) = resolved(
            (Export("saxpy", instances=((Launch(image=name),),)),), images=(KERNELS, twin)
        ).functions
        assert function.launches[0].kernel.image == name


def test_an_image_that_is_not_there_lists_those_that_are():
    twin = image(signature("saxpy"), name="twin")
    export = Export("f", instances=((Launch(kernel="saxpy", image="tvin"),),))
    with pytest.raises(
        ValueError, match="function 'f': there is no image 'tvin'; there are 'kernels', 'twin'"
    ):
        resolved((export,), images=(KERNELS, twin))


def test_a_kernel_that_its_image_does_not_have_is_not_looked_for_in_others():
    twin = image(signature("add"), name="twin")
    export = Export("f", instances=((Launch(kernel="saxpy", image="twin"),),))
    with pytest.raises(ValueError, match="there is no kernel 'saxpy' in the image.*it has: add"):
        resolved((export,), images=(KERNELS, twin))


def test_a_module_that_would_export_nothing_is_refused():
    with pytest.raises(ValueError, match="functions is empty, .* leave it out"):
        resolved(())
    assert names(resolved((), has_host=True)) == ([], [])
