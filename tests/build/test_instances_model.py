"""The compiled "first that fits" against a model of it in Python, over lists made up at random."""

import math
import operator
import random
import struct
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from stub.cuda_array import cuda_array
from test_expr_values import Undefined, value_of

import tvmffi_cubin as tc
from tvmffi_cubin.launches.expression import Op, Read, parse

SOURCE = """
#include <cuda_fp16.h>
template <class T, class N> __global__ void k(T* x, N n) {}
template <class T> __global__ void one(T* x) {}
"""
FUNCTIONS = 40
NUM_SMS = 132
# Name in C++: accepted dtype (None: any), alignment.
POINTEES = {
    "float": ("float32", 4),
    "double": ("float64", 8),
    "__half": ("float16", 2),
    "int": ("int32", 4),
    "float4": ("float32", 16),
    "void": (None, 1),
}
# Name in C++: least and greatest value; None for the other kinds.
NUMBERS = {
    "signed char": (-128, 127),
    "unsigned char": (0, 255),
    "int": (-(2**31), 2**31 - 1),
    "long": (-(2**63), 2**63 - 1),
    "unsigned long": (0, 2**64 - 1),
    "bool": None,
    "float": None,
    "double": None,
}
COMPARE = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def reads_of(tree):
    """Yield the names and fields that an expression reads."""
    if isinstance(tree, Op):
        for part in tree.parts:
            yield from reads_of(part)
    else:
        yield tree


@dataclass(frozen=True)
class Model:
    """One instance: what it takes. `number` is None where it has no second parameter."""

    pointee: str
    number: str | None
    when: str | None
    rank: int | None
    strided: bool

    def launch(self, block: int) -> tc.Launch:
        params = f"{self.pointee}* x"
        if self.rank is not None:
            params += f": ndim={self.rank}"
        kernel = f"one<{self.pointee}>"
        if self.number is not None:
            params += f", {self.number} n"
            kernel = f"k<{self.pointee}, {self.number}>"
        strided = ("x",) if self.strided else ()
        return tc.Launch(
            grid=1,
            block=block,
            kernel=kernel,
            params=params,
            strided=strided,
            when=self.when,
        )

    def fits(self, x, rest) -> bool:
        tree = None if self.when is None else parse(self.when)
        reads = [] if tree is None else [*reads_of(tree)]
        fields = {read.field for read in reads if isinstance(read, Read)} - {"", "data_ptr"}
        n_is_read = any(getattr(read, "name", "") == "n" for read in reads)
        if len(rest) != (self.number is not None):
            return False
        if x is None:
            if fields or self.rank is not None:
                return False
        elif not self.takes_tensor(x, least=1 if fields - {"numel"} else 0):
            return False
        if rest and not takes_number(self.number, rest[0], n_is_read):
            return False
        if tree is None:
            return True
        values = {"num_sms": NUM_SMS, "n": rest[0] if rest else None}
        values["x.data_ptr"] = 0 if x is None else x.data_ptr
        if x is not None:
            values |= {"shape": x.shape, "x.numel": math.prod(x.shape)}
        try:
            return holds(tree, values)
        except Undefined:
            return False

    def takes_tensor(self, x, least) -> bool:
        if not hasattr(x, "data_ptr"):
            return False
        dtype, align = POINTEES[self.pointee]
        contiguous = self.strided or is_contiguous(x)
        return (
            dtype in (None, x.dtype_name)
            and self.rank in (None, len(x.shape))
            and len(x.shape) >= least
            and contiguous
            and (x.data_ptr % align == 0 or 0 in x.shape)
        )


def is_contiguous(x) -> bool:
    expected = 1
    for length, stride in zip(reversed(x.shape), reversed(x.strides), strict=True):
        if length != 1 and stride != expected:
            return 0 in x.shape
        expected *= length
    return True


def takes_number(kind, value, is_read) -> bool:
    if kind == "bool":
        return isinstance(value, bool)
    if kind in ("float", "double"):
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        if isinstance(value, int) and not -(2**63) <= value < 2**63:
            return False
        try:
            struct.pack("<f" if kind == "float" else "<d", float(value))
        except OverflowError:
            return False
        return True
    low, high = NUMBERS[kind]
    return isinstance(value, int) and low <= value <= (min(high, 2**63 - 1) if is_read else high)


def holds(tree, values) -> bool:
    if isinstance(tree, Read):
        return bool(values[tree.name])
    if tree.op not in ("and", "or", "not"):
        return COMPARE[tree.op](*(value_of(part, values) for part in tree.parts))
    # What is decided is not looked at any further, as in Python.
    parts = (holds(part, values) for part in tree.parts)
    return not next(parts) if tree.op == "not" else (all if tree.op == "and" else any)(parts)


def made_up_condition(rng: random.Random, number: str | None, depth: int) -> str:
    """A condition over x and, where it is an integer or a bool, n."""
    part = lambda: made_up_condition(rng, number, depth - 1)  # noqa: E731
    if depth and rng.random() < 0.5:
        return rng.choice(
            [
                lambda: f"({part()} and {part()})",
                lambda: f"({part()} or {part()})",
                lambda: f"not {part()}",
            ]
        )()
    if number == "bool" and rng.random() < 0.5:
        return rng.choice(["n", "not n", "n == 1", "0 == n"])
    operands = ["x.data_ptr % 16", "x.data_ptr % 8 // 4", "0", "1", "2", "4", "num_sms // 32"]
    if rng.random() < 0.6:
        operands += ["x.numel", "x.numel % 4", "x.shape[-1]", "x.shape[0] // 2", "7 // x.numel"]
    if number not in (None, "bool", "float", "double"):
        operands += ["n", "n % 4", "n % 4", "8 // n", "n * n", "n + 1"]
    signs = list(COMPARE)
    text = f"{rng.choice(operands)} {rng.choice(signs)} {rng.choice(operands)}"
    if rng.random() < 0.2:
        text += f" {rng.choice(signs)} {rng.choice(operands)}"
    return text


def made_up(rng: random.Random) -> tuple[Model, ...]:
    """A list of instances. Only the last may lack a condition: it might fit whatever others fit."""
    count = rng.randint(1, 6)
    models = []
    for index in range(count):
        number = rng.choice([None, *NUMBERS, *NUMBERS])
        when = made_up_condition(rng, number, 2)
        if rng.random() < 0.5:
            when = None if index == count - 1 else rng.choice(["num_sms > 0", "x.data_ptr >= 0"])
        rank = rng.choice([None, None, None, 1, 2])
        pointee = rng.choice(list(POINTEES))
        models.append(Model(pointee, number, when, rank, rng.random() < 0.3))
    return tuple(models)


ALL = [made_up(random.Random(seed)) for seed in range(FUNCTIONS)]


@pytest.fixture(scope="module")
def made(_own_environment):
    functions = {
        f"f{index}": tc.Dispatch([model.launch(i + 1) for i, model in enumerate(models)])
        for index, models in enumerate(ALL)
    }
    return tc.load_inline("made_up", SOURCE, functions=functions, arch="sm_90")


shapes = st.sampled_from(
    [
        *(((), ()), ((4,), (1,)), ((3,), (1,)), ((8,), (2,)), ((0,), (1,)), ((1,), (5,))),
        *(((2, 4), (4, 1)), ((2, 4), (1, 2)), ((1, 4), (9, 1)), ((0, 2), (1, 7))),
        ((2, 2, 2), (4, 2, 1)),
    ]
)  # fmt: skip
dtypes = st.sampled_from(["float32", "float64", "float16", "int32", "uint8"])
offsets = st.sampled_from([0, 0, 2, 4, 8, 16])
tensors = st.tuples(shapes, dtypes, offsets)
numbers = (
    st.sampled_from(
        [0, 1, 4, 127, 128, 255, 256, 2**31, 2**63 - 1, 2**63, 2**64 - 1, -1, -129, 1e39]
    )
    | st.integers(-300, 300)
    | st.booleans()
    | st.just(0.5)
    | st.just("text")
)


@settings(
    deadline=None, max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(tensor=tensors | st.none() | st.just("text"), rest=st.lists(numbers, max_size=2))
def test_the_first_that_fits_is_launched_and_no_other(tensor, rest, made, driver_stub):
    x = tensor
    if isinstance(tensor, tuple):
        (shape, strides), dtype, offset = tensor
        x = cuda_array(driver_stub, shape, dtype, strides=strides, address_offset=offset)
        x.dtype_name = dtype
    for index, models in enumerate(ALL):
        expected = next((i for i, model in enumerate(models) if model.fits(x, rest)), None)
        driver_stub.reset()
        driver_stub.set_attribute(0, 16, NUM_SMS)
        if expected is None:
            with pytest.raises((TypeError, ValueError)) as error:
                made[f"f{index}"](x, *rest)
            first, *lines = str(error.value).split("\n")
            if len(models) > 1:
                assert first.startswith(f"f{index}: no instance fits (")
                assert len(lines) == len(models)
            assert all(line.rpartition(": ")[2] for line in lines)
            assert not driver_stub.launches()
            continue
        made[f"f{index}"](x, *rest)
        (launch,) = driver_stub.launches()
        assert (models, launch.block[0] - 1) == (models, expected)


def test_the_lists_that_are_made_up_try_everything(made, driver_stub):
    models = [model for models in ALL for model in models]
    assert {model.pointee for model in models} == set(POINTEES)
    assert {model.number for model in models} == {None, *NUMBERS}
    assert {model.rank for model in models} == {None, 1, 2}
    assert {len(models) for models in ALL} == {1, 2, 3, 4, 5, 6}
    assert sum(model.when is None for model in models) > 5
