"""`Description`: functions, how they launch, and their images, as a document that others write."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .arguments import check_unicode
from .bound_params import module_params
from .description_fields import (
    PLACES,
    checked_further,
    checked_images,
    checked_launches,
    checked_options,
    unknown_fields,
    without_facts,
)
from .description_reader import read_description
from .document import parse_json, parse_toml
from .export import Described
from .launch_json import Launched, argument_value, function_value, places
from .schema import SCHEMA, check_schema

if TYPE_CHECKING:
    from .module import Module

__all__ = ["Description", "parse_description"]


@dataclass(frozen=True)
class Description(Described):
    """What a module is made of but for its images' bytes: JSON to compilers, and a mapping here.

    It maps names of functions to how they launch, so that ``load_inline(functions=description)``
    takes it. The form is that of docs/launch_descriptions.md.

    Parameters
    ----------
    functions : mapping of str to Launch, sequence of Launch or Dispatch
        Without any, every kernel of the images is exported.
    docs : mapping of str to str
        Docstrings of functions.
    images : mapping of str to mapping
        By name, what is said of an image: where it is (``"path"``, ``"base64"`` or ``"file"``), and
        what is known of its kernels (``"signatures"``, ``"lowered_names"``, see `Cubin`).
    name : str
        The module's name.
    arch, ptx, bound_params
        As in `load_inline`.
    schema : str
        The version of the form, ``"2.0"``.
    further : mapping of str to mapping
        Fields that this version does not know, by the place of the object that has them, such as
        ``"functions.k.launches[0]"``; that of the document is ``""``. Those of images are there.
    path : str
        The file that it was read from; relative paths of images start at its folder.

    Raises
    ------
    TypeError, ValueError
        A value is wrong; the message names its place.
    """

    functions: Mapping[str, Launched] = field(default_factory=dict)
    docs: Mapping[str, str] = field(default_factory=dict)
    images: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    name: str = ""
    arch: Any = None
    ptx: str | None = None
    bound_params: Any = ()
    schema: str = SCHEMA
    further: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    path: str = field(default="", compare=False)

    __hash__ = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        check_schema(self.schema, "schema")
        if not isinstance(self.functions, Mapping):
            raise TypeError(f"functions: wanted a mapping, got {type(self.functions).__name__}")
        functions = {name: checked_launches(name, x) for name, x in self.functions.items()}
        self._set("functions", functions)
        for name, doc in dict(self.docs).items():
            if name not in functions or not isinstance(doc, str):
                raise ValueError(f"docs: wanted a function's name and a str, got {name!r}: {doc!r}")
            check_unicode(f"{_place(name)}.doc", doc)
        self._set("docs", {name: doc for name, doc in self.docs.items() if doc})
        self._set("images", checked_images(self.images))
        checked_options(self.name, self.arch, self.ptx)
        self._set("arch", list(self.arch) if isinstance(self.arch, tuple) else self.arch)
        self._set("bound_params", [param.given for param in module_params(self.bound_params)])
        # What belonged to a launch that is gone is gone, too.
        known = {"", *map(_bound_place, range(len(self.bound_params)))}
        known.update(x for name in functions for x in places(functions[name], _place(name)))
        kept = {x: fields for x, fields in checked_further(self.further).items() if x in known}
        self._set("further", kept)

    def __getitem__(self, name: str) -> Launched:
        """Return how a function launches."""
        return self.functions[name]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the functions' names."""
        return iter(self.functions)

    def __len__(self) -> int:
        """Return the number of functions."""
        return len(self.functions)

    @classmethod
    def read(cls, source: str | os.PathLike[str] | bytes | Mapping[str, Any]) -> Description:
        """Read a description.

        Parameters
        ----------
        source : path, str, bytes or mapping
            A file, JSON or with the suffix ``.toml`` TOML; a JSON text, as a str one that begins
            with ``{``; or its values.

        Raises
        ------
        OSError
            The file cannot be read.
        TypeError, ValueError
            It is no description, or one of a newer major version; the message has the place.
        """
        if isinstance(source, Mapping):
            return _made(source, "description")
        if isinstance(source, str) and source.lstrip("\ufeff \t\r\n").startswith("{"):
            # What is no Unicode is refused as bytes that are none.
            source = source.encode(errors="surrogatepass")
        if isinstance(source, bytes | bytearray | memoryview):
            return parse_description(bytes(source), "description")
        if not isinstance(source, str | os.PathLike):
            raise TypeError(
                f"Description.read takes a path, bytes or a mapping, got {type(source).__name__}"
            )
        path = os.path.abspath(os.fsdecode(source))
        with open(path, "rb") as file:
            return parse_description(file.read(), os.fsdecode(source), path)

    @classmethod
    def of(cls, source: Module | str | os.PathLike[str]) -> Description:
        """Return the description of a module, by which it can be built again from its images.

        ``load_description(Description.of(mod), embed_cubin=mod.cubins)`` has the same functions.

        Parameters
        ----------
        source : Module or path
            A loaded module, or a shared object or object that this package made.

        Raises
        ------
        OSError
            The file cannot be read.
        TypeError, ValueError
            It is none of these, or does not say what it has.
        """
        if isinstance(source, str | os.PathLike):
            from .artifact import manifest_of

            what = os.fsdecode(source)
            try:
                manifest = manifest_of(source)
            except ValueError as error:
                raise ValueError(f"{what}: {error}") from None
        else:
            from .module import Module

            if not isinstance(source, Module):
                raise TypeError(
                    f"Description.of takes a Module or a path, got {type(source).__name__}"
                )
            what, manifest = source.path, source.manifest
        if not manifest:
            raise ValueError(f"{what}: it has no manifest, tvmffi_cubin did not build it")
        return _made(without_facts(manifest), f"the manifest of {what}")

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values; `read` makes the same description of them.

        Raises
        ------
        TypeError
            A launch carries an image: in JSON images have names.
        """
        functions = {}
        for name, given in self.functions.items():
            value = function_value(given, where=_place(name), further=self.further)
            doc = {"doc": self.docs[name]} if name in self.docs else {}
            functions[name] = {**doc, **value}
        values = {
            "schema": self.schema,
            "name": self.name,
            "arch": self.arch,
            "ptx": self.ptx,
            "bound_params": [*self._bound_values()],
            "functions": functions,
            "images": {name: dict(image) for name, image in self.images.items()},
        }
        # Values are edited; the description, which is one, stays as it is.
        return deepcopy({**{k: x for k, x in values.items() if x}, **self.further.get("", {})})

    def _bound_values(self) -> Iterator[Any]:
        for i, param in enumerate(module_params(self.bound_params)):
            where = _bound_place(i)
            # Written as a name alone, it would have no place for further fields.
            given = param.bound if where in self.further else param.given
            yield argument_value(given, where=where, further=self.further)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write it as a JSON file; paths of images stay as they are.

        Raises
        ------
        OSError
            The file cannot be written.
        TypeError, ValueError
            A launch carries an image; or the file would be read as TOML.
        """
        from .atomic import write_output

        if os.fsdecode(path).endswith(".toml"):
            raise ValueError(f"{os.fsdecode(path)}: what is written is JSON: name it .json")
        text = json.dumps(self.to_json(), indent=2, allow_nan=False)
        write_output(Path(path), f"{text}\n".encode())

    def unknown(self) -> Iterator[str]:
        """Yield the places of fields that have no effect, because this version knows none such.

        Fields that begin with ``x_`` are their author's own, and left out.
        """
        for place, fields in self.carried().items():
            names = (name for name in fields if not name.startswith("x_"))
            yield from (f"{place}.{name}".removeprefix(".") for name in names)

    def carried(self) -> dict[str, dict[str, Any]]:
        """Return those fields and their author's own, by place: the module's manifest has them."""
        return unknown_fields(self.further, self.images)

    def options(self) -> dict[str, Any]:
        """Return what `load_inline` takes beside the functions, images where it says their place.

        `load_description` gives it those; ``load_inline(functions=description)`` warns of them.
        """
        placed = [name for name, image in self.images.items() if image.keys() & set(PLACES)]
        said = {name: getattr(self, name) for name in ("arch", "ptx", "bound_params")}
        return {**said, "embed_cubin": placed}

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)


def parse_description(data: bytes, what: str, path: str = "") -> Description:
    """Return the description that a text is.

    Parameters
    ----------
    data : bytes
        The content of a file.
    what : str
        What messages call it.
    path : str
        The file, whose suffix tells the form.

    Raises
    ------
    TypeError, ValueError
        As of `Description.read`.
    """
    try:
        values = parse_toml(data) if path.endswith(".toml") else parse_json(data)
    except ValueError as error:
        raise ValueError(f"{what}: {error}") from None
    return _made(values, what, path)


def _made(values: Any, what: str, path: str = "") -> Description:
    found = read_description(values, what)
    try:
        return Description(**found, path=path)
    except (TypeError, ValueError) as error:
        again = TypeError if isinstance(error, TypeError) else ValueError
        raise again(f"{what}: {error}") from None


def _bound_place(position: int) -> str:
    return f"bound_params[{position}]"


def _place(function: str) -> str:
    return f"functions.{function}"
