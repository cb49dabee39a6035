"""Expressions as the compiled launcher computes them, against Python's own arithmetic."""

import ast
import random
from types import CodeType, SimpleNamespace

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from stub.cuda_array import cuda_array

import tvmffi_cubin as tc

SOURCE = 'extern "C" __global__ void probe(const float* x, long long value) {}'
PARAMS = "const float* x, long a, long b, int c, unsigned d"
INT64 = (-(2**63), 2**63 - 1)
EXPRESSIONS = 60

# Each operator and function by itself, and what hypothesis once found.
CHOSEN = [
    *("a + b", "a - b", "a * b", "a // b", "a % b", "-a", "--a", "a - -1"),
    *("ceil_div(a, b)", "min(a, b, c, d)", "max(c, b, a)", "x.stride[-2]", "num_sms * x.numel"),
    *("a < b <= c", "a and b or not c", "b == 0 or a // b > 1", "a and -b", "a // b * b + a % b"),
    *("9223372036854775807 - a", "a // -1", "a % -1", "ceil_div(a, -1)"),
]


def made_up(rng: random.Random, depth: int) -> str:
    """An expression of the language, all parts of it equally likely."""
    if depth == 0 or rng.random() < 0.15:
        names = ["a", "b", "c", "d", "num_sms", "x.numel", "x.shape[0]", "x.shape[-1]"]
        names += ["x.stride[0]", "x.stride[-1]", "x.shape[1]"]
        literal = rng.choice([0, 1, 2, 3, 7, 256, 2**31, 2**62, 2**63 - 1, rng.getrandbits(20)])
        return rng.choice([*names, str(literal)])
    part = lambda: made_up(rng, depth - 1)  # noqa: E731
    return rng.choice(
        [
            *(lambda op=op: f"({part()} {op} {part()})" for op in ("+", "-", "*", "//", "%")),
            lambda: f"-{part()}",
            lambda: f"({part()} {rng.choice(['==', '!=', '<', '<=', '>', '>='])} {part()})",
            lambda: f"({part()} {rng.choice(['and', 'or'])} {part()})",
            lambda: f"(not {part()})",
            lambda: f"ceil_div({part()}, {part()})",
            lambda: f"{rng.choice(['min', 'max'])}({', '.join(part() for _ in range(3))})",
        ]
    )()


class Checked(ast.NodeTransformer):
    """Has every step of an expression checked: it must fit 64 bits, as the guide says."""

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        if isinstance(node, (ast.BinOp, ast.UnaryOp, ast.Compare, ast.Call)):
            return ast.Call(ast.Name("checked", ast.Load()), [node], [])
        return node


def checked(value: int) -> int:
    if not INT64[0] <= value <= INT64[1]:
        raise OverflowError
    return int(value)


def compiled(text: str) -> CodeType:
    tree = Checked().visit(ast.parse(text, mode="eval"))
    return compile(ast.fix_missing_locations(tree), text, "eval")


FUNCTIONS = {"checked": checked, "min": min, "max": max, "ceil_div": lambda a, b: -(-a // b)}
ALL = [*CHOSEN, *(made_up(random.Random(seed), 1 + seed % 5) for seed in range(EXPRESSIONS))]
CODE = [*map(compiled, ALL)]


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


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
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
    tensor = SimpleNamespace(shape=shape, stride=strides, numel=shape[0] * shape[1])
    values = {"a": a, "b": b, "c": c, "d": d, "num_sms": 132, "x": tensor} | FUNCTIONS
    for index, text in enumerate(ALL):
        function = probes[f"f{index}"]
        try:
            wanted = eval(CODE[index], values)
        except ArithmeticError:
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


RANGES = {"b": ("char", -128, 127), "H": ("unsigned short", 0, 65535), "e": ("half", -65519, 65519)}


def test_a_computed_value_must_fit_its_parameter(driver_stub):
    launch = tc.Launch(grid=1, block=1, params="long a", args={"v": "a + 1"})
    source = "#include <cuda_fp16.h>\n" + "".join(
        f'extern "C" __global__ void {code}({text} v) {{}}\n' for code, (text, *_) in RANGES.items()
    )
    functions = dict.fromkeys(RANGES, launch)
    narrow = tc.load_inline("narrow", source, functions=functions, arch="sm_90")
    for code, (_, low, high) in RANGES.items():
        for value in (low, high):
            narrow[code](value - 1)
            (found,) = driver_stub.launches()[-1].values(code)
            assert found == (max(-65504, min(value, 65504)) if code == "e" else value)
        for value in (low - 1, high + 1):
            with pytest.raises(ValueError, match=rf"{code}: the expression 'a \+ 1' is out of"):
                narrow[code](value - 1)
