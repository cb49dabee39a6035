"""`decide`: which items of a program go to NVRTC, and which to the host compiler."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from .cuda_item import Item
from .item_words import (
    identifiers,
    is_constant,
    is_device_function,
    is_device_variable,
    is_host_function,
    is_kernel,
    value_of,
)
from .mixed_headers import MixedFile
from .side_followers import is_follower
from .side_members import Side, is_named_only, kept

__all__ = ["Dropped", "Node", "Sides", "decide"]

_SPECIAL = re.compile(r"[^{]*\b(?:struct|class|union)\s+(?:\w+\s*::\s*)*\w+\s*<")


class Dropped(NamedTuple):
    """An item that one side goes without: the file it is in, and where it begins there."""

    side: Side
    file: str
    start: int


class Node(NamedTuple):
    """An item at namespace scope, which goes to a side or does not.

    Attributes
    ----------
    file : int
        The index of its file.
    item : Item
        The item.
    scope : tuple of str
        The namespaces around it, those without a name left out.
    """

    file: int
    item: Item
    scope: tuple[str, ...]


class Sides(NamedTuple):
    """The items of a program at namespace scope, and the sides that they go to.

    Attributes
    ----------
    nodes : tuple of Node
        All of them.
    device, host : frozenset of int
        The indices of those that a side has.
    device_words, host_words : frozenset of str
        Identifiers that those of a side name, through macros as well.
    """

    nodes: tuple[Node, ...]
    device: frozenset[int]
    host: frozenset[int]
    device_words: frozenset[str]
    host_words: frozenset[str]

    def of(self, side: Side) -> frozenset[int]:
        """Return what goes to a side."""
        return self.device if side == "device" else self.host


def decide(
    files: Sequence[MixedFile], dropped: Collection[Dropped] = (), needed: Collection[str] = ()
) -> Sides:
    """Decide by qualifiers, and by what names what.

    Parameters
    ----------
    files : sequence of MixedFile
        The files of the program.
    dropped : collection of Dropped
        What a side has to go without, whatever names it.
    needed : collection of str
        What instances of kernels name, which only the host compiler finds: NVRTC is asked for them.
    """
    nodes = tuple(node for index, file in enumerate(files) for node in _nodes(index, file))
    macros = _macros(files)
    device = _Reach(files, nodes, macros, "device", dropped)
    host = _Reach(files, nodes, macros, "host", dropped)
    device.reach([*device.roots(), *device.called(needed)])
    host.reach(host.roots())
    for file in files:
        if file.is_whole:
            words = identifiers(file.code, [(0, len(file.code))])
            device.reach(device.name(words))
            host.reach(host.name(words))
    for index, node in enumerate(nodes):
        if index in device.reached or index in host.reached:
            continue
        # Nobody names it: what the language finds by itself goes to both, all else to the host.
        if "__device__" in node.item.words or device.is_about_what_is_reached(index):
            device.reach([index])
        host.reach([index])
    reached = (frozenset(device.reached), frozenset(host.reached))
    return Sides(nodes, *reached, frozenset(device.named), frozenset(host.named))


def _nodes(file: int, cut: MixedFile) -> Iterator[Node]:
    return _nodes_in(file, cut.cuda.items, ())


def _nodes_in(file: int, items: Iterable[Item], scope: tuple[str, ...]) -> Iterator[Node]:
    for item in items:
        if item.kind == "namespace":
            yield from _nodes_in(file, item.children, (*scope, *item.names))
        elif item.kind == "linkage":
            yield from _nodes_in(file, item.children, scope)
        elif item.kind != "include":
            yield Node(file, item, scope)


def _macros(files: Iterable[MixedFile]) -> dict[str, frozenset[str]]:
    """Return what macros name, by their own names, whichever definition is in force."""
    uses: dict[str, frozenset[str]] = {}
    for file in files:
        for macro in file.cuda.macros:
            uses[macro.name] = uses.get(macro.name, frozenset()) | macro.uses
    return uses


class _Reach:
    """What one side names, directly or not."""

    def __init__(
        self,
        files: Sequence[MixedFile],
        nodes: Sequence[Node],
        macros: dict[str, frozenset[str]],
        side: Side,
        dropped: Collection[Dropped],
    ) -> None:
        self.reached: set[int] = set()
        self._files = files
        self._nodes = nodes
        self._macros = macros
        self._side = side
        self.named: set[str] = set()
        self._dropped = [
            {drop.start for drop in dropped if (drop.side, drop.file) == (side, file.name)}
            for file in files
        ]
        self._may = {index for index, node in enumerate(nodes) if self._may_have(node)}
        self._by_name: dict[str, list[int]] = defaultdict(list)
        for index in self._may:
            item = nodes[index].item
            for name in item.names:
                # Host code may name a function of the device, though not call it.
                is_value = side == "host" and is_named_only(item)
                self._by_name[value_of(name) if is_value else name].append(index)

    def _may_have(self, node: Node) -> bool:
        item = node.item
        text = self._files[node.file].cuda.text
        if item.span.start in self._dropped[node.file] or is_follower(text, item):
            return False
        if self._side == "host":
            return "__shared__" not in item.words
        if item.kind == "variable":
            return is_device_variable(item) or is_constant(text, item)
        return item.kind != "other" and not is_host_function(item)

    def roots(self) -> list[int]:
        """Return what is on this side, whoever names it."""
        return [index for index in self._may if self._is_root(self._nodes[index])]

    def _is_root(self, node: Node) -> bool:
        item = node.item
        if is_kernel(item):
            return True
        if self._side == "device":
            return is_device_function(item) or is_device_variable(item)
        if item.kind == "variable" and not is_device_variable(item):
            return not is_constant(self._files[node.file].cuda.text, item)
        return is_host_function(item) or item.kind == "other"

    def called(self, names: Iterable[str]) -> list[int]:
        """Return what has one of some names."""
        return [index for name in names for index in self._by_name.get(name, ())]

    def reach(self, indices: Iterable[int]) -> None:
        """Add items to this side, and all that they name."""
        work = [index for index in indices if index in self._may]
        self.reached.update(work)
        while work:
            work += self.name(self._words(work.pop()))

    def name(self, words: Iterable[str]) -> list[int]:
        """Add items of some names to this side; return those that it had not."""
        names = [*words]
        added: list[int] = []
        while names:
            name = names.pop()
            if name not in self.named:
                self.named.add(name)
                names += self._macros.get(name, ())
                added += [index for index in self._by_name[name] if index not in self.reached]
                self.reached.update(added)
        return added

    def _words(self, index: int) -> frozenset[str]:
        file, item, _ = self._nodes[index]
        text = self._files[file].cuda.text
        stretches = kept(text, item, self._side, self._dropped[file])
        return identifiers(self._files[file].code, stretches)

    def is_about_what_is_reached(self, index: int) -> bool:
        """Whether it is what a template is for something that this side has, or an operator."""
        file, item, _ = self._nodes[index]
        if index not in self._may or not _is_found(self._files[file].cuda.text, item):
            return False
        others = self._words(index) - set(item.names)
        return any(other in self.reached for name in others for other in self._by_name[name])


def _is_found(text: str, item: Item) -> bool:
    """Whether the language finds it without its name."""
    if item.kind == "type":
        return bool(_SPECIAL.match(text, item.span.start, item.span.end))
    return item.kind == "function" and any("operator" in name for name in item.names)
