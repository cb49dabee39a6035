"""`Export`: a function to export, as it was asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from dataclasses import fields as dataclass_fields
from typing import Any

from .bound import Bound
from .dispatch import Dispatch
from .launch import Launch
from .scratch import Scratch
from .tensor_map import TensorMap

__all__ = ["Described", "Export"]


class Described(Mapping[str, Any]):
    """A mapping of functions to their launches that has their docstrings, too.

    Attributes
    ----------
    docs : mapping of str to str
        By the function's name.
    """

    docs: Mapping[str, str]

    def unknown(self) -> Iterator[str]:
        """Yield the places of what was said and is not known here."""
        raise NotImplementedError


@dataclass(frozen=True)
class Export:
    """A function to export; `launches` None where the sources decide what it is.

    Of a `dispatch`, `launches` are those of all its instances.
    """

    name: str
    doc: str = ""
    launches: tuple[Launch, ...] | None = None
    dispatch: Dispatch | None = None

    def fields(self) -> list[Any]:
        """Return everything here as values for a key."""
        launches = None if self.launches is None else [_fields(x) for x in self.launches]
        # Which launches belong together; their fields are there already.
        sizes = None if self.dispatch is None else [len(x) for x in self.dispatch.instances]
        return [self.name, self.doc, launches, sizes]


def _fields(launch: Launch) -> list[Any]:
    # A key takes no account of the order of args, which does not matter to a launch.
    values = {field.name: getattr(launch, field.name) for field in dataclass_fields(launch)}
    values["args"] = {
        name: value.fields() if isinstance(value, TensorMap | Scratch | Bound) else value
        for name, value in launch.args.items()
    }
    for name in ("multiple_of", "equal_to"):
        values[name] = sorted((values[name] or {}).items())
    if launch.attributes is not None:
        values["attributes"] = sorted(launch.attributes.items())
    return list(values.values())
