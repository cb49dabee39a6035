"""`split`: mixed sources to one text for NVRTC and one for the host compiler, line for line."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from .cuda.nvrtc import line_directive
from .cut_edits import FileCut, path_edits
from .device_headers import is_for_host, is_stood_in, left_out_headers, stand_ins
from .device_text import device_edits
from .follower_sides import with_followers
from .host_text import host_edits, launch_texts, shadows
from .item_words import is_kernel
from .mixed_headers import MixedFile, read_files
from .mixed_program import Program
from .needs_nvcc import check
from .side_hints import side_hints
from .side_members import Side
from .sides import Dropped, Sides, decide
from .stub_params import bound_types
from .text_edits import Edit, EditedText
from .undecided import droppable, droppable_includes

__all__ = ["CutFile", "Dropped", "MixedKernel", "Side", "SideTexts", "Split", "split"]


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
    bound : tuple of str
        The types of the parameters that the module binds.
    """

    name: str
    file: str
    line: int
    is_template: bool
    bound: tuple[str, ...] = ()


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
    program, files : Program, tuple of MixedFile
        What was cut.
    decided : Sides
        Which items of it went where.
    device, host : SideTexts
        What each compiler is given.
    kernels : tuple of MixedKernel
        The kernels that are defined.
    variables : tuple of str
        Device variables that the host text has shadows of, as C++ names them there: each wants a
        ``TVMFFI_CUBIN_DEVICE_VARIABLE`` behind the host text.
    launches : tuple of str
        Those in the texts, in macros' bodies too: file, line and what is launched.
    left_out : tuple of str
        Headers of CUDA's device libraries that the host text does without, since no name in it
        says that it needs them. Where the host compiler does not know a name, `with_left_out` is
        worth a try.
    stand_ins : tuple of str
        Headers of ours that the host text needs before it, in the place of such.
    dropped : frozenset of Dropped
        What a side had to go without.
    needed : frozenset of str
        What instances of kernels were found to name.
    """

    program: Program
    files: tuple[MixedFile, ...]
    decided: Sides
    device: SideTexts
    host: SideTexts
    kernels: tuple[MixedKernel, ...]
    variables: tuple[str, ...]
    launches: tuple[str, ...]
    left_out: tuple[str, ...]
    stand_ins: tuple[str, ...]
    dropped: frozenset[Dropped]
    needed: frozenset[str] = frozenset()

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
        where: dict[str, set[int]] = defaultdict(set)
        for file, line in places:
            where[file].add(line)
        found = set(self.dropped)
        others = where.keys() - {file.name for file in self.files} if side == "device" else ()
        for cut in FileCut.each(self.files, self.decided, side, self.dropped):
            found.update(droppable(cut, side, where.get(cut.file.name, ())))
            if others:
                found.update(droppable_includes(cut, others, self.program.device_dirs))
        if found == self.dropped:
            return None
        return self._again(dropped=frozenset(found))

    def hints(self, side: Side, log: str) -> tuple[str, ...]:
        """Return what may help where errors of a side are about functions of the other."""
        return side_hints(self.files, self.decided, side, log)

    def with_left_out(self) -> Split:
        """Return the same with the headers that the host text was left without."""
        return self._again(is_whole=True)

    def with_needed(self, names: Iterable[str]) -> Split | None:
        """Return the same with what instances of kernels name in the device text as well.

        Only the host compiler finds which instances there are, and NVRTC is asked for them by name.

        Parameters
        ----------
        names : iterable of str
            Identifiers in the instances' names.

        Returns
        -------
        Split or None
            None where the device text has all of it.
        """
        again = self._again(needed=self.needed.union(names))
        return None if again.decided == self.decided else again

    def _again(
        self,
        *,
        dropped: frozenset[Dropped] | None = None,
        needed: frozenset[str] | None = None,
        is_whole: bool | None = None,
    ) -> Split:
        return _split(
            self.program,
            self.files,
            self.dropped if dropped is None else dropped,
            self.needed if needed is None else needed,
            is_whole=not self.left_out if is_whole is None else is_whole,
        )


def split(program: Program) -> Split:
    """Cut mixed sources into what NVRTC and what the host compiler is given.

    Raises
    ------
    ValueError
        Something cannot be cut, or needs nvcc; the message names it and its line.
    """
    files = read_files(program)
    check(files, launches_on_device=program.launches_on_device)
    return _split(program, files, frozenset(), frozenset(), is_whole=False)


def _split(
    program: Program,
    files: tuple[MixedFile, ...],
    dropped: frozenset[Dropped],
    needed: frozenset[str],
    *,
    is_whole: bool,
) -> Split:
    decided = decide(files, dropped, needed)
    left_out = left_out_headers(files, decided.host_words, is_whole=is_whole)
    stood_in = stand_ins(files, decided.host_words, is_whole=is_whole)
    missing = [header for header in left_out if not is_stood_in(header, stood_in)]
    decided = with_followers(files, decided, left_out=missing, dropped=dropped)
    device = list(FileCut.each(files, decided, "device", dropped))
    host = list(FileCut.each(files, decided, "host", dropped))
    return Split(
        program=program,
        files=files,
        decided=decided,
        device=_texts(files, device_edits(files, decided, device)),
        host=_texts(files, [host_edits(cut, left_out, program.bound) for cut in host]),
        kernels=tuple(_kernels(files, decided, program.bound)),
        variables=tuple(dict.fromkeys(name for cut in host for name in shadows(cut))),
        launches=tuple(text for cut in host for text in launch_texts(cut)),
        left_out=tuple(filter(is_for_host, missing)),
        stand_ins=stood_in,
        dropped=dropped,
        needed=needed,
    )


def _texts(files: Sequence[MixedFile], edits: Sequence[list[Edit]]) -> SideTexts:
    """Make the texts of one side; headers in which nothing changes are not among them."""
    written: dict[str, str] = {}
    found = -1
    while found != len(written):
        found = len(written)
        for number, (file, own) in enumerate(zip(files, edits, strict=True)):
            paths = (include.path for include in file.includes.values())
            if not file.is_source and (own or any(path in written for path in paths)):
                written[file.name] = f"tvmffi_cubin_{number}_{os.path.basename(file.name)}"
    sources: list[CutFile] = []
    headers: list[CutFile] = []
    for file, own in zip(files, edits, strict=True):
        if not file.is_source and file.name not in written:
            continue
        edited = file.expanded.then(path_edits(file, written, own))
        place = sources if file.is_source else headers
        place.append(CutFile(file.name, written.get(file.name, ""), edited))
    return SideTexts(tuple(sources), tuple(headers))


def _kernels(
    files: Sequence[MixedFile], decided: Sides, bound: Sequence[str]
) -> Iterator[MixedKernel]:
    for number, item, scope in decided.nodes:
        if is_kernel(item) and item.body:
            name, file = "::".join((*scope, *item.names)), files[number]
            types = bound_types(file.cuda.text, item, bound)
            yield MixedKernel(name, file.name, item.line, item.template is not None, types)
