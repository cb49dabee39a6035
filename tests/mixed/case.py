"""What a mixed source is called with, what comes out, and which launches that takes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

__all__ = ["HEADERS", "BFloat16", "Call", "Case", "Group", "Launched", "ceil_div", "is_refused"]

SOURCES = Path(__file__).parent / "sources"
HEADERS = SOURCES / "headers"

_SEED = 8

Shape = int | tuple[int, ...]


class BFloat16(NamedTuple):
    """A tensor of dtype bfloat16, numpy having none; its values are rounded."""

    values: np.ndarray[Any, Any]


@dataclass(frozen=True)
class Launched:
    """A launch that a call makes.

    Attributes
    ----------
    kernel : str
        A part of the kernel's symbol.
    grid, block : int or tuple of int
        What is missing is 1.
    smem : int
        Bytes of dynamic shared memory.
    scalars : mapping of int to (str, value)
        Parameters by position: how `struct` has them, and what they are.
    on_stream_0 : bool
        It goes to the legacy default stream, not to the caller's.
    """

    kernel: str
    grid: Shape
    block: Shape
    smem: int = 0
    scalars: Mapping[int, tuple[str, Any]] = field(default_factory=dict)
    on_stream_0: bool = False


@dataclass(frozen=True)
class Call:
    """A call of an exported function.

    Attributes
    ----------
    function : str
        Its name.
    args : tuple
        Arrays become tensors on the device, and change there.
    expected : mapping of int to array
        Arguments by position, as they are afterwards; what it returns is at -1.
    launches : tuple of Launched or None
        In their order; None where they depend on the device.
    returns : object
        What it returns, also where no kernel runs; None is not looked at.
    computed : object
        What it returns where kernels run.
    raises : (str, str) or None
        Name of the exception's type, and a pattern of its message.
    as_nvcc : bool
        What nvcc makes of the source does the same.
    rtol, atol : float
        Of `expected`.
    """

    function: str
    args: tuple[Any, ...]
    expected: Mapping[int, np.ndarray[Any, Any]] = field(default_factory=dict)
    launches: tuple[Launched, ...] | None = ()
    returns: Any = None
    computed: Any = None
    raises: tuple[str, str] | None = None
    as_nvcc: bool = True
    rtol: float = 1e-5
    atol: float = 1e-6


Calls = Callable[[np.random.Generator], Iterator[Call]]


@dataclass(frozen=True)
class Case:
    """A mixed source, or several that make one, and calls of it.

    Attributes
    ----------
    name : str
        Its own; the source's, too, where `files` are not given.
    functions : tuple of str or None
        What is exported; None where the source does that itself.
    make_calls : callable
        Makes the calls from a generator of random numbers.
    files : tuple of str
        Names of the sources.
    options : mapping
        More arguments of `load_inline`.
    """

    name: str
    functions: tuple[str, ...] | None
    make_calls: Calls
    files: tuple[str, ...]
    options: Mapping[str, Any]

    def sources(self) -> list[str]:
        """Return the texts."""
        return [(SOURCES / f"{name}.cu").read_text(encoding="utf-8") for name in self.files]

    def calls(self) -> list[Call]:
        """Return the calls, with arrays of their own."""
        return list(self.make_calls(np.random.default_rng(_SEED)))


class Group:
    """Cases of one module, by name."""

    def __init__(self) -> None:
        self.cases: dict[str, Case] = {}

    def add(
        self, *functions: str, files: tuple[str, ...] | None = None, **options: Any
    ) -> Callable[[Calls], Calls]:
        """Have the decorated function make the calls of the source that has its name."""

        def keep(make_calls: Calls) -> Calls:
            name = make_calls.__name__
            made = Case(name, functions or None, make_calls, files or (name,), options)
            self.cases[name] = made
            return make_calls

        return keep


def ceil_div(a: int, b: int) -> int:
    """Return a quotient, rounded up."""
    return -(-a // b)


def is_refused(call: Call, function: Callable[..., Any], args: list[Any]) -> bool:
    """Make a call that is to raise, and say whether it is one."""
    if call.raises is None:
        return False
    kind, message = call.raises
    with pytest.raises(Exception, match=re.escape(message)) as caught:
        function(*args)
    assert kind in [each.__name__ for each in caught.type.__mro__]
    return True
