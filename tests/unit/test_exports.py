"""Which exports are kernels and which are C++ functions."""

import dataclasses

import pytest

from tvmffi_cubin import Cubin, Launch, Parameter
from tvmffi_cubin.cubin import Kernel
from tvmffi_cubin.cxx_type import parse_params
from tvmffi_cubin.demangle import demangle, take_apart
from tvmffi_cubin.export import Export
from tvmffi_cubin.exports import resolve
from tvmffi_cubin.image import Image
from tvmffi_cubin.kernel_signature import KernelSignature


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


def resolved(functions, *, images=(KERNELS,), host=(), has_host=None):
    return resolve(
        functions,
        images,
        host_functions=host,
        has_host=bool(host) if has_host is None else has_host,
    )


def names(exports):
    return [name for name, _ in exports.host], [f.name for f in exports.functions]


def test_by_default_every_kernel_of_the_sources_is_exported():
    assert names(resolved(None)) == ([], ["saxpy", "add"])


def test_by_default_images_that_came_ready_export_nothing():
    images = (KERNELS, image(signature("other"), name="extra"))
    assert names(resolved(None, images=images)) == ([], ["saxpy", "add"])


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


def test_a_launch_under_a_c_function_s_name_is_an_error():
    launches = (Launch(kernel="saxpy"),)
    with pytest.raises(ValueError, match=r"functions\['f'\] is a Launch, and the C\+\+ sources"):
        resolved((Export("f", launches=launches),), host=["f"])


def test_a_launch_may_have_another_name_than_its_kernel():
    exports = resolved((Export("f", launches=(Launch(kernel="ns::add"),)),), host=["g"])
    (function,) = exports.functions
    assert function.launches[0].kernel.kernel.name == "_ZN2ns3addEPf"


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
        resolved(None, images=(image(),))


def test_kernels_of_one_name_have_to_be_told_apart():
    twice = image(signature("_ZN1a3addEPf"), signature("_ZN1b3addEPf"))
    with pytest.raises(ValueError, match=r"2 kernels are called 'add':\n  a::add\(.*\n  b::add\("):
        resolved(None, images=(twice,))


def test_a_kernel_that_two_images_have_is_named_with_both():
    kernel = signature("_Z1kPfi", "float* x, int n")
    opaque = dataclasses.replace(kernel, params=(), problem="declare its parameters")
    images = (image(kernel), image(opaque, name="j"))
    for wanted in ("k", "_Z1kPfi"):
        export = Export("f", launches=(Launch(kernel=wanted),))
        with pytest.raises(ValueError, match=r"k\(float\*, int\) is in 2 images, 'kernels', 'j'"):
            resolved((export,), images=images)


def test_a_module_that_would_export_nothing_is_refused():
    with pytest.raises(ValueError, match="functions is empty, .* leave it out"):
        resolved(())
    assert names(resolved((), has_host=True)) == ([], [])
