"""`split`: mixed sources to one text for NVRTC and one for the host compiler, line for line."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

from .mixed_program import Program
from .nvrtc_unit import line_directive
from .text_edits import EditedText

__all__ = ["CutFile", "Dropped", "MixedKernel", "Side", "SideTexts", "Split", "split"]

Side = Literal["device", "host"]


class Dropped(NamedTuple):
    """An item that one side goes without: the file it is in, and where it begins there."""

    side: Side
    file: str
    start: int


class MixedKernel(NamedTuple):
    """A kernel's definition.

    Attributes
    ----------
    name : str
        With its namespaces; those without a name are left out.
    file, line
        Where it is.
    is_template : bool
        Whether it is one: what is launched are instances, which only the host compiler finds.
    """

    name: str
    file: str
    line: int
    is_template: bool


class CutFile(NamedTuple):
    """A file as one side is given it.

    Attributes
    ----------
    file : str
        What messages call it: a source's name, a header's path.
    written : str
        For a header, the name to write it under, by which the include lines lead to it; empty for
        a source.
    edited : EditedText
        Its text, and where each place of it was. Of a header, ``#line`` is not in it.
    """

    file: str
    written: str
    edited: EditedText


class SideTexts(NamedTuple):
    """What one compiler is given.

    Attributes
    ----------
    sources : tuple of CutFile
        In the program's order.
    headers : tuple of CutFile
        Headers to write into one folder of the include path.
    """

    sources: tuple[CutFile, ...]
    headers: tuple[CutFile, ...]

    @property
    def text(self) -> str:
        """The sources as one unit, with ``#line`` directives."""
        texts = [line_directive(cut.file) + cut.edited.text for cut in self.sources]
        return "".join(text if text.endswith("\n") else f"{text}\n" for text in texts)

    @property
    def files(self) -> dict[str, str]:
        """The headers to write: names and texts."""
        return {cut.written: line_directive(cut.file) + cut.edited.text for cut in self.headers}


class Split(NamedTuple):
    """Mixed sources, cut.

    Attributes
    ----------
    device, host : SideTexts
        What each compiler is given.
    kernels : tuple of MixedKernel
        The kernels that are defined.
    variables : tuple of str
        Device variables that the host text has shadows of, as C++ names them there: each wants a
        ``TVMFFI_CUBIN_DEVICE_VARIABLE`` behind the host text.
    num_launches : int
        Launches in the texts, those of macros' bodies included.
    left_out : tuple of str
        Headers of CUDA's device libraries that the host text does without, since no name in it
        says that it needs them. Where the host compiler does not know a name, `with_left_out` is
        worth a try.
    """

    program: Program
    device: SideTexts
    host: SideTexts
    kernels: tuple[MixedKernel, ...]
    variables: tuple[str, ...]
    num_launches: int
    left_out: tuple[str, ...]
    dropped: frozenset[Dropped]

    def place(self, side: Side, file: str, line: int, column: int) -> tuple[int, int]:
        """Return the line and column of the user's text where a compiler saw one of its own.

        Those of a file that was not cut stay what they are.
        """
        texts = self.device if side == "device" else self.host
        for cut in (*texts.sources, *texts.headers):
            if cut.file == file:
                return cut.edited.place(line, column)
        return line, column

    def without(self, side: Side, places: Iterable[tuple[str, int]]) -> Split | None:
        """Return the program cut again without the items of one side that errors are about.

        Parameters
        ----------
        side : "device" or "host"
            Whose compiler complained.
        places : iterable of (str, int)
            Files and lines of its errors, as it names them.

        Returns
        -------
        Split or None
            None where none of them is in an item that this side may go without: the errors are the
            user's then. Where the text that is returned does not compile either, the first errors
            are the ones to show.
        """
        raise NotImplementedError

    def with_left_out(self) -> Split:
        """Return the same with the headers that the host text was left without."""
        raise NotImplementedError


def split(program: Program) -> Split:
    """Cut mixed sources into what NVRTC and what the host compiler is given.

    Raises
    ------
    ValueError
        Something cannot be cut, or needs nvcc; the message names it and its line.
    """
    raise NotImplementedError
