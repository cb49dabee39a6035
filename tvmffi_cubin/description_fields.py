"""The fields of a `Description`: which there are, and what they may be."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from .arguments import file_name, identifier
from .dispatch import Dispatch
from .document import json_values
from .launch import Launch
from .launch_json import Launched

__all__ = [
    "PLACES",
    "checked_further",
    "checked_images",
    "checked_launches",
    "checked_options",
    "unknown_fields",
    "without_facts",
]

PLACES = ("path", "base64", "file")
"""Where an image may be."""

_MAPPINGS = ("signatures", "lowered_names")
# Of what is not known: it is written deeper than a short form had it, and has to be read again.
_MOST_NESTED = 48
_PTX = (None, "assemble", "keep")

# What a manifest tells beside: it follows from what else it says, or from the images.
_FACTS = {
    "": ("kernels", "bound", "versions"),
    "function": ("signature", "params", "bound", "fixes_block", "callers_grid"),
    "image": ("arch", "kind", "cuda_version", "bytes", "crc32", "log", "kernels", "members"),
}


def checked_launches(name: str, given: Any) -> Launched:
    """Return how a function launches, checked; `name` is the function's.

    Raises
    ------
    TypeError, ValueError
        A value is wrong.
    """
    where = f"functions.{identifier('functions', name)}"
    if isinstance(given, Launch | Dispatch):
        return given
    if not isinstance(given, list | tuple) or not all(isinstance(x, Launch) for x in given):
        raise TypeError(
            f"{where}: wanted a Launch, a list of them or a Dispatch, got {type(given).__name__}; "
            "Description.read takes JSON values"
        )
    if not given:
        raise ValueError(f"{where}: the list of launches is empty")
    return given[0] if len(given) == 1 else tuple(given)


def checked_options(name: object, arch: object, ptx: object) -> None:
    """Check what a description says of the module.

    Raises
    ------
    TypeError, ValueError
        A value is wrong.
    """
    if name != "":
        file_name("name", name)
    archs = [] if arch is None else [arch] if isinstance(arch, str) else arch
    if not isinstance(archs, list | tuple) or not all(isinstance(x, str) for x in archs):
        raise TypeError(f"arch: wanted a str such as 'sm_90a', or a list of those, got {arch!r}")
    if arch is not None and not (archs and all(archs)):
        raise ValueError("arch: it is empty; leave it out for the current device's")
    if ptx not in _PTX:
        raise ValueError(f"ptx: wanted 'assemble' or 'keep', got {ptx!r}")


def checked_images(images: object) -> dict[str, dict[str, Any]]:
    """Return what a description says of its images, checked.

    Raises
    ------
    TypeError, ValueError
        A value is wrong.
    """
    if not isinstance(images, Mapping):
        raise TypeError(f"images: wanted a mapping, got {type(images).__name__}")
    found = {}
    for name, image in images.items():
        where = f"images.{identifier('images', name)}"
        if not isinstance(image, Mapping):
            raise TypeError(
                f'{where}: wanted an object such as {{"path": "k.cubin"}}, got '
                f"{type(image).__name__}"
            )
        found[name] = json_values(image, where)
        _check_image(where, found[name])
    return found


def _check_image(where: str, image: Mapping[str, Any]) -> None:
    places = [name for name in PLACES if name in image]
    if len(places) > 1:
        raise ValueError(f"{where}: an image is in one place, got {' and '.join(places)}")
    for name in places:
        if not isinstance(image[name], str):
            raise TypeError(f"{where}.{name}: wanted a str, got {type(image[name]).__name__}")
        if not image[name]:
            raise ValueError(f"{where}.{name}: it is empty")
    for name in _MAPPINGS:
        given = image.get(name, {})
        if not isinstance(given, dict) or not all(isinstance(x, str) for x in given.values()):
            raise TypeError(f"{where}.{name}: wanted an object of str, got {given!r}")


def checked_further(further: object) -> dict[str, dict[str, Any]]:
    """Return the fields that are not known, by their object's place, checked; none that is empty.

    Raises
    ------
    TypeError, ValueError
        A value is none of JSON's.
    """
    if not isinstance(further, Mapping):
        raise TypeError(f"further: wanted a mapping, got {type(further).__name__}")
    for place, fields in further.items():
        if not isinstance(fields, Mapping):
            raise TypeError(f"further[{place!r}]: wanted a mapping, got {type(fields).__name__}")
    return {
        place: json_values(fields, f"further[{place!r}]", _MOST_NESTED)
        for place, fields in further.items()
        if fields
    }


def unknown_fields(
    further: Mapping[str, Mapping[str, Any]], images: Mapping[str, Mapping[str, Any]]
) -> dict[str, dict[str, Any]]:
    """Return the fields that are neither known nor facts, by the place of their object."""
    found = {
        f"images.{name}": _without(image, (*PLACES, *_MAPPINGS, *_FACTS["image"]))
        for name, image in images.items()
    }
    for place, fields in further.items():
        facts = () if ".launches[" in place else _FACTS["function" if place else ""]
        found[place] = _without(fields, facts)
    return {place: fields for place, fields in found.items() if fields}


def _without(fields: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if name not in names}


def without_facts(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return a module's manifest without what follows from the rest of it or from its images."""
    return {
        **_left(manifest, ""),
        "functions": {name: _function(facts) for name, facts in manifest["functions"].items()},
        "images": {name: _left(image, "image") for name, image in manifest["images"].items()},
    }


def _function(facts: Any) -> Any:
    left = _left(facts, "function")
    instances = left.get("instances") if isinstance(left, dict) else None
    if isinstance(instances, list):
        left["instances"] = [_left(instance, "function") for instance in instances]
    return left


def _left(values: Any, kind: str) -> Any:
    """Return an object without its facts; what is none is left to those who read it."""
    if not isinstance(values, Mapping):
        return values
    # Images always have the mappings, which mostly are empty.
    left = {name: x for name, x in values.items() if name not in _FACTS[kind]}
    return {name: x for name, x in left.items() if name not in _MAPPINGS or x}
