"""What a compiled kernel of Triton's says of itself, as plain data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Set
from typing import Any, NamedTuple

from ..errors import ToolchainError

DIVISIBILITY = "tt.divisibility"
OLDEST = (3, 6)

Path = tuple[int, ...]
"""Where an argument is: its position, and in tuples the positions there."""


class Argument(NamedTuple):
    """One argument of a launch; of a tuple, one of its items."""

    name: str  # items of a tuple `t` are t_0, t_1
    path: Path
    type: str  # Triton's; "one" or "none" where it is always 1 or None
    multiple_of: int = 1  # of itself, or of its address


class CompiledKernel(NamedTuple):
    """A kernel that Triton has compiled."""

    image: bytes
    function: str  # with its arguments, for messages
    signature: Mapping[str, Any]  # Triton's types by argument, of tuples a tuple of them
    values: Mapping[Path, Any]  # constants, and arguments that are always 1 or None
    arguments: tuple[Argument, ...]  # what callers pass, in order
    metadata: Any
    version: tuple[int, int]  # Triton's

    @property
    def constants(self) -> dict[str, Any]:
        """The values of the function's arguments that callers do not pass."""
        passed = {argument.path for argument in self.arguments}
        names = enumerate(self.signature)
        return {x: self.values[i,] for i, x in names if (i,) in self.values and (i,) not in passed}

    def nested(self, make: Callable[[Argument], Any]) -> dict[str, Any]:
        """Return the function's arguments by name: constants, and what `make` gives for others."""
        passed = {argument.path: argument for argument in self.arguments}

        def item(path: Path, type_: Any) -> Any:
            if not isinstance(type_, tuple):
                return make(passed[path]) if path in passed else self.values.get(path)
            items = [item((*path, index), inner) for index, inner in enumerate(type_)]
            return type(type_)(*items) if hasattr(type_, "_fields") else tuple(items)

        return {name: item((i,), x) for i, (name, x) in enumerate(self.signature.items())}


def read_kernel(kernel: Any, fixed: Set[Path] = frozenset()) -> CompiledKernel:
    """Read a compiled kernel, without touching what needs a GPU."""
    try:
        source, fn, image = kernel.src, kernel.src.fn, kernel.asm["cubin"]
        metadata = kernel.metadata
    except (AttributeError, KeyError):
        raise TypeError(
            "tvmffi_cubin.triton: wanted a kernel that was compiled for CUDA from a function, such "
            f"as fn.warmup(...) returns, got {type(kernel).__name__}"
        ) from None
    version = supported_version(str(metadata.triton_version))
    values = {path: unwrapped(value) for path, value in source.constants.items()}
    declared = {(i,) for i, param in enumerate(fn.params) if param.is_constexpr}
    return CompiledKernel(
        bytes(image),
        f"{fn.__name__}({', '.join(fn.arg_names)})",
        source.signature,
        values,
        tuple(_arguments(source, values, declared | fixed)),
        metadata,
        version,
    )


def unwrapped(value: Any) -> Any:
    """Return the value of a ``tl.constexpr``."""
    while type(value).__name__ == "constexpr":
        value = value.value
    return value


def supported_version(text: str) -> tuple[int, int]:
    """Return major and minor version of Triton's."""
    major, minor = text.split(".")[:2]
    version = (int(major), int(minor))
    if version < OLDEST:
        raise ToolchainError(
            f"Triton {text} is installed, {'.'.join(map(str, OLDEST))} or newer is wanted; run: "
            "pip install --upgrade triton"
        )
    return version


def _arguments(source: Any, values: Mapping[Path, Any], fixed: Set[Path]) -> Iterator[Argument]:
    multiples = {}
    for path, name, value in ((x, *pair) for x, told in source.attrs.items() for pair in told):
        if name != DIVISIBILITY:
            raise ValueError(f"Triton has relied on {name} of an argument, which cannot be checked")
        multiples[path] = int(value)
    for index, (name, type_) in enumerate(source.signature.items()):
        for leaf, path, inner in _leaves(name, (index,), type_):
            if inner != "constexpr":
                yield Argument(leaf, path, inner, multiples.get(path, 1))
            # What Triton made a constant of and not its caller.
            elif path not in fixed and values.get(path) is None:
                yield Argument(leaf, path, "none")
            elif path not in fixed and type(values[path]) is int and values[path] == 1:
                yield Argument(leaf, path, "one")


def _leaves(name: str, path: Path, type_: Any) -> Iterator[tuple[str, Path, str]]:
    if isinstance(type_, tuple):
        for index, inner in enumerate(type_):
            yield from _leaves(f"{name}_{index}", (*path, index), inner)
    else:
        yield name, path, type_
