"""Launches bound to kernels: what the function takes, what is said of it, what is refused."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tvmffi_cubin import Launch, TensorMap
from tvmffi_cubin.device.image import KernelSignature
from tvmffi_cubin.functions.assembly import quoted
from tvmffi_cubin.functions.exports import bind
from tvmffi_cubin.functions.plan import Plan
from tvmffi_cubin.kernels.cubin import Kernel
from tvmffi_cubin.kernels.types import parse_params

Launches = list[tuple[Launch, KernelSignature]]


def kernel_ref(declaration: str, *, sizes: dict[str, int] | None = None) -> KernelSignature:
    """Return the kernel of a declaration; `sizes` are of parameters whose type does not say it."""
    name, _, inner = declaration.partition("(")
    params = parse_params(inner.removesuffix(")"))
    filled = [x.type.size or (sizes or {})[x.name] for x in params]
    sized = [
        x._replace(type=x.type._replace(size=size)) for x, size in zip(params, filled, strict=True)
    ]
    kernel = Kernel(name, tuple(filled), 16, 0, 0, 1024)
    return KernelSignature(kernel, tuple(sized), 0, is_own=True, image="kernels")


def launched(declaration: str, *, sizes: dict[str, int] | None = None, **options: Any) -> Launches:
    """Return one launch of the kernel of a declaration, in the shape 1, 1."""
    launch = Launch(**({"grid": 1, "block": 1} | options))
    return [(launch, kernel_ref(declaration, sizes=sizes))]


def facts(*instances: Launches) -> dict[str, Any]:
    """Return what a manifest says of the function ``f`` of some instances."""
    plan = Plan({}, "x86_64")
    bind(plan, "f", instances)
    return plan.functions["f"]


def taken(*launches: Launches) -> str:
    """Return what the function of some launches takes."""
    found = facts([x for launch in launches for x in launch])["signature"]
    return found.removeprefix("f(").removesuffix(")")


SAXPY = "saxpy(float a, const float* x, float* y, int n)"


def pointed_at(error: pytest.ExceptionInfo) -> tuple[str, int]:
    """A message, and where its caret stands in the expression."""
    message, _, caret = str(error.value).rsplit("\n", 2)
    return message, len(caret) - 3


# What a function takes


@pytest.mark.parametrize(
    ("launches", "params"),
    [
        ([launched(SAXPY)], "float a, const float* x, float* y, int n"),
        ([launched(SAXPY, args={"n": "x.numel", "a": 2})], "const float* x, float* y"),
        ([launched("tick()")], ""),
        (
            [launched("one(const float* x, float* t, int n)"), launched("two(int m, float* t)")],
            "const float* x, float* t, int n, int m",
        ),
        # What one launch writes and another reads is one parameter; so are two spellings.
        ([launched("one(float* t)"), launched("two(const float* t)")], "float* t"),
        # Of two types the one whose values are the other's too.
        ([launched("one(float* t)"), launched("two(const float4* t)")], "float4* t"),
        ([launched("one(int* t)"), launched("two(void* t)")], "int* t"),
        # Expressions may read what a later launch takes.
        ([launched("one(float* x)", grid="y.numel"), launched("two(float* y)")],
         "float* x, float* y"),
        # What args give, by the names of the kernel.
        ([launched(SAXPY, args={"n": 4, "x": "y"}, grid=("n", "y.numel"))], "float a, float* y"),
    ],
)  # fmt: skip
def test_a_function_takes_what_its_launches_need(launches, params):
    assert taken(*launches) == params


def test_conflicting_types_say_how_to_resolve_it():
    with pytest.raises(ValueError) as error:
        taken(launched("one(int n)"), launched("two(long n)"))
    assert str(error.value) == (
        "function 'f', kernel 'two': 'n' is 'long' here but 'int' before: rename it, or "
        "set its value with args="
    )


# params=


@pytest.mark.parametrize(
    ("params", "text"),
    [
        ("float* x, float n", "params declares 'float n', the kernel takes 'int'"),
        ("float* x, long n", "params declares 'long n', the kernel takes 'int'"),
        ("float* x, int n, Shape s", "params: the size of 'Shape s' is unknown"),
    ],
)
def test_params_that_do_not_fit_the_kernel_are_refused(params, text):
    with pytest.raises(ValueError, match=f"function 'f', kernel 'k': .*{text}"):
        taken(launched("k(float* x, int n)", params=params))


# args=


@pytest.mark.parametrize(
    ("declaration", "value", "error", "text"),
    [
        ("k(int v)", 2**31, ValueError, "2147483648 is out of range for int"),
        ("k(float* v)", 0, TypeError, "expected a constant for 'float*' (8 bytes), got 0"),
        ("k(float* v, int* x)", "x", ValueError, "'x' is not a constant or parameter for 'float*'"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_by_name(declaration, value, error, text):
    with pytest.raises(error) as caught:
        taken(launched(declaration, args={"v": value}, sizes={"v": 4}))
    assert "function 'f', kernel 'k': args['v']: " in str(caught.value)
    assert text in str(caught.value)


@pytest.mark.parametrize(
    ("options", "text", "caret_at"),
    [
        ({"args": {"n": "z.numel"}}, "args['n']: unknown name 'z'; available: a, x, y, n,", 0),
        ({"args": {"n": "n + 1"}}, "'n' depends on itself", 0),
        ({"args": {"n": "x * 2"}}, "'x' is 'const float*'; expressions read integers", 0),
        ({"args": {"a": 1.5}, "grid": "a"}, "'a' is 'float', set by args to 1.5, which ex", 0),
        ({"cluster": 2, "cluster_scheduling_policy": "SPREAD"},
         "policy (default, spread, load_balancing): unknown name 'SPREAD'", 0),
    ],
)  # fmt: skip
def test_what_an_expression_cannot_read_is_pointed_at(options, text, caret_at):
    with pytest.raises(ValueError) as error:
        taken(launched(SAXPY, **options))
    message, at = pointed_at(error)
    assert text in message
    assert message.startswith("function 'f', kernel 'saxpy': ")
    assert at == caret_at


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"args": {"m": 3}}, "args: unknown key 'm'; available: a, x, y, n"),
        ({"equal_to": {"x": 4}}, "equal_to: cannot use 'x'; available: n"),
    ],
)
def test_a_name_of_no_parameter_lists_those_there_are(options, text):
    with pytest.raises(ValueError, match=text):
        taken(launched(SAXPY, **options))


def test_all_launches_of_a_function_go_to_one_place():
    fields = {"params": "int64_t s, int d", "stream": "s + d", "device": "d"}
    assert taken(launched("k()", **fields), launched("k()", **fields)) == "int64_t s, int d"
    for other in ({"stream": "s"}, {"device": 0}, {"stream": None}):
        with pytest.raises(ValueError, match="all launches .* the same stream= and device="):
            taken(launched("k()", **fields), launched("k()", **{**fields, **other}))


# Tensor maps


TILE = TensorMap(box_dim=16)
OF_X = TensorMap("x", box_dim=16)


@pytest.mark.parametrize(
    ("declaration", "options", "message"),
    [
        ("k(float* m)", {"args": {"m": TILE}}, r"requires a CUtensorMap, got 'float\*'"),
        ("k(CUtensorMap m, int n)", {"args": {"m": TensorMap("n", box_dim=16)}},
         "'n' is 'int', not a tensor"),
        ("k(CUtensorMap m, int n)", {"args": {"m": OF_X}, "params": "int n"},
         "callers pass no tensor 'x': declare it"),
        ("k(CUtensorMap m, int n)", {"args": {"m": OF_X}, "params": "float* x: ndim=2, int n"},
         "'x' has rank 1 here but 2 before"),
    ],
)  # fmt: skip
def test_a_map_that_does_not_go_with_its_kernel_is_refused(declaration, options, message):
    with pytest.raises(ValueError, match=message):
        taken(launched(declaration, **options))


# What is said of a function


# The plan's text: what launches do with its tables, tests/build shows


def text_of(machine):
    plan = Plan({}, machine)
    bind(plan, "saxpy", [launched(SAXPY)])
    plan.close()
    return plan.finished()


@pytest.mark.parametrize(
    ("machine", "code"),
    [
        ("x86_64", ["lea T(%rip),%rdi", "jmp tvmffi_cubin_call"]),
        ("aarch64", ["adrp x0,T", "add x0,x0,:lo12:T", "b tvmffi_cubin_call"]),
    ],
)
def test_a_stub_is_the_machine_s_code_and_the_text_is_the_same_everywhere(machine, code):
    text = text_of(machine)
    assert "\n    ".join(["__tvm_ffi_saxpy:", *code]) in text.replace(".Lfunctions+0", "T")
    # Not @progbits: a comment begins with @ on some machines.
    assert '.section .rodata,"a",%progbits' in text
    assert text == text_of(machine)
    assert not re.search(r'"/|/home|/tmp', text)


@given(st.text())
def test_any_text_survives_as_a_string(text):
    literal = quoted(text)
    assert re.fullmatch(r'"(?:[^"\\?]|\\[0-7]{3})*"', literal)
    plain = re.sub(r"\\([0-7]{3})", lambda m: chr(int(m[1], 8)), literal[1:-1])
    assert plain.encode("latin-1") == text.encode()
