"""Symbols in the place of arguments: what a Python function makes of them is what it computes."""

import functools
import math
import operator
import os
import random
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tvmffi_cubin import expr
from tvmffi_cubin.triton.facts import Argument, Facts
from tvmffi_cubin.triton.frozen import outside_values
from tvmffi_cubin.triton.grid import grid_figures
from tvmffi_cubin.triton.symbols import NotTraceable, SymbolicInt

OPERATORS = ("+", "-", "*", "//", "%")
OUTSIDE = 5


def texts():
    """Python's text of arithmetic over n and m."""
    leaves = st.sampled_from(["n", "m"]) | st.integers(-9, 9).map(lambda x: f"({x})")
    return st.recursive(
        leaves,
        lambda inner: (
            st.tuples(inner, st.sampled_from(OPERATORS), inner).map(
                lambda x: f"({x[0]} {x[1]} {x[2]})"
            )
            | inner.map(lambda x: f"(-{x})")
        ),
        max_leaves=12,
    )


@given(texts(), st.integers(0, 1000), st.integers(1, 1000))
def test_symbols_write_the_expression_that_python_would_compute(text, n, m):
    try:
        traced = eval(text, {"n": SymbolicInt("n"), "m": SymbolicInt("m")})
        wanted = eval(text, {"n": n, "m": m})
    except ZeroDivisionError:
        return
    written = traced.text if isinstance(traced, SymbolicInt) else str(traced)
    expr.parse(written)
    assert eval(written, {"n": n, "m": m}) == wanted


def facts(*arguments: Argument, num_ctas: int = 1, **constants) -> Facts:
    names = dict.fromkeys([x.name for x in arguments] + [*constants])
    metadata = SimpleNamespace(num_ctas=num_ctas)
    return Facts("k", b"", "k()", tuple(names), arguments, constants, metadata)


N = Argument("n", (0,), "i32")


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("ceil_div(n, B)", "ceil_div(n, 64)"),
        ("B*n+B", "64*n+64"),
        ("n - M", "n - (-3)"),
        ("  n // B ", "  n // 64 "),
        ("B", "64"),
        ("BB + B", "128 + 64"),
        ("n * F", "n * 1"),
    ],
)
def test_constexprs_stand_for_their_values_in_an_expression(text, written):
    known = facts(N, B=64, BB=128, M=-3, F=True)
    assert grid_figures(known, text) == (written,)


def test_an_argument_s_name_stays_where_it_is_also_a_constant():
    one = Argument("s", (1,), "one")
    assert grid_figures(facts(N, one, s=1), "n // s") == ("n // s",)


def test_a_grid_of_clusters_counts_blocks():
    assert grid_figures(facts(N, num_ctas=4), ("n + 1", 3)) == ("(n + 1) * 4", 3)
    assert grid_figures(facts(N, num_ctas=4), 3) == (12,)


def test_outside_values_are_found_wherever_they_are_read():
    inside = [1]

    def helper(x):
        return x + OUTSIDE

    def recursive(x):
        return recursive(x) if x else math.floor(inside[0])

    assert outside_values(lambda meta: meta["n"]) == []
    assert outside_values(lambda meta: math.prod(range(3))) == []
    assert outside_values(lambda meta: OUTSIDE) == ["OUTSIDE"]
    assert outside_values(lambda meta: helper(meta["n"])) == ["OUTSIDE"]
    assert outside_values(recursive) == ["inside"]
    assert outside_values(lambda meta: [OUTSIDE for _ in "x"]) == ["OUTSIDE"]
    assert outside_values(lambda meta, *, by=3: by) == ["by"]
    assert outside_values(lambda meta: meta.OUTSIDE) == []


class Settings:
    SMS = 132

    @staticmethod
    def halved(x):
        return x // 2

    @staticmethod
    def by_sms(x):
        return x // Settings.SMS


def test_attributes_of_modules_and_classes_are_outside():
    of_closure, bound, config = Settings, [].count, SimpleNamespace(SMS=1)
    assert outside_values(lambda meta: Settings.SMS) == ["Settings.SMS"]
    assert outside_values(lambda meta: of_closure.SMS) == ["of_closure.SMS"]
    assert outside_values(lambda meta: config.SMS) == ["config"]
    assert outside_values(lambda meta: getattr(of_closure, "SMS")) == ["of_closure"]  # noqa: B009
    assert outside_values(lambda meta: os.environ["SMS"]) == ["os.environ"]
    assert outside_values(lambda meta: random.randint(1, 2)) == ["random.randint"]
    assert outside_values(lambda meta: bound(1)) == ["bound"]
    assert outside_values(lambda meta: Settings.halved(meta["n"])) == []
    assert outside_values(lambda meta: Settings.by_sms(meta["n"])) == ["Settings.SMS"]
    assert outside_values(lambda meta: functools.reduce(operator.mul, (meta["n"], 2))) == []


def test_what_a_function_imports_is_outside():
    def of_math(meta):
        import math

        return math.prod(meta["n"])

    def of_settings(meta):
        from stub import build

        return build.FLAGS

    assert outside_values(of_math) == []
    assert outside_values(of_settings) == ["stub"]


def test_functions_without_a_module_are_read_too():
    names = {}
    exec("SMS = 5\ndef helper(n):\n    return n // SMS\n", names)
    helper = names["helper"]
    helper.__module__ = None
    assert outside_values(lambda meta: helper(meta["n"])) == ["SMS"]


def test_a_symbol_is_an_int_to_those_who_ask():
    def grid(meta):
        return (meta["n"] if isinstance(meta["n"], int) else 1,)

    assert grid_figures(facts(N), grid) == ("n",)


def test_an_expression_that_doubles_at_each_step_ends_early():
    def grid(meta):
        size = meta["n"]
        for _ in range(200):
            size += size
        return (size,)

    with pytest.raises(TypeError, match="becomes longer than 4000 characters"):
        grid_figures(facts(N), grid)


@pytest.mark.parametrize(
    "use",
    [
        bool,
        int,
        float,
        range,
        hash,
        abs,
        round,
        lambda n: n == 1,
        lambda n: n < 1,
        lambda n: max(n, 1),
        lambda n: n / 1,
        lambda n: n + 1.0,
        lambda n: 2**n,
        lambda n: n & 1,
        lambda n: divmod(n, 2),
        lambda n: [0][n],
        lambda n: n + "1",
    ],
)
def test_what_needs_a_symbol_s_value_is_refused(use):
    with pytest.raises((NotTraceable, TypeError)):
        use(SymbolicInt("n"))
