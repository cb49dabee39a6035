"""Kernels by their names, and which exports are kernels and which are C++ functions."""

from types import SimpleNamespace

import pytest

from tvmffi_cubin import Cubin, Launch
from tvmffi_cubin.device.image import Image, KernelSignature
from tvmffi_cubin.functions.exports import resolve
from tvmffi_cubin.inline.request import SourceFiles
from tvmffi_cubin.kernels.cubin import Kernel
from tvmffi_cubin.kernels.types import parse_params
from tvmffi_cubin.launches.form import Export
from tvmffi_cubin.sources.sort import Sources


def signature(symbol: str, params: str = "float* x", *, is_own=False) -> KernelSignature:
    parsed = parse_params(params)
    kernel = Kernel(symbol, tuple(p.type.size or 0 for p in parsed), 16, 0, 0, 1024)
    return KernelSignature(kernel, parsed, place=0, is_own=is_own)


def image(*signatures: KernelSignature, name="kernels", problem="", lowered=()) -> Image:
    return Image(name, Cubin(b"", "sm_90", dict(lowered)), signatures, problem)


def resolved(functions, *images, host=()):
    request = SimpleNamespace(functions=functions, bound_params=(), image_files={})
    request.cpp_sources, request.files = host, SourceFiles()
    return resolve(request, Sources(request, (), (), (), (), host), images)


def chosen(launch: Launch | str, *images: Image, function="f", **options) -> str:
    """Return the symbol of the kernel that a launch, or its kernel's name, stands for."""
    launch = Launch(kernel=launch) if isinstance(launch, str) else launch
    _, plan = resolved([Export(function, instances=((launch,),))], *images, **options)
    (kernel,) = plan.kernels
    return kernel.kernel.name


FILL_FLOAT, FILL_DOUBLE = "_ZN2ns4fillIfLi4EEEvPT_i", "_ZN2ns4fillIdLi4EEEvPT_i"
OVER_FLOAT, OVER_LONG = "_Z4overPfi", "_Z4overPll"
ALL = image(
    signature(FILL_FLOAT, "float* x, int n"),
    signature(FILL_DOUBLE, "double* x, int n"),
    signature(OVER_FLOAT, "float* x, int n"),
    signature(OVER_LONG, "long* x, long n"),
    signature("saxpy", "float a, const float* x"),
    lowered={"ns::fill<F, N>": FILL_FLOAT, "ns::fill<double, 4>": FILL_DOUBLE},
)
KERNELS = image(signature("saxpy"), signature("_ZN2ns3addEPf"))
PACKED = image(name="packed", problem="the member for sm_80: it is compressed by zstd")


# Kernels by their names


@pytest.mark.parametrize(
    ("wanted", "symbol"),
    [
        ("saxpy", "saxpy"),
        (OVER_FLOAT, OVER_FLOAT),
        ("ns::fill<double,4>", FILL_DOUBLE),
        ("fill< float,4 >", FILL_FLOAT),
        (Launch(kernel="over", params="float* y, int n"), OVER_FLOAT),
        (Launch(kernel="over", params="void* y, int32_t n"), OVER_FLOAT),
        (Launch(kernel="over", params="void* y, int32_t n, int more"), OVER_FLOAT),
    ],
)
def test_a_name_finds_its_kernel(wanted, symbol):
    assert chosen(wanted, ALL) == symbol


@pytest.mark.parametrize(
    ("launch", "images", "message"),
    [
        ("saxpi", [ALL], "no __global__ function 'saxpi'; available: ns::fill"),
        ("over", [ALL], r"'over' matches 2 kernels:\n  .*\[_Z4overPfi\](.|\n)*"
         r"its image= or its params="),
        ("fill", [image()], "available: none; for a template, name an instance: 'fill<float>'"),
        ("saxpy", [KERNELS, image(signature("saxpy"), name="j")],
         r"'saxpy' matches 2 kernels:(.|\n)*\[saxpy\] in 'kernels'\n.* in 'j'\n.* its image="),
        ("sub", [KERNELS, PACKED], "function 'sub'; .*; image 'packed': the member for sm_80"),
        (Launch(kernel="saxpy", image="tvin"), [KERNELS, image(name="twin")],
         "function 'f': unknown image 'tvin'; available: kernels, twin"),
    ],
)  # fmt: skip
def test_a_name_that_is_no_one_kernel_s_is_refused(launch, images, message):
    with pytest.raises(ValueError, match=message):
        chosen(launch, *images)


def test_a_part_of_a_name_is_for_launches_of_images_that_come_ready():
    assert chosen("sax", KERNELS) == "saxpy"
    # A compiler's numbers are no part of a name unless they are given.
    generated = image(*map(signature, ("main_kernel", "main_kernel_1", "main_kernel_2")))
    assert chosen("main", generated) == "main_kernel"
    assert chosen("kernel_2", generated) == "main_kernel_2"
    assert chosen("fill<float, 4", ALL) == FILL_FLOAT
    with pytest.raises(ValueError, match=r"ns::fill<float, 4>\(float\* x, int n\) \[_ZN"):
        chosen("fill<", ALL)
    with pytest.raises(ValueError, match="no __global__ function 'fill'; .* a template, name"):
        chosen("fill", image(signature("fill_all", is_own=True)))
    with pytest.raises(ValueError, match="function 'sax'; available: ns::add, saxpy"):
        resolved([Export("sax")], KERNELS)


# What is exported


@pytest.mark.parametrize(
    ("functions", "images", "options", "message"),
    [
        ([Export("saxpy")], [KERNELS], {"host": ["saxpy"]}, r"both a kernel and a C\+\+ function"),
        (None, [image()], {}, r'Launch\(kernel="fill<float>"'),
        (None, [image(signature("_ZN1a3addEPf"), signature("_ZN1b3addEPf"))], {},
         r"cannot export .* as 'add'.*:\n  a::add\(.*\n  b::add\("),
        (None, [image(signature("k"), name="a"), image(signature("k"), name="b")], {},
         r"cannot .* as 'k'.*image=.*:\n  k\(.*in 'a'\n  k\(.*in 'b'"),
    ],
)  # fmt: skip
def test_what_cannot_be_exported_is_refused(functions, images, options, message):
    with pytest.raises(ValueError, match=message):
        resolved(functions, *images, **options)
