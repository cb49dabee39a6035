"""The edits that make the device text of a program."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from .cuda_item import Item
from .cut_edits import FileCut, item_edits, left_out_edits
from .device_headers import missed_headers
from .mixed_headers import MixedFile
from .side_members import kept
from .sides import Sides
from .text_edits import Edit

__all__ = ["device_edits"]

_WORD = re.compile(r"[A-Za-z_]\w*")
# Words between a lambda's captures and its parameters or body.
_OF_LAMBDA = re.compile(r"(?<=\])\s*((?:[A-Za-z_]\w*\s*)+)(?=[({\\]|\Z)")
_SPACES = frozenset(("__host__", "__device__"))


def device_edits(
    files: Sequence[MixedFile], decided: Sides, cuts: Iterable[FileCut]
) -> list[list[Edit]]:
    """Return the edits of all but paths, file by file: what is left is what NVRTC compiles.

    Functions without an execution space are device functions to NVRTC as it is run here, so what
    is ``constexpr`` needs no more.

    Parameters
    ----------
    files : sequence of MixedFile
        The files of the program.
    decided : Sides
        What each side has.
    cuts : iterable of FileCut
        The files as the device has them.
    """
    macros = _qualifiers(files)
    missed = missed_headers(files, decided.device_words)
    return [left_out_edits(cut, "device", (), [*_edits(cut, macros)], missed) for cut in cuts]


def _qualifiers(files: Iterable[MixedFile]) -> dict[str, frozenset[str]]:
    """Return the qualifiers that macros stand for, whichever definition of them is in force."""
    words: dict[str, frozenset[str]] = {}
    for macro in (macro for file in files for macro in file.cuda.macros):
        words[macro.name] = words.get(macro.name, frozenset()) | macro.words
    return words


def _edits(cut: FileCut, macros: Mapping[str, frozenset[str]]) -> Iterator[Edit]:
    yield from item_edits(cut, "device")
    text = cut.file.cuda.text
    for node in cut.kept:
        if node.item.kind == "variable" and "__host__" in node.item.words:
            yield from _memory_edits(cut.file.code, node.item, macros)
    stretches = [
        stretch for node in cut.kept for stretch in kept(text, node.item, "device", cut.dropped)
    ]
    for start, end in (*stretches, *(macro.span for macro in cut.file.cuda.macros)):
        yield from _lambda_edits(cut.file.code, start, end, macros)


def _lambda_edits(
    code: str, start: int, end: int, macros: Mapping[str, frozenset[str]]
) -> Iterator[Edit]:
    """Iterate over the edits that take execution spaces from lambdas.

    nvcc wants a flag for them, which NVRTC has not, and needs not: those of device code are the
    device's.
    """
    for match in _OF_LAMBDA.finditer(code, start, end):
        for word in _WORD.finditer(code, *match.span(1)):
            words = macros.get(word[0], frozenset((word[0],)))
            if words and words <= _SPACES:
                yield Edit(*word.span(), " " * len(word[0]))


def _memory_edits(code: str, item: Item, macros: Mapping[str, frozenset[str]]) -> Iterator[Edit]:
    """Iterate over the edits that take ``__host__`` from a variable.

    nvcc warns of it there, to NVRTC it is an error.
    """
    for match in _WORD.finditer(code, item.span.start, item.declarator_end):
        words = macros.get(match[0], frozenset((match[0],)))
        if "__host__" in words:
            left = " ".join(sorted(words - {"__host__"}))
            yield Edit(*match.span(), left or " " * len(match[0]))
