"""`Facts`: what a compiled kernel of Triton's says of itself, as plain data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from .installed import check_version
from .symbols import unwrapped
from .wanted import DIVISIBILITY, PLAIN, Options, Path

__all__ = ["Argument", "Facts", "read_facts"]


@dataclass(frozen=True)
class Argument:
    """One argument of a launch; of a tuple, one of its items.

    Attributes
    ----------
    name : str
        As the function calls it; items of a tuple ``t`` are ``t_0``, ``t_1``.
    path : tuple of int
        Where it is among the function's arguments.
    type : str
        Triton's type; ``"one"`` where it is always 1, ``"none"`` where it is always None.
    multiple_of : int
        What it, or its address, is a multiple of.
    options : Options
        Of a tensor descriptor.
    """

    name: str
    path: Path
    type: str
    multiple_of: int = 1
    options: Options = PLAIN


@dataclass(frozen=True)
class Facts:
    """What is known of a compiled kernel.

    Attributes
    ----------
    symbol : str
        The kernel in the image.
    image : bytes
        The cubin.
    function : str
        What people call it, with its arguments, for messages.
    names : tuple of str
        Those of all of the function's arguments.
    arguments : tuple of Argument
        Those that callers pass, in order.
    constants : mapping of str to object
        The values of the function's other arguments, and of those that are always 1 or None.
    metadata : object
        Triton's own, with its fields as attributes.
    tuples : mapping of str to tuple
        Of the function's arguments those that are tuples, with an `Argument` or a constant for
        each item.
    """

    symbol: str
    image: bytes
    function: str
    names: tuple[str, ...]
    arguments: tuple[Argument, ...]
    constants: Mapping[str, Any]
    metadata: Any
    tuples: Mapping[str, Any] = field(default_factory=dict)


def read_facts(
    kernel: Any,
    *,
    fixed: set[Path] | frozenset[Path] = frozenset(),
    descriptors: Mapping[Path, Options] | None = None,
) -> Facts:
    """Read a compiled kernel, without touching what needs a GPU.

    Parameters
    ----------
    kernel : triton.compiler.CompiledKernel
        What Triton made.
    fixed : set of tuple, optional
        Paths of constants that are no arguments, beside those of constexprs.
    descriptors : mapping of tuple to Options, optional
        What the tensor descriptors' callers chose.

    Raises
    ------
    TypeError, ValueError
        It is no such kernel, or not one of a function for NVIDIA's GPUs; Triton relied on something
        that is not known here.
    """
    kernel = kernel.result() if hasattr(kernel, "result") else kernel
    try:
        source, metadata, image = kernel.src, kernel.metadata, kernel.asm.get("cubin")
    except AttributeError:
        raise TypeError(
            "tvmffi_cubin.triton: wanted a compiled kernel, such as fn.warmup(...) or "
            f"triton.compile(...) returns, got {type(kernel).__name__}"
        ) from None
    if image is None:
        raise ValueError(
            f"the kernel {metadata.name!r} is for {metadata.target.backend}, it has no cubin"
        )
    check_version(str(metadata.triton_version))
    fn = getattr(source, "fn", None)
    if fn is None:
        raise ValueError(
            f"the kernel {metadata.name!r} was compiled from a file of Triton's intermediate code, "
            "which names no arguments: give it as an image, tc.Launch(image=kernel.asm['cubin'], "
            'params="...")'
        )
    constants = {_as_path(fn, path): value for path, value in source.constants.items()}
    reader = _Reader(fn, source.signature, constants, fixed, descriptors or {})
    attrs = _multiples({_as_path(fn, path): x for path, x in source.attrs.items()})
    names = fn.arg_names
    arguments = tuple(reader.arguments(attrs))
    return Facts(
        metadata.name,
        bytes(image),
        f"{fn.__name__}({', '.join(names)})",
        tuple(names),
        arguments,
        {names[path[0]]: unwrapped(x) for path, x in constants.items() if len(path) == 1},
        metadata,
        reader.tuples(arguments),
    )


def _as_path(fn: Any, path: Any) -> Path:
    if isinstance(path, str):
        return (fn.arg_names.index(path),)
    return path if isinstance(path, tuple) else (path,)


def _multiples(attrs: Mapping[Path, Any]) -> dict[Path, int]:
    """Return what arguments are multiples of; nothing else may have been relied on."""
    found = {}
    for path, pairs in attrs.items():
        for name, value in pairs:
            if name != DIVISIBILITY:
                raise ValueError(
                    f"Triton has relied on {name} = {value!r} of argument {path}, which is not "
                    "known here and could not be checked: a newer tvmffi-cubin may know it"
                )
            found[path] = int(value)
    return found


@dataclass(frozen=True)
class _Reader:
    fn: Any
    signature: Mapping[str, Any]
    constants: Mapping[Path, Any]
    fixed: set[Path] | frozenset[Path]
    descriptors: Mapping[Path, Options]

    def arguments(self, multiples: Mapping[Path, int]) -> Iterator[Argument]:
        for index, (name, type_) in enumerate(self.signature.items()):
            for argument in self.leaves(name, (index,), type_):
                multiple = multiples.get(argument.path, 1)
                options = self.descriptors.get(argument.path, PLAIN)
                yield Argument(argument.name, argument.path, argument.type, multiple, options)

    def leaves(self, name: str, path: Path, type_: Any) -> Iterator[Argument]:
        if isinstance(type_, tuple):
            for index, inner in enumerate(type_):
                yield from self.leaves(f"{name}_{index}", (*path, index), inner)
        elif type_ != "constexpr":
            yield Argument(name, path, type_)
        elif len(path) > 1 or not self.fn.params[path[0]].is_constexpr:
            kind = self.specialised(path)
            if kind is not None:
                yield Argument(name, path, kind)

    def tuples(self, arguments: tuple[Argument, ...]) -> dict[str, Any]:
        known = {argument.path: argument for argument in arguments}

        def item(path: Path, type_: Any) -> Any:
            if not isinstance(type_, tuple):
                return known.get(path, unwrapped(self.constants.get(path)))
            items = [item((*path, index), inner) for index, inner in enumerate(type_)]
            return type(type_)(*items) if hasattr(type_, "_fields") else tuple(items)

        signature = enumerate(self.signature.items())
        return {name: item((i,), x) for i, (name, x) in signature if isinstance(x, tuple)}

    def specialised(self, path: Path) -> str | None:
        """Return what Triton made a constant of an argument for; None where its caller did."""
        value = self.constants.get(path)
        if path in self.fixed:
            return None
        if value is None:
            return "none"
        return "one" if type(value) is int and value == 1 else None
