"""`DeviceUnit`: what is compiled separately; device sources to units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from ..cuda.nvrtc import line_directive
from ..sources.facts import SourceFacts
from ..sources.headers import header_code
from ..sources.reader import read
from ..sources.source import Source

if TYPE_CHECKING:
    from ..inline.request import Request

__all__ = ["DeviceUnit", "make_units"]


@dataclass(frozen=True)
class DeviceUnit:
    """One source with those that belong to every unit.

    Attributes
    ----------
    source : Source
        The source.
    before, after : tuple of Source
        Sources of which every unit has its own copy (macros, types, inline functions): those that
        were given before this one; those behind the last unit.
    own_facts : SourceFacts or None
        What the source alone contains, where that is known.
    """

    source: Source
    before: tuple[Source, ...] = ()
    after: tuple[Source, ...] = ()
    own_facts: SourceFacts | None = field(default=None, repr=False, compare=False)

    @property
    def name(self) -> str:
        """What messages call it."""
        return self.source.name

    @property
    def prologue(self) -> str:
        """What is compiled before the source."""
        return "\n".join(line_directive(source.name) + source.text for source in self.before)

    @property
    def text(self) -> str:
        """The source, and what is compiled after it."""
        rest = (line_directive(source.name) + source.text for source in self.after)
        return "\n".join((self.source.text, *rest))

    @property
    def folders(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Where headers are searched before and after the folders that callers name.

        The folder of the source itself, which NVRTC searches first of all, is not among them.
        """
        headers = (*self.before, *self.after)
        first = [source.folder for source in headers if source.folder is not None]
        last = [folder for source in headers for folder in source.further_folders]
        return tuple(dict.fromkeys(first)), (*self.source.further_folders, *last)

    @cached_property
    def facts(self) -> SourceFacts:
        """What it contains, macros of the sources before it expanded."""
        if self.own_facts is not None and not (self.before or self.after):
            return self.own_facts
        texts = (source.text for source in (*self.before, self.source, *self.after))
        return read("\n".join(texts))


def make_units(sources: Sequence[Source], request: Request) -> tuple[DeviceUnit, ...]:
    """Return what is to be compiled separately.

    A text that defines nothing that others could refer to is no unit: it is there for those after
    it, as a header is. Files include each other as they want it, and are units.

    Parameters
    ----------
    sources : sequence of Source
        The device sources, in order; at least one.
    request : Request
        Where headers are searched.
    """
    units: list[DeviceUnit] = []
    before: list[Source] = []
    pending = 0
    for source in sources:
        facts = read(source.text)
        if source.path is None and is_header(facts) and not header_code((source,), request).kernels:
            before.append(source)
            pending += 1
        else:
            units.append(DeviceUnit(source, tuple(before), own_facts=facts))
            pending = 0
    after = tuple(before[len(before) - pending :])
    if not units:
        return (DeviceUnit(before[-1], tuple(before[:-1])),)
    return (*units[:-1], replace(units[-1], after=after))


def is_header(facts: SourceFacts) -> bool:
    """Whether a source defines nothing that other sources could refer to, as far as it shows."""
    if facts.host_uses or any(kernel.defined for kernel in facts.kernels):
        return False
    # What the grammar does not follow may define anything.
    if facts.kind == "device" and not facts.readable:
        return False
    return all(found.linkage != "external" for found in facts.definitions)
