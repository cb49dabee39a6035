"""The kernels and device variables that compiled host code uses, read from its object.

The host compiler instantiates templates, so its object tells which instances are launched, or have
their address taken, and how their parameters are laid out. These become name expressions for NVRTC,
and layouts (``mixed/unit.h``, ``mixed/layout.h``).
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import NamedTuple

from ..cuda.hints import NVCC
from ..errors import CompileError
from ..kernels.demangle import demangle, split_list, take_apart
from ..kernels.elf import Elf

# A static member of Listed<&kernel, 0, _Words<1028, 0>>, or that type's name: whichever remains.
_CLASS = r"N12tvmffi_cubin[0-9]\w*?6ListedI\w+E"
_STUB = re.compile(rf"_Z(?P<member>{_CLASS})4nodeE\Z|_ZTS(?P<type>{_CLASS}E)\Z")
_SELF = re.compile(
    r"tvmffi_cubin::(?:\w+::)?Listed<(?P<name>.*?), (?P<size>\d+)ul, "
    r"tvmffi_cubin_layout::_Words<(?P<layouts>[\dul, ]*)> ?>\Z",
    re.DOTALL,
)
_ADDRESS = re.compile(r"ListedIXadL_(Z\w*)EE(?=Lm0EN19tvmffi_cubin_layout6_WordsI)")
# Code that asks an image or an object for further layouts, and the symbols that hold them.
_SPACE = "tvmffi_cubin_layout"
_ASK = f"template __device__ char {_SPACE}::__told<{{}}, decltype({_SPACE}::_Layouts({{}}))>;\n"
_TOLD = re.compile(rb"_ZN19tvmffi_cubin_layout6__toldILi(\d+)ENS_6_WordsIJ((?:Ly\d+E)*)E")
_LAYOUT = (
    "it has a member under #ifdef __CUDA_ARCH__, or of a C++ library type: give it the same "
    "members on both sides"
)
_UNNAMED = "(anonymous namespace)::"
# In template arguments: types that only their own function, or no code at all, can name.
_NAMELESS = re.compile(r"\{lambda\(|'lambda|\{unnamed|'unnamed|\)(?:\s*(?:const|volatile|&&?))*::")


class Instance(NamedTuple):
    """A kernel with a stub in host code, or a device variable that host code names."""

    stub: str  # what it registers itself by: its type's name from `typeid`
    expression: str  # its name expression for NVRTC, such as "ns::scale<float, 4>"
    params: tuple[str, ...] | None  # types; None if it has C linkage
    layouts: tuple[int, ...] = ()  # on the host: of parameters or the variable, then of pointees


def stubs(data: bytes) -> list[str]:
    """Return the stubs in an ELF object, each once."""
    symbols = Elf(data).symbols(having="12tvmffi_cubin")
    matches = filter(None, (_STUB.match(x.name) for x in symbols if x.is_placed))
    return list(dict.fromkeys(x["type"] or f"{x['member']}E" for x in matches))


def named(stubs: Iterable[str]) -> tuple[Instance, ...]:
    """Return the kernels and variables that stubs stand for, sorted by name."""
    return tuple(sorted(map(_instance, stubs), key=lambda x: (x.expression, x.stub)))


def _instance(stub: str) -> Instance:
    # As a reference: for an address, the demangler leaves out some functions' parameters.
    mangled = _ADDRESS.sub(r"ListedIL_\1E", stub)
    match = _SELF.match(demangle(f"_Z{mangled}")) or _SELF.match(demangle(f"_Z{stub}"))
    if match is None:
        raise ValueError(f"cannot parse the kernel name {stub}: pass {NVCC}")
    layouts = tuple(map(int, re.findall(r"\d+", match["layouts"])))
    kernel = match["name"].strip().replace(_UNNAMED, "").removeprefix("&")
    if kernel.startswith("("):
        kernel = kernel[1:-1]
    if match["size"] != "0":
        return Instance(stub, f"&{named_outside(kernel)}", None, layouts)
    name = take_apart(kernel)
    for argument in split_list(name.display[len(name.qualified) + 1 : -1]):
        if _NAMELESS.search(argument):
            raise ValueError(
                f"kernel {name.qualified!r} is launched with {argument}, a type that device code "
                "cannot name: define it with a name outside of functions (a lambda as a struct "
                f"with operator()), or pass {NVCC}"
            )
    params = None if name.params is None else tuple(map(named_outside, name.params))
    return Instance(stub, named_outside(name.display), params, layouts)


def questions(names: Sequence[str], known: Container[str]) -> str:
    """Return code that has the `layouts` of those names that are known: kernels or pointers."""
    return "".join(_ASK.format(_number(name), name) for name in names if name in known)


def layouts(data: bytes, names: Sequence[str]) -> Iterator[tuple[str, list[int]]]:
    """Iterate over the layouts of parameters and pointees in compiled code, in each image."""
    by_number = {_number(name): name for name in names}
    for number, words in dict.fromkeys(x.groups() for x in _TOLD.finditer(data)):
        yield by_number[int(number)], [*map(int, re.findall(rb"\d+", words))]


def check_layouts(
    image: bytes, names: Sequence[str], host: Mapping[str, Sequence[int]], num_bound: int
) -> None:
    """Reject what the device lays out differently from the host that passes it.

    The last `num_bound` parameters of kernels exist only on the device.
    """
    for name, device in layouts(image, names):
        if name not in host:
            continue  # the host does not use it
        pointer = re.fullmatch(r"&(.*)|static_cast<(.*)\*>\(nullptr\)", name)
        # Layouts of parameters, then of what each leads to (mixed/layout.h).
        halves = ((x[: len(x) // 2], x[len(x) // 2 :]) for x in (device, host[name]))
        on_device, on_host = ([*zip(*both, strict=True)] for both in halves)
        passed = on_device if pointer else on_device[: len(on_device) - num_bound]
        pairs = zip_longest(passed, on_host, fillvalue=(0, 0))
        for number, (one, other) in enumerate(pairs, 1):
            if one[0] != other[0] or 0 != one[1] != other[1] != 0:
                what = pointer[1] or pointer[2] if pointer else f"parameter {number} of {name}"
                text = f"{what} has different layouts in host and device code"
                raise CompileError(f"{text}\nHint: {_LAYOUT}", log=text)


def _number(name: str) -> int:
    """Return a number for a name, whatever other names there are."""
    return zlib.crc32(name.encode()) >> 1


def named_outside(text: str) -> str:
    """Return a demangled type or name as code at global scope can write it."""
    text = text.replace(_UNNAMED, "")
    at = text.find("&(")
    if at < 0:  # else the address of a function, written as ``&f<3>``
        return text
    inner, depth = at + 2, 1
    end = inner
    while depth and end < len(text):
        depth += {"(": 1, ")": -1}.get(text[end], 0)
        end += 1
    name = take_apart(text[inner : end - 1])
    return f"{text[:at]}&{named_outside(name.display)}{named_outside(text[end:])}"
