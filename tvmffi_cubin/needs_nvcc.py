"""What mixed sources may not have here: constructs that only nvcc compiles, and torch's sources."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from .cuda_item import Item
from .item_words import is_device_function, is_kernel
from .mixed_headers import MixedFile
from .torch_sources import TORCH_HEADER, TORCH_REMEDY, TORCH_USE

__all__ = ["check"]

_TEXTURE = re.compile(r"(?:static\s+|extern\s+)*(texture|surface)\s*<")
_DEVICE_WIDE = re.compile(r"\bcub\s*::\s*(Device\w+)")
# The same where code is spared the namespace.
_SPARED = re.compile(r"\busing\s+namespace\s+cub\b")
_SPARED_WIDE = re.compile(r"(?<!::)\b(Device\w+)\s*::\s*\w+\s*\(")
# Types and functions that are as good on either side: all else of it launches kernels of its own.
_THRUST = re.compile(
    r"\bthrust\s*::\s*(?!complex\b|pair\b|tuple\b|make_pair\b|make_tuple\b|get\b|tie\b|swap\b"
    r"|(?:plus|minus|multiplies|divides|maximum|minimum|less|greater|equal_to|identity)\b"
    r"|raw_pointer_cast\b|numeric_limits\b)(\w+(?:\s*::\s*\w+)*)"
)
_REMEDY = 'pass compiler="nvcc"'


class _Fault(NamedTuple):
    file: str
    line: int
    text: str


def check(files: Sequence[MixedFile], *, launches_on_device: bool = False) -> None:
    """Refuse what would not compile, or not mean what it says.

    Parameters
    ----------
    files : sequence of MixedFile
        The files of the program.
    launches_on_device : bool
        Whether device code may launch.

    Raises
    ------
    ValueError
        There is such a construct, or something that cannot be cut; the message names all of them,
        with their files and lines.
    """
    torch = [fault for file in files for fault in _torch_includes(file)]
    torch = torch or list(_torch_uses(files))
    if torch:
        raise ValueError(f"{_listed(torch)}\n{TORCH_REMEDY}")
    faults = [_Fault(file.name, line, text) for file in files for line, text in file.cuda.problems]
    if faults:
        raise ValueError(f"{_listed(faults)}\nThe source cannot be cut: mend that, or {_REMEDY}")
    wide = [_DEVICE_WIDE]
    if any(_SPARED.search(file.code) for file in files):
        wide.append(_SPARED_WIDE)
    faults = [fault for file in files for fault in _faults(file, wide)] + list(_undefined(files))
    if faults:
        raise ValueError(f"{_listed(faults)}\nOnly nvcc compiles that: {_REMEDY}")
    faults = [] if launches_on_device else [x for file in files for x in _device_launches(file)]
    if faults:
        raise ValueError(
            f"{_listed(faults)}\nThat takes CUDA's device runtime: pass "
            f'device_libraries=["cudadevrt"], or {_REMEDY}, extra_cuda_cflags=["-rdc=true"]'
        )


def _listed(faults: Sequence[_Fault]) -> str:
    unique = dict.fromkeys(faults)
    return "\n".join(f"{fault.file}:{fault.line}: {fault.text}" for fault in unique)


def _torch_includes(file: MixedFile) -> Iterator[_Fault]:
    for item in file.include_items():
        if match := TORCH_HEADER.match(item.path):
            owner = "pybind11" if match[1] == "pybind11" else "torch"
            yield _Fault(file.name, item.line, f"<{item.path}> is a header of {owner}'s")


def _torch_uses(files: Sequence[MixedFile]) -> Iterator[_Fault]:
    """Iterate over the first use of torch's names in each file, if they are not the user's own."""
    own = {name for file in files for name in _declared(file.cuda.items)}
    own.update(macro.name for file in files for macro in file.cuda.macros)
    for file in files:
        for match in TORCH_USE.finditer(file.code):
            if own.isdisjoint(name for name in match.groups() if name):
                name = "".join(match[1].split())
                yield _Fault(file.name, _line(file.code, match), f"{name} is a name of torch's")
                break


def _declared(items: Sequence[Item]) -> Iterator[str]:
    """Iterate over the names of namespaces, and of what may stand for one."""
    for item in items:
        yield from item.names
        if item.kind in ("namespace", "linkage"):
            yield from _declared(item.children)


def _faults(file: MixedFile, wide: Sequence[re.Pattern[str]]) -> Iterator[_Fault]:
    for item in _leaves(file.cuda.items):
        for line, text in (*_in_item(file.code, item), *_algorithms(file.code, item, wide)):
            yield _Fault(file.name, line, text)


def _leaves(items: Sequence[Item]) -> Iterator[Item]:
    """Iterate over items that have no others in them."""
    for item in items:
        if item.children:
            yield from _leaves(item.children)
        else:
            yield item


def _in_item(code: str, item: Item) -> Iterator[tuple[int, str]]:
    name = "::".join(item.names)
    if "__managed__" in item.words:
        yield item.line, f"{name} is a __managed__ variable"
    if item.kind == "variable" and (match := _TEXTURE.match(code, item.span.start)):
        kind = match[1]
        kept = f"{kind} reference, which nvcc has up to CUDA 11"
        made = f"cudaCreate{kind.title()}Object"
        yield item.line, f"{name} is a {kept}; CUDA 12 wants a {kind} object ({made})"
    if is_kernel(item) or is_device_function(item):
        return
    for line, words in item.lambdas:
        if "__device__" in words:
            shown = " ".join(sorted(words, reverse=True))
            yield line, f"an extended lambda: {shown} in a function of the host"


def _device_launches(file: MixedFile) -> Iterator[_Fault]:
    for item in _leaves(file.cuda.items):
        if is_kernel(item) or is_device_function(item):
            name = "::".join(item.names)
            for launch in item.launches:
                yield _Fault(file.name, launch.line, f"{name}, device code, launches a kernel")


def _algorithms(
    code: str, item: Item, wide: Sequence[re.Pattern[str]]
) -> Iterator[tuple[int, str]]:
    """Iterate over the uses of algorithms that are host code of CUDA's libraries."""
    if item.kind != "function" or is_kernel(item) or is_device_function(item):
        return
    for match in (match for pattern in wide for match in pattern.finditer(code, *item.span)):
        yield _line(code, match), f"cub::{match[1]} launches kernels of its own"
    for match in _THRUST.finditer(code, *item.span):
        found = "".join(match[1].split())
        yield _line(code, match), f"thrust::{found} is host code that launches kernels of its own"


def _line(code: str, match: re.Match[str]) -> int:
    return code.count("\n", 0, match.start()) + 1


def _undefined(files: Sequence[MixedFile]) -> Iterator[_Fault]:
    """Iterate over device variables in use that another relocatable object would have to define."""
    found = [(file, item) for file in files for item in _leaves(file.cuda.items)]
    variables = [(file, item) for file, item in found if item.kind == "variable"]
    defined = {name for _, item in variables if "extern" not in item.words for name in item.names}
    used = {name for file in files for macro in file.cuda.macros for name in macro.uses}
    for _, item in found:
        used.update(item.uses - {*item.names})
    for file, item in variables:
        is_extern = {"__device__", "__constant__"} & item.words and "extern" in item.words
        if is_extern and used.difference(defined).intersection(item.names):
            name = ", ".join(item.names)
            yield _Fault(file.name, item.line, f"{name} is defined in another object")
