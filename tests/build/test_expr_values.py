"""Expressions as the compiled launcher computes them, against Python's own arithmetic."""

import operator
import random

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from stub.cuda_array import cuda_array

import tvmffi_cubin as tc
from tvmffi_cubin.launches.expression import Code, Read, parse

SOURCE = 'extern "C" __global__ void probe(const float* x, long long value) {}'
PARAMS = "const float* x, long a, long b, int c, unsigned d"
INT64 = (-(2**63), 2**63 - 1)
EXPRESSIONS = 60
COMPARISONS = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}

# Each operator and function by itself, and what hypothesis once found.
CHOSEN = [
    *("a + b", "a - b", "a * b", "a // b", "a % b", "-a", "+a", "--a", "a - -1"),
    *("ceil_div(a, b)", "min(a, b)", "max(a, b)", "min(a, b, c, d)", "max(c, b, a)"),
    *("x.numel", "x.shape[0]", "x.shape[-1]", "x.shape[1] * x.stride[1]", "x.stride[-2]"),
    *("a == b", "a < b <= c", "not a", "a and b or not c", "b == 0 or a // b > 1", "a and -b"),
    *("(a + b) * c - d", "a // b * b + a % b", "ceil_div(x.numel, 256) * num_sms"),
    *(
        "9223372036854775807 - a",
        "-9223372036854775807 - a",
        "a // -1",
        "a % -1",
        "ceil_div(a, -1)",
    ),
]


def made_up(rng: random.Random, depth: int) -> str:
    """An expression of the language, all parts of it equally likely."""
    if depth == 0 or rng.random() < 0.15:
        names = ["a", "b", "c", "d", "num_sms", "x.numel", "x.shape[0]", "x.shape[-1]"]
        names += ["x.stride[0]", "x.stride[-1]", "x.shape[1]"]
        literal = str(
            rng.choice([0, 1, 2, 3, 7, 256, 2**31, 2**62, 2**63 - 1, rng.getrandbits(20)])
        )
        return rng.choice([*names, literal])
    part = lambda: made_up(rng, depth - 1)  # noqa: E731
    return rng.choice(
        [
            *(lambda op=op: f"({part()} {op} {part()})" for op in ("+", "-", "*", "//", "%")),
            lambda: f"-{part()}",
            lambda: f"({part()} {rng.choice(list(COMPARISONS))} {part()})",
            lambda: f"({part()} {rng.choice(['and', 'or'])} {part()})",
            lambda: f"(not {part()})",
            lambda: f"ceil_div({part()}, {part()})",
            lambda: f"{rng.choice(['min', 'max'])}({', '.join(part() for _ in range(3))})",
        ]
    )()


ALL = [*CHOSEN, *(made_up(random.Random(seed), 1 + seed % 5) for seed in range(EXPRESSIONS))]


class Undefined(Exception):
    """The expression divides by zero, or some step of it leaves 64 bits."""


def value_of(code: Code, values: dict[str, int]) -> int:
    """The value by Python's integers; every step must fit 64 bits, as the guide says."""
    stack: list[int] = []
    for token in code:
        if isinstance(token, int):
            stack.append(token)
        elif isinstance(token, Read):
            field, dim = token.field, token.dim
            value = values[f"x.{field}" if field and dim is None else field or token.name]
            stack.append(value if dim is None else value[dim])
        elif isinstance(token, tuple):
            op, second = token
            if bool(stack[-1]) == (op == "and"):
                stack[-1] = value_of(second, values)
        elif token == "not":
            stack[-1] = int(not stack[-1])
        else:
            right, left = stack.pop(), stack.pop()
            stack.append(result_of(token, left, right))
    (value,) = stack
    return value


def result_of(op: str, left: int, right: int) -> int:
    if op in COMPARISONS:
        return int(COMPARISONS[op](left, right))
    return checked(
        {
            "+": lambda: left + right,
            "-": lambda: left - right,
            "*": lambda: left * right,
            "//": lambda: left // right,
            "%": lambda: left % right,
            "ceil_div": lambda: -(-left // right),
            "min": lambda: min(left, right),
            "max": lambda: max(left, right),
        }[op]
    )


def checked(step) -> int:
    try:
        value = step()
    except ZeroDivisionError:
        raise Undefined from None
    if not INT64[0] <= value <= INT64[1]:
        raise Undefined
    return value


@pytest.fixture(scope="module")
def probes(_own_environment):
    functions = {
        f"f{index}": tc.Launch(
            kernel="probe", grid=1, block=1, params=PARAMS, args={"value": text}, strided="x"
        )
        for index, text in enumerate(ALL)
    }
    return tc.load_inline("probes", SOURCE, functions=functions, arch="sm_90")


edges = [0, 1, -1, 2, 3, 255, 256, 257, 2**31, 2**32, 2**62, *INT64, INT64[0] + 1]
longs = st.sampled_from(edges) | st.integers(-1000, 1000) | st.integers(*INT64)


@settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    a=longs,
    b=longs,
    c=st.integers(-(2**31), 2**31 - 1),
    d=st.integers(0, 2**32 - 1),
    shape=st.tuples(st.integers(0, 5), st.integers(0, 5)),
    strides=st.tuples(st.integers(0, 9), st.integers(0, 9)),
)
@example(a=INT64[0], b=-1, c=-1, d=0, shape=(3, 4), strides=(4, 1))
@example(a=INT64[1], b=INT64[0], c=-(2**31), d=2**32 - 1, shape=(1, 1), strides=(0, 0))
@example(a=-7, b=2, c=7, d=2, shape=(2, 3), strides=(1, 2))
@example(a=7, b=-2, c=0, d=0, shape=(0, 3), strides=(3, 1))
def test_compiled_expressions_compute_what_python_does(
    a, b, c, d, shape, strides, probes, driver_stub
):
    driver_stub.set_attribute(0, 16, 132)
    x = cuda_array(driver_stub, shape, strides=strides)
    values = {"a": a, "b": b, "c": c, "d": d, "num_sms": 132}
    values |= {"shape": shape, "stride": strides, "x.numel": shape[0] * shape[1]}
    for index, text in enumerate(ALL):
        function = probes[f"f{index}"]
        try:
            wanted = value_of(parse(text), values)
        except Undefined:
            with pytest.raises(ValueError) as error:
                function(x, a, b, c, d)
            assert f"f{index}: the expression '{text}' " in str(error.value)
            assert str(error.value).endswith(("divides by zero", "overflows 64 bits"))
            continue
        driver_stub.reset()
        driver_stub.set_attribute(0, 16, 132)
        function(x, a, b, c, d)
        (launch,) = driver_stub.launches()
        assert (text, launch.values("Pq")[1]) == (text, wanted)


# Into narrower parameters


@pytest.fixture(scope="module")
def narrow(_own_environment):
    types = {"i8": "signed char", "u16": "unsigned short", "u64": "unsigned long", "f16": "__half"}
    source = "#include <cuda_fp16.h>\n" + "".join(
        f'extern "C" __global__ void {name}({text} v) {{}}\n' for name, text in types.items()
    )
    functions = {
        name: tc.Launch(grid=1, block=1, params="long a", args={"v": "a + 1"}) for name in types
    }
    return tc.load_inline("narrow", source, functions=functions, arch="sm_90")


@pytest.mark.parametrize(
    ("name", "code", "low", "high"),
    [
        ("i8", "b", -128, 127),
        ("u16", "H", 0, 65535),
        ("u64", "Q", 0, 2**63 - 1),
        ("f16", "e", -65519, 65519),
    ],
)
def test_a_computed_value_must_fit_its_parameter(name, code, low, high, narrow, driver_stub):
    for value in (low, high):
        driver_stub.reset()
        narrow[name](value - 1)
        (found,) = driver_stub.launches()[0].values(code)
        assert found == (value if code != "e" else float(65504 if value > 0 else -65504))
    for value in (low - 1, high + 1):
        if not INT64[0] <= value <= INT64[1]:
            continue
        with pytest.raises(ValueError, match=rf"{name}: the expression 'a \+ 1' is out of"):
            narrow[name](value - 1)
