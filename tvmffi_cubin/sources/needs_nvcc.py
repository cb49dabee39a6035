"""What mixed sources may not have here: what only nvcc compiles, and torch's names."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .cut import Text
from .torch import TORCH_REMEDY, TORCH_USE

_REMEDY = 'Only nvcc compiles that: pass compiler="nvcc"'


def refuse(text: Text) -> None:
    """Refuse a host side that cannot be compiled here.

    Raises
    ------
    ValueError
        There is such a construct; the message names all of them, with their files and lines.
    """
    faults = dict.fromkeys(_faults(text))
    if faults:
        raise ValueError("\n".join((*faults, _REMEDY)))
    match = TORCH_USE.search(text.source)
    if match and not re.search(rf"\bnamespace\s+{match[2] or match[3]}\b", text.source):
        name = "".join(match[1].split())
        raise ValueError(f"{name} is a name of torch's\n{TORCH_REMEDY}")


def _faults(text: Text) -> Iterator[str]:
    texts = text.tokens.texts

    def place(number: int) -> str:
        file, line = text.tokens.line(number)
        return f"{file}:{line}"

    for item in text.walk():
        first_words = texts[item.head : item.head + 2]
        if item.kind == "variable" and "__managed__" in item.words:
            yield f"{place(item.first)}: {item.name} is a __managed__ variable"
        elif item.kind == "variable" and first_words in (["texture", "<"], ["surface", "<"]):
            yield f"{place(item.first)}: {item.name} is a {first_words[0]} reference"
        elif item.kind == "function" and item.body and not item.is_for_device:
            for number in range(item.body[0], item.body[1]):
                if texts[number] == "]" and texts[number + 1] in ("__device__", "__host__"):
                    yield f"{place(number)}: a lambda of host code is __device__ code"
