"""`Export`: a function to export, as it was asked for."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from .dispatch import Instances, instances_of
from .form import to_json
from .launch import Launch


class Export(NamedTuple):
    """A function to export; `instances` as of a `Dispatch`, None where the sources decide."""

    name: str
    doc: str = ""
    instances: Instances | None = None

    @property
    def launches(self) -> tuple[Launch, ...]:
        """The launches of all instances, in order."""
        return tuple(launch for launches in self.instances or () for launch in launches)


def key_text(exports: Iterable[Export]) -> str:
    """Return everything of exports as one text for a key."""
    found = [[x.name, x.doc, x.instances and to_json(x.instances)] for x in exports]
    return json.dumps(found, sort_keys=True)


def read_functions(value: Any) -> tuple[Export, ...] | None:
    """Return the argument `functions` in one form; None where it is left out.

    Raises
    ------
    TypeError, ValueError
        It is wrong; the message names the function.
    """
    if value is None:
        return None
    if isinstance(value, str):
        value = (value,)
    if isinstance(value, Mapping):
        docs = getattr(value, "docs", {})  # a Description's
        exports = (_export(name, spec) for name, spec in value.items())
        return tuple(x._replace(doc=docs[x.name]) if x.name in docs else x for x in exports)
    if isinstance(value, bytes) or not isinstance(value, Iterable):
        raise TypeError(
            f"functions is a name, a sequence of names or a mapping, got {type(value).__name__}"
        )
    return tuple(Export(identifier("functions", name)) for name in dict.fromkeys(value))


def _export(name: Any, spec: Any) -> Export:
    name = identifier("functions", name)
    if isinstance(spec, str | None):
        return Export(name, doc=spec or "")
    return Export(name, instances=instances_of(f"functions[{name!r}]", spec))


def identifier(what: str, name: object) -> str:
    """Return a name that C can have; raises TypeError, ValueError."""
    if not isinstance(name, str):
        raise TypeError(f"{what}: a name is a str, got {type(name).__name__}")
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise ValueError(f"{what}: {name!r} is not a name that C can have")
    return name
