"""JSON descriptions of functions, their launches and images; and the modules built from them."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..artifacts.artifact import manifest_of, open_artifact
from ..errors import bare
from ..inline.calls import build_inline, load_inline
from ..inline.images import ImageFile
from ..inline.options import TextOptions, Texts, spelled_out
from ..kernels.cubin import take_image
from ..launches import SCHEMA, check_schema
from ..launches.form import identifier, read_function
from ..launches.values import told
from .tvm_table import json_launches

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..module import Module

Source = str | os.PathLike[str] | bytes | Mapping[str, Any]

OPTIONS = ("name", "arch", "ptx", "bound_params")
"""Fields passed to `load_inline` unchanged."""
FACTS = ("signatures", "lowered_names")
"""Fields that say what an image's kernels take."""


class Functions(dict[str, Any]):
    """Functions in the form that `load_inline` takes, with docstrings by name."""

    docs: Mapping[str, str] = {}


class Description(NamedTuple):
    """The contents of a description."""

    functions: Functions
    images: Mapping[str, Mapping[str, Any]]
    values: Mapping[str, Any]  # the whole document as JSON values
    path: str  # of the file; image paths are relative to its folder


@bare
def describe(source: Module | str | os.PathLike[str]) -> dict[str, Any]:
    """Return the description of a module, from which it can be rebuilt.

    ``load_description(describe(mod), embed_cubin=mod.cubins)`` has the same functions.

    Parameters
    ----------
    source : Module or path
        A loaded module, or the shared object or object file of one.
    """
    path = getattr(source, "path", source)
    if not (manifest := manifest_of(path)):
        raise ValueError(f"{path} has no manifest: tvmffi_cubin did not build it")
    functions = {}
    for name, facts in manifest["functions"].items():
        functions[name] = {key: facts[key] for key in ("doc", "launches") if key in facts}
        if "instances" in facts:
            functions[name]["instances"] = [{"launches": x["launches"]} for x in facts["instances"]]
    values = {
        "schema": SCHEMA,
        **{key: manifest.get(key) for key in OPTIONS},
        "functions": functions,
        "images": {
            name: {key: facts[key] for key in ("file", *FACTS) if facts.get(key)}
            for name, facts in manifest["images"].items()
        },
    }
    return {name: value for name, value in values.items() if value}


def read_description(source: Source) -> Description:
    """Read a description or a TVM table; error messages name the place in it."""
    values, path = read_source(source)
    with told(path or "description"):
        values = _fields("the document", values)
        if "func_info" in values:
            return Description(Functions(json_launches(values)), {}, values, path)
        if values and values.keys().isdisjoint(("schema", "functions", "images")):
            values = {"functions": values}
        check_schema(values.get("schema", SCHEMA), "schema")
        values = _fields("the document", values, ("schema", *OPTIONS, "functions", "images"))
        functions, docs, images = Functions(), {}, {}
        for name, value in _fields("functions", values.get("functions", {})).items():
            where = f"functions.{identifier('functions', name)}"
            if isinstance(value, Mapping):
                value = {key: x for key, x in value.items() if not key.startswith("x_")}
                docs[name] = str(value.pop("doc", ""))
            functions[name] = read_function(value, where=where)
        functions.docs = docs
        for name, value in _fields("images", values.get("images", {})).items():
            where = f"images.{identifier('images', name)}"
            images[name] = _fields(where, value, ("path", "base64", "file", *FACTS))
        return Description(functions, images, values, path)


def read_source(source: Any) -> tuple[Any, str]:
    """Return a document's values and its path.

    A binary table stays bytes; its first number contains zero bytes, which text does not.
    """
    data, path = source, ""
    is_text = isinstance(source, str) and source.lstrip().startswith("{")
    if not is_text and isinstance(source, str | os.PathLike):
        path = os.fspath(source)
        data = Path(path).read_bytes()
    if isinstance(data, Mapping) or (isinstance(data, bytes) and b"\0" in data[:8]):
        return data, path
    with told(path or "JSON"):
        return json.loads(data), path


def _fields(where: str, value: Any, known: Sequence[str] = ()) -> dict[str, Any]:
    """Return an object's fields; with `known`, check them and drop the ``x_`` fields."""
    if not isinstance(value, Mapping):
        raise TypeError(f"{where}: expected an object, got {type(value).__name__}")
    if not known:
        return dict(value)
    fields = {name: x for name, x in value.items() if not name.startswith("x_")}
    for name in fields.keys() - known:
        raise ValueError(f"{where}: unknown field {name!r}; available: {', '.join(known)}")
    return fields


@spelled_out(TextOptions)
def load_description(
    description: Source,
    *,
    name: str | None = None,
    cuda_sources: Texts = None,
    keep_module_alive: bool = True,
    **options: Unpack[TextOptions],
) -> Module:
    """Build a module from a description and its images, and load it.

    Parameters
    ----------
    description : path, str, bytes or mapping
        A JSON file, JSON text (a str that begins with ``{``), or its values; or a TVM table.
    name : str, optional
        The module's name. Default: the description's, else its file name without suffix.
    cuda_sources, keep_module_alive, **options
        As in `load_inline`, including the errors raised; they override the description. An image in
        `embed_cubin` replaces the one of its name, or, without a name, the only one. Sources become
        the image ``kernels``.
    """
    arguments = _arguments(description, name=name, cuda_sources=cuda_sources, **options)
    return load_inline(keep_module_alive=keep_module_alive, **arguments)


@spelled_out(TextOptions)
def build_description(
    description: Source,
    *,
    name: str | None = None,
    cuda_sources: Texts = None,
    output: str | os.PathLike[str] | None = None,
    **options: Unpack[TextOptions],
) -> str:
    """Build what `load_description` would load, without loading it, as `build_inline` does."""
    arguments = _arguments(description, name=name, cuda_sources=cuda_sources, **options)
    return build_inline(output=output, **arguments)


def _arguments(source: Source, **options: Any) -> dict[str, Any]:
    """Return the arguments for `load_inline`."""
    description = read_description(source)
    return {
        "name": os.path.basename(description.path).partition(".")[0],
        "functions": description.functions or None,
        **{key: description.values[key] for key in OPTIONS if description.values.get(key)},
        **{key: value for key, value in options.items() if value is not None},
        "embed_cubin": described_images(description, options.get("embed_cubin")),
    }


def described_images(description: Description, given: Any = None) -> Any:
    """Return a description's images by name; those given as ``embed_cubin`` replace its own."""
    images = description.images
    if not images:
        return given
    if given is not None and not isinstance(given, Mapping):
        if len(images) > 1:
            raise ValueError(f"embed_cubin is one image; the description has {', '.join(images)}")
        given = dict.fromkeys(images, given)
    found: dict[str, Any] = dict(given or {})
    for name, said in images.items():
        if name in found:
            pass
        elif "path" in said:
            found[name] = os.path.join(os.path.dirname(description.path), said["path"])
        elif "base64" in said:
            found[name] = base64.b64decode(said["base64"])  # ignores line breaks, which tools add
        elif "file" in said:
            found[name] = ImageFile(said["file"])
        else:
            raise ValueError(f"images.{name}: set path or base64, or pass the image in embed_cubin")
        # For a file that does not exist yet, the launches declare what its kernels take.
        if not isinstance(found[name], ImageFile):
            image = take_image(f"embed_cubin[{name!r}]", found[name])
            known = {key: getattr(image, key) or said.get(key, {}) for key in FACTS}
            found[name] = replace(image, **known)
    return found


def describe_module(path: Path, output: Path) -> tuple[Path, ...]:
    """Write a module's description, ``k.json``, and its images next to it; return the files."""
    if output.exists() and output.samefile(path):
        raise ValueError(f"{output} is the module itself: pass another file, such as k.json")
    values = describe(path)
    with open_artifact(path) as artifact:
        cubins = artifact.cubins({})
    images, files = values.setdefault("images", {}), [output]
    for name, cubin in cubins.items():
        files.append(output.with_name(f"{output.stem}.{name}.{cubin.kind}"))
        images[name] = {"path": files[-1].name, **images.get(name, {})}
        files[-1].write_bytes(cubin.image)
    output.write_text(f"{json.dumps(values, indent=2)}\n", encoding="utf-8")
    return tuple(files)
