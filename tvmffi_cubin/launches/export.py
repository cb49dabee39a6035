"""`Export`: a function to export, as it was asked for."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
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


def key_text(exports: Sequence[Export]) -> str:
    """Return everything of exports as one text for a key."""
    # Many functions have the very same launch.
    launches = {id(launch): launch for x in exports for launch in x.launches}
    values = {key: to_json(launch) for key, launch in launches.items()}
    found = [
        [x.name, x.doc, x.instances and [[values[id(y)] for y in way] for way in x.instances]]
        for x in exports
    ]
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
    if isinstance(value, bytes) or not isinstance(value, Iterable):
        raise TypeError(
            f"functions is a name, a sequence of names or a mapping, got {type(value).__name__}"
        )
    if not isinstance(value, Mapping):
        names = (value,) if isinstance(value, str) else value
        value = {identifier("functions", name): None for name in names}
    docs = getattr(value, "docs", {})  # a Description's
    exports = []
    for name, given in value.items():
        doc, instances = docs.get(identifier("functions", name), ""), None
        if isinstance(given, str):
            doc = given
        elif given is not None:
            instances = instances_of(f"functions[{name!r}]", given)
        exports.append(Export(name, doc, instances))
    return tuple(exports)


def identifier(what: str, name: object) -> str:
    """Return a name that C can have; raises TypeError, ValueError."""
    if not isinstance(name, str):
        raise TypeError(f"{what}: a name is a str, got {type(name).__name__}")
    if not (name.isascii() and name.isidentifier()):
        raise ValueError(f"{what}: {name!r} is not a name that C can have")
    return name
