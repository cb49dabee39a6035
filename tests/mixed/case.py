"""What a mixed source is called with, what comes out, and which launches that takes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

SOURCES = Path(__file__).parent / "sources"

_SEED = 8

Shape = int | tuple[int, ...]


class BFloat16(NamedTuple):
    """A tensor of dtype bfloat16, numpy having none; its values are rounded."""

    values: np.ndarray[Any, Any]


@dataclass(frozen=True)
class Launched:
    """A launch that a call makes."""

    kernel: str  # a part of the kernel's symbol
    grid: Shape  # what is missing is 1
    block: Shape
    smem: int = 0
    # By position: how `struct` has them, and what they are.
    scalars: Mapping[int, tuple[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Call:
    """A call of an exported function."""

    function: str
    args: tuple[Any, ...]  # arrays become tensors on the device, and change there
    # Arguments by position, as they are afterwards; what it returns is at -1.
    expected: Mapping[int, np.ndarray[Any, Any]] = field(default_factory=dict)
    launches: tuple[Launched, ...] = ()  # on the caller's stream
    returns: Any = None  # also where no kernel runs; None is not looked at
    computed: Any = None  # what it returns where kernels run
    raises: tuple[str, str] | None = None  # the exception's type, and a part of its message
    as_nvcc: bool = True
    rtol: float = 1e-5
    atol: float = 1e-6


Calls = Callable[[np.random.Generator], Iterator[Call]]


@dataclass(frozen=True)
class Case:
    """A mixed source, the functions that it exports, and calls of them."""

    name: str
    functions: tuple[str, ...]
    make_calls: Calls
    options: Mapping[str, Any]

    def sources(self) -> str:
        """Return the text."""
        return (SOURCES / f"{self.name}.cu").read_text(encoding="utf-8")

    def calls(self) -> list[Call]:
        """Return the calls, with arrays of their own."""
        return list(self.make_calls(np.random.default_rng(_SEED)))


# All of them, by name.
CASES: dict[str, Case] = {}


def case(*functions: str, **options: Any) -> Callable[[Calls], Calls]:
    """Have the decorated function make the calls of the source that has its name."""

    def keep(make_calls: Calls) -> Calls:
        name = make_calls.__name__
        CASES[name] = Case(name, functions, make_calls, options)
        return make_calls

    return keep


def normal(rng: np.random.Generator, *shape: int, dtype: str = "float32") -> np.ndarray:
    return rng.standard_normal(shape).astype(dtype)


def is_refused(call: Call, function: Callable[..., Any], args: list[Any]) -> bool:
    """Make a call that is to raise, and say whether it is one."""
    if call.raises is None:
        return False
    kind, message = call.raises
    with pytest.raises(Exception, match=re.escape(message)) as caught:
        function(*args)
    assert kind in [each.__name__ for each in caught.type.__mro__]
    return True
