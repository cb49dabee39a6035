"""`Product`: what a build hands over to be published."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

__all__ = ["Product"]


class Product(NamedTuple):
    """What a build made in its private folder, and from which files.

    Attributes
    ----------
    so : str
        File name of the shared object.
    keep : tuple of str
        Other names in the folder that are published with it: images, generated sources.
    used : tuple of str
        Those of them that users of the entry read, as they do the shared object: a look-up sees
        that they are whole, too.
    dependencies : tuple of str
        Every file outside the folder that the build read, headers above all. Relative paths are
        relative to the private folder; what lies in it is left out.
    absent : tuple of str
        Absolute paths that the build would have read instead, had they existed.
    unknown : tuple of str
        What names files that the build read and that are not among its dependencies. Where there
        is any, nothing leads to the entry but the call that built it.
    outdated : str
        Why the tools that made it are not those that its key names, and what to do; empty where
        they are. Else nothing leads to it, either.
    facts : mapping
        JSON values for those who find the entry, such as lowered names.
    versions : mapping of str to str
        What it was made with.
    """

    so: str
    keep: tuple[str, ...] = ()
    used: tuple[str, ...] = ()
    dependencies: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    outdated: str = ""
    facts: Mapping[str, Any] = MappingProxyType({})
    versions: Mapping[str, str] = MappingProxyType({})
