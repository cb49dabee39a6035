"""The plan of a module as assembly text."""

import re

import golden_file
from hypothesis import given
from hypothesis import strategies as st
from kernel_refs import Launches, kernel_ref, launched

from tvmffi_cubin import Launch
from tvmffi_cubin.functions.assembly import quoted
from tvmffi_cubin.functions.exports import bind
from tvmffi_cubin.functions.plan import Plan

SAXPY = "saxpy(float a, const float* x, float* y, int n)"


def text_of(functions: dict[str, list[Launches]], *, machine: str = "x86_64", doc: str = "") -> str:
    plan = Plan({}, machine)
    for name, instances in functions.items():
        bind(plan, name, instances, doc=doc)
    plan.close()
    return plan.finished()


# Golden files: what launches do with each table, tests/build shows


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
    ref = kernel_ref(declaration, sizes={"p": 24})
    text = text_of({"all": [[(launch, ref)]]}, doc="Does\n\tit all.")
    golden_file.check("every_kind.s", text)


def test_a_function_of_several_instances_beside_one_with_a_condition():
    vector = launched("v(float4* x, int n)", grid="n // 4", block=64, when="n % 4 == 0")
    scalar = launched("s(float* x, int n)", grid="n", block=64, when="x.data_ptr != 0")
    after = launched("t(bool f)", when="not (f or n < num_sms)")
    nothing = launched("u()", grid=None, block=None)
    text = text_of({"f": [vector, scalar + after, nothing], "only": [vector]}, machine="aarch64")
    golden_file.check("instances.s", text)


# What golden files would show less well


def test_the_same_input_gives_the_same_text_without_a_path_of_the_machine():
    text = text_of({"saxpy": [launched(SAXPY)]})
    assert text == text_of({"saxpy": [launched(SAXPY)]})
    assert not re.search(r'"/|/home|/tmp', text)


# Strings


@given(st.text())
def test_any_text_survives_as_a_string(text):
    literal = quoted(text)
    assert re.fullmatch(r'"(?:[^"\\?]|\\[0-7]{3})*"', literal)
    plain = re.sub(r"\\([0-7]{3})", lambda m: chr(int(m[1], 8)), literal[1:-1])
    assert plain.encode("latin-1") == text.encode()
