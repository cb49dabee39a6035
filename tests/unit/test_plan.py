"""The plan of a module as assembly text, and the expressions in it."""

import re
import struct
from dataclasses import replace

import golden_file
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_refs import bound, figure, function, kernel_ref

from tvmffi_cubin import Launch
from tvmffi_cubin.functions.assembly import Layout, image_text, manifest_text, quoted
from tvmffi_cubin.functions.bind import function as made
from tvmffi_cubin.functions.function import GRID, WHEN, Function
from tvmffi_cubin.functions.plan import Plan
from tvmffi_cubin.mixed_table import mixed_table_unit

SAXPY = "saxpy(float a, const float* x, float* y, int n)"


def text_of(*functions, images=("kernels",), machine="x86_64", **more) -> str:
    text = Plan(machine)
    given = [x if isinstance(x, Function) else function(x) for x in functions]
    text.write(given, images, **more)
    return text.finished()


# Golden files: what launches do with each table, tests/build shows


def test_one_kernel_without_a_shape():
    one = function(bound((Launch(), kernel_ref(SAXPY))), "saxpy")
    golden_file.check("one_kernel.s", text_of(one, machine="aarch64"))


def test_every_kind_of_parameter_and_source():
    declaration = (
        "ns::all(const float4* x, void* any, const __half* h, signed char i, unsigned long u, "
        "__half f, __nv_bfloat16 b, bool t, Pair p, float* null, long n, float count)"
    )
    launch = Launch(
        grid=("ceil_div(x.numel, 256)", "num_sms * 2", 1),
        block="min(256, max(x.shape[-1], 32)) + i",
        dynamic_smem_bytes="x.stride[0] * 16 % 1024",
        args={"null": None, "n": "x.shape[0] - -1", "count": "(x.numel + 1) // 2", "b": 1.5},
        params="const float4* x: ndim=2, void* any, const __half* h, int8_t i, unsigned long u, "
        "__half f, bool t, Pair p, long extra",
        strided="any",
    )
    ref = kernel_ref(declaration, sizes={"p": 24}, static_smem_bytes=1024)
    made = function(bound((launch, ref)), "all", "Does\n\tit all.")
    golden_file.check("every_kind.s", text_of(made))


def test_a_function_of_several_instances_beside_one_with_a_condition():
    vector = (Launch(grid="n // 4", block=64, when="n % 4 == 0"), kernel_ref("v(float4* x, int n)"))
    scalar = (Launch(grid="n", block=64, when="x.data_ptr != 0"), kernel_ref("s(float* x, int n)"))
    after = (Launch(grid=1, block=1, when="not (f or n < num_sms)"), kernel_ref("t(bool f)"))
    nothing = (Launch(), kernel_ref("u()"))
    instances = [bound(*launches) for launches in ([vector], [scalar, after], [nothing])]
    functions = (made("f", instances, doc="Any."), function(bound(vector), name="only"))
    golden_file.check("instances.s", text_of(*functions))


def test_an_image_is_embedded():
    facts = {"arches": "sm_80, sm_90a, compute_90", "cuda_version": "12.9"}
    image = image_text("kernels", "kernels.fatbin", 4096, "x86_64", **facts)
    golden_file.check("image.s", image + manifest_text("m.json", "{}"))


def test_stubs_and_device_variables_have_a_table():
    kernels = {"N1KIXadL_Z1kIfEvPT_EEE": "_Z1kIfEvPT_", "N1KIXadL_Z2inEEE": "in"}
    variables = {"ns::limit": "_ZN2ns5limitE", "in": "in"}
    lines = [("vec.cu", 7, 2), ("vec.cu", 30, -1)]
    text = mixed_table_unit("t4g", "kernels", kernels, variables, lines)
    golden_file.check("mixed_table.s", text)


# What golden files would show less well


def test_an_image_beyond_the_reach_of_relocations_lies_apart():
    near = image_text("k", "k.cubin", 1 << 30, "x86_64")
    far = image_text("k", "k.cubin", (1 << 30) + 1, "x86_64")
    assert ".section .lrodata," not in near
    assert ".section .lrodata," in far
    assert ".section .lrodata," not in image_text("k", "k.cubin", 1 << 31, "aarch64")


def test_the_same_input_gives_the_same_text():
    make = lambda: text_of(bound(SAXPY))  # noqa: E731
    assert make() == make()


def test_no_machine_s_path_is_in_the_text():
    assert not re.search(r'"/|/home|/tmp', text_of(bound(SAXPY)))


def test_structs_are_as_c_lays_them_out():
    layout = Layout("B P 8x ? I h")
    assert layout.size == 40
    assert layout.row(1, ".L1", True, 7, -1) == "    .quad 1,.L1,0,30064771073,65535"


# Strings


@given(st.text())
def test_any_text_survives_as_a_string(text):
    literal = quoted(text)
    assert re.fullmatch(r'"(?:[^"\\?]|\\[0-7]{3})*"', literal)
    plain = re.sub(r"\\([0-7]{3})", lambda m: chr(int(m[1], 8)), literal[1:-1])
    assert plain.encode("latin-1") == text.encode()


# Expressions


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("-128 + x.numel", [1, 0x80, 4, 1, 0, 10]),
        ("1000 * n", [2, *struct.pack("<q", 1000), 3, 0, 0, 12]),
        ("ceil_div(n, x.shape[-1]) - x.stride[2]", [3, 0, 0, 5, 1, 0, 255, 15, 6, 1, 0, 2, 11]),
        ("min(n, 2, num_sms)", [3, 0, 0, 1, 2, 16, 8, 16]),
        ("max(n // 2 % 3, max_cooperative_blocks)", [3, 0, 0, 1, 2, 13, 1, 3, 14, 9, 17]),
    ],
)
def test_an_expression_is_postfix(text, code):
    launch = Launch(grid=text, block=1)
    (made,) = bound((launch, kernel_ref("k(int n, float* x)"))).launches
    assert figure(made, GRID).code == bytes([*code, 0])


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("f", [3, 2, 0]),
        ("not n == 1", [3, 0, 0, 1, 1, 18, 24]),
        ("True or n < 2", [1, 1, 26, 6, 0, 3, 0, 0, 1, 2, 20]),
        ("1 <= n > 2", [1, 1, 3, 0, 0, 21, 25, 6, 0, 3, 0, 0, 1, 2, 22]),
        (
            "x.data_ptr != 0 and f and n >= 3",
            [7, 1, 0, 1, 0, 19, 25, 12, 0, 3, 2, 0, 25, 6, 0, 3, 0, 0, 1, 3, 23],
        ),
    ],
)
def test_a_condition_skips_what_is_decided(text, code):
    launch = Launch(grid=1, block=1, when=text)
    (made,) = bound((launch, kernel_ref("k(int n, float* x, bool f)"))).launches
    assert figure(made, WHEN).code == bytes([*code, 0])


def test_an_expression_that_is_nested_too_deeply_is_told():
    deep = "(1 - " * 32 + "n" + ")" * 32
    launch = Launch(grid=deep, block=1)
    with pytest.raises(ValueError, match=r"function 'f', .* needs 33 values at once"):
        bound((launch, kernel_ref("k(int n)")))
    bound((replace(launch, grid=deep[5:-1]), kernel_ref("k(int n)")))
