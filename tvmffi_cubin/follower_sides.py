"""Which sides the items go to that go where what they name is."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence

from .cuda_item import Item
from .device_headers import library_of
from .item_words import identifiers
from .mixed_headers import MixedFile
from .side_followers import is_follower, opened_namespace
from .sides import Dropped, Node, Sides

__all__ = ["with_followers"]

# What every source for NVRTC has, by its prelude.
_ALWAYS = frozenset(("std",))


def with_followers(
    files: Sequence[MixedFile],
    decided: Sides,
    *,
    left_out: Collection[str],
    dropped: Collection[Dropped],
) -> Sides:
    """Return sides with those items added.

    Parameters
    ----------
    files : sequence of MixedFile
        The files of the program.
    decided : Sides
        Where all other items are.
    left_out : collection of str
        Headers that the host text does without.
    dropped : collection of Dropped
        What a side has to go without.
    """
    places = _Places(files, decided, left_out)
    device, host = set(decided.device), set(decided.host)
    for index, node in enumerate(decided.nodes):
        file = files[node.file]
        if not is_follower(file.cuda.text, node.item):
            continue
        to_device, to_host = places.of(node)
        start = node.item.span.start
        if to_device and Dropped("device", file.name, start) not in dropped:
            device.add(index)
        if to_host and Dropped("host", file.name, start) not in dropped:
            host.add(index)
    return decided._replace(device=frozenset(device), host=frozenset(host))


class _Places:
    def __init__(
        self, files: Sequence[MixedFile], decided: Sides, left_out: Collection[str]
    ) -> None:
        self._files = files
        self._decided = decided
        self._by_name: dict[str, list[int]] = defaultdict(list)
        for index, node in enumerate(decided.nodes):
            if index in decided.device or index in decided.host:
                for name in node.item.names:
                    self._by_name[name].append(index)
        self._not_on_host = _words(left_out)
        self._on_device = _ALWAYS.union(*map(_namespaces, files), *map(_libraries, files))

    def of(self, node: Node) -> tuple[bool, bool]:
        """Return whether an item goes to the device, and to the host."""
        text = self._files[node.file].cuda.text
        if opened := opened_namespace(text, node.item):
            return opened in self._on_device, opened not in self._not_on_host
        words = identifiers(self._files[node.file].code, [node.item.span])
        named = [self._by_name[word] for word in words if word in self._by_name]
        on_host = all(any(at in self._decided.host for at in some) for some in named)
        on_device = all(any(at in self._decided.device for at in some) for some in named)
        return on_device and not on_host, on_host or not on_device


def _namespaces(file: MixedFile) -> frozenset[str]:
    return frozenset(_namespaces_in(file.cuda.items))


def _namespaces_in(items: Iterable[Item]) -> Iterator[str]:
    for item in items:
        if item.kind == "namespace":
            yield from item.names
        yield from _namespaces_in(item.children)


def _libraries(file: MixedFile) -> frozenset[str]:
    items = file.include_items()
    return _words(item.path for item in items if file.includes[item.span.start].owner == "device")


def _words(headers: Iterable[str]) -> frozenset[str]:
    return frozenset(library.word for library in map(library_of, headers) if library)
