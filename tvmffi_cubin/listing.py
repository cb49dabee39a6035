"""`Listed`: an entry of the cache as people see it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .entry import read_manifest
from .inventory import Item
from .verification import Damaged

__all__ = ["Listed", "listed"]

_GENERATED = "generated.json"
# What entries are whose first file is called so.
_KINDS = {_GENERATED: "images", "tvmffi_cubin.host.o": "side", "tvmffi_cubin.device": "side"}
# In seconds since the epoch: no time that a clock shows.
_LAST = 1 << 40


@dataclass(frozen=True)
class Listed:
    """What is known of an entry.

    Attributes
    ----------
    key : str
        Its key.
    kind : str
        ``"module"``, ``"images"`` (of a lazy module), ``"side"`` (the object or the image of a
        mixed module), ``"headers"`` (precompiled ones); or ``"damaged"``, of which nothing else is
        known.
    name : str
        The module's name.
    archs : tuple of str
        What its images are for.
    size : int
        Bytes that it takes on the disk.
    built, used : float
        When, in seconds since the epoch; `used` to an hour.
    in_use : bool
        Whether a living process was given it.
    base_key : str
        The key under which it was built.
    """

    key: str
    kind: str
    name: str
    archs: tuple[str, ...]
    size: int
    built: float
    used: float
    in_use: bool
    base_key: str


def listed(items: Iterable[Item], in_use: Iterable[str]) -> Iterator[Listed]:
    """Return what is known of entries; those that are gone meanwhile are left out.

    Parameters
    ----------
    items : iterable of Item
        Entries and precompiled headers.
    in_use : iterable of str
        The keys that living processes have noted.
    """
    noted = set(in_use)
    for item in items:
        try:
            manifest = read_manifest(item.path, item.name)
        except FileNotFoundError:
            continue
        except (Damaged, OSError):
            manifest = {}
        yield Listed(
            key=item.name,
            kind=_kind(item, manifest),
            name=_name(manifest),
            archs=_archs(manifest),
            size=item.size,
            built=_moment(manifest.get("created"), item.used),
            used=item.used,
            in_use=item.name in noted,
            base_key=str(manifest.get("base_key", "")),
        )


def _kind(item: Item, manifest: Mapping[str, Any]) -> str:
    if not manifest:
        return "damaged"
    if item.kind == "header":
        return "headers"
    return _KINDS.get(manifest["so"], "module")


def _name(manifest: Mapping[str, Any]) -> str:
    if not manifest:
        return "?"
    name = manifest["facts"].get("name")
    # Of what has no name of its own, the first file that is not a list of others has one.
    file = next((x for x in (manifest["so"], *manifest["used"]) if x != _GENERATED), "?")
    text = name if isinstance(name, str) else os.path.splitext(file)[0]
    return _printable(text)


def _archs(manifest: Mapping[str, Any]) -> tuple[str, ...]:
    facts = manifest["facts"] if manifest else {}
    images, own = facts.get("images"), facts.get("archs")
    of_images = images.values() if isinstance(images, dict) else ()
    texts = [str(x.get("arch", "")) for x in of_images if isinstance(x, dict)]
    # What nvcc compiles is no image of its own.
    texts += map(str, own) if isinstance(own, list) else ()
    return tuple(sorted({arch for text in texts for arch in _printable(text).split(", ") if arch}))


# What was imported may have any text, and any time: no terminal obeys it, and it can be printed.
def _printable(text: str) -> str:
    return text if text.isprintable() else ascii(text)


def _moment(value: object, default: float) -> float:
    return float(value) if isinstance(value, int | float) and 0 <= value < _LAST else default
