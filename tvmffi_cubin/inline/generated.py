"""`Generated`: what a caller's own compiler has made, checked; made once, and kept in the cache."""

from __future__ import annotations

import contextlib
import inspect
import json
import math
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from ..cache import store
from ..cache.entry import Entry, Product
from ..cache.files import remove
from ..cache.info import seen
from ..kernels.cubin import Cubin
from ..launches.dispatch import Dispatch
from ..launches.export import identifier, read_functions
from ..launches.form import Launched, function_value, read_function
from ..launches.launch import Launch

_INDEX = "generated.json"
_IMAGE_TYPES = (str, os.PathLike, bytes, bytearray, memoryview, Cubin)
_of_thread = threading.local()


class Generated(NamedTuple):
    """What there is to make a module of.

    `images` are by name; `functions` say how kernels launch, where the compiler has told, and name
    their images; `description` has the same as a whole `Description` in JSON.
    """

    images: Mapping[str, Cubin]
    functions: Mapping[str, Launched] | None = None
    description: Mapping[str, Any] | None = None


def is_kept(digest: str) -> bool:
    """Whether the cache has what is made for a key."""
    return isinstance(store.default().find(digest), Entry)


class _Raised(Exception):
    """Carries an error past the cache, which would take some as its own and try again."""

    def __init__(self, error: BaseException) -> None:
        self.error = error


def obtain(digest: str, name: str, generate: Callable[..., Any]) -> tuple[Generated, bool]:
    """Return what was made for a key, and whether it was made now, by `generate`.

    Of several threads and processes one calls it, however long that takes, and the others wait;
    where that one is killed, the next calls it. What it raises is passed on, and nothing is kept.
    """
    seconds: list[float] = []

    def make(folder: Path) -> Product:
        begun = time.perf_counter()
        staging = folder / "generate"
        staging.mkdir()
        try:
            made = generated(call_generate(generate, staging), module=name)
        except BaseException as error:
            raise _Raised(error) from None
        remove(staging)
        seconds.append(time.perf_counter() - begun)
        return _stored(made, folder)

    start = time.perf_counter()
    entry, failure = None, None
    with once(digest, f"lazy({name!r}): generate uses the module that it is to make"):
        try:
            entry = store.default().obtain(
                digest, make, patience=math.inf, name=name, is_shared=True
            )
        except _Raised as raised:
            failure = raised.error
    _count(name, entry, sum(seconds), time.perf_counter() - start)
    if failure is not None:
        raise failure
    assert entry is not None
    return _read(entry), bool(seconds)


def _count(name: str, entry: Entry | None, built: float, total: float) -> None:
    """Count a look-up, of which nothing came where `generate` failed."""
    images, reason = f"{name} (images)", "no images are kept under this key"
    if entry is None or built or entry.is_taken:
        outcome = "failed" if entry is None else "remote" if entry.is_taken else "built"
        seen.missed(images, outcome, reason, looked=0.0, built=built, total=total)
    else:
        seen.found(images, entry.level, total)


def discard(digest: str) -> None:
    """Forget what was made for a key, of which it turns out that nothing can be made."""
    entry = store.default().find(digest)
    if isinstance(entry, Entry) and entry.level != "layer":
        remove(entry.path)


@contextlib.contextmanager
def once(what: str, circle: str) -> Iterator[None]:
    """Raise RuntimeError with the text `circle` where this thread is at the same work already."""
    begun: set[str] = _of_thread.__dict__.setdefault("begun", set())
    if what in begun:
        raise RuntimeError(circle)
    begun.add(what)
    try:
        yield
    finally:
        begun.discard(what)


def call_generate(generate: Callable[..., Any], folder: Path) -> Any:
    """Return what `generate` returns; where that is a file in the folder, its path.

    It is called without arguments, or with the empty folder, if it takes one. One that got the
    folder and returns None has left one file there: else that is a ValueError.
    """
    if not _takes_folder(generate):
        return generate()
    value = generate(folder)
    if isinstance(value, str | os.PathLike) and not (isinstance(value, str) and "\n" in value):
        return folder / value
    if value is not None:
        return value
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    if len(files) != 1:
        names = ", ".join(str(path.relative_to(folder)) for path in files) or "none"
        raise ValueError(
            f"generate returned None and left {len(files)} files in its folder ({names}): wanted "
            "one, the image; or return its path"
        )
    return files[0]


def _takes_folder(generate: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(generate).parameters.values()
    except (TypeError, ValueError):
        return False  # of a callable written in C, which does not say
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return any(p.kind in positional and p.default is p.empty for p in parameters)


def generated(value: Any, *, module: str) -> Generated:
    """Check what `generate` has returned; what has no name gets the module's.

    Raises
    ------
    TypeError, ValueError, OSError
        It is nothing that a module can be made of; the message says what came.
    """
    from ..formats.description import Description

    what = f"lazy({module!r}): what generate returned"
    if isinstance(value, Description):
        return _described(what, value)
    if not isinstance(value, Mapping):
        if _is_launched(value):
            return _with_functions(what, {identifier(what, module): value})
        name = module if module.isascii() and module.isidentifier() else "image"
        return Generated({name: _image(what, value)})
    if not value:
        raise ValueError(f"{what} is an empty mapping: give one image or function at least")
    if not any(map(_is_launched, value.values())):
        named = {identifier(what, name): x for name, x in value.items()}
        return Generated({name: _image(f"{what}[{name!r}]", x) for name, x in named.items()})
    other = next((name for name, x in value.items() if not _is_launched(x)), None)
    if other is not None:
        raise TypeError(
            f"{what} has functions, and {other!r} is {type(value[other]).__name__}: give images "
            "with their launches, Launch(image=...), or images alone"
        )
    return _with_functions(what, value)


def _is_launched(value: object) -> bool:
    if isinstance(value, list | tuple):
        return bool(value) and all(isinstance(x, Launch) for x in value)
    return isinstance(value, Launch | Dispatch)


def _described(what: str, description: Any) -> Generated:
    """Take a description's images, wherever it has them."""
    from ..formats.load import described_images
    from .images import ImageFile

    given = described_images(description)
    if not given:
        raise ValueError(f"{what} is a description without images: have it say where they are")
    for name, x in given.items():
        if isinstance(x, ImageFile):
            raise ValueError(
                f"{what}: image {name!r} is to lie in a file beside a shared object, and a lazy "
                'module has its own in the cache: say "path" instead of "file"'
            )
    images = {name: _image(f"{what}: image {name!r}", x) for name, x in given.items()}
    facts = {
        name: {key: x for key, x in said.items() if key not in ("path", "base64")}
        for name, said in description.images.items()
    }
    return Generated(images, description=replace(description, images=facts).to_json())


def _with_functions(what: str, functions: Mapping[str, Launched]) -> Generated:
    """Take the images out of launches, which then name them."""
    from .images import embed

    exports, given, _ = embed(None, read_functions(functions), {}, "")
    named: dict[str, Launched] = {}
    for export in exports or ():
        for image in {launch.image for launch in export.launches} - given.keys():
            raise ValueError(
                f"{what}: function {export.name!r} is of "
                + ("no image" if image is None else f"the image {image!r}, which is not there")
                + ": give its launch the image, Launch(image=...), as bytes, a Cubin or a Path"
            )
        named[export.name] = Dispatch(export.instances)
    return Generated({name: _checked(what, image) for name, image in given.items()}, named)


def _image(what: str, value: Any) -> Cubin:
    if not isinstance(value, _IMAGE_TYPES):
        raise TypeError(
            f"{what} is {type(value).__name__}: wanted an image (bytes, a Cubin or the path of a "
            "file) or a Launch with its image, or a mapping of names to images or to such launches"
        )
    from ..kernels.image import take_image

    return _checked(what, take_image(what, value))


def _checked(what: str, given: Cubin) -> Cubin:
    """Return an image; whatever is wrong with it is found before it is kept."""
    from ..device.image import given_image

    try:
        given_image("image", given)
    except ValueError as error:
        raise error if given.name.startswith(what) else ValueError(f"{what}: {error}") from None
    return given


def _stored(made: Generated, folder: Path) -> Product:
    """Write into an empty folder what is to be published."""
    images: dict[str, dict[str, Any]] = {}
    for name, cubin in made.images.items():
        file = f"{name}.image"
        (folder / file).write_bytes(cubin.image)
        images[name] = {"file": file, "cubin": cubin.facts}
    functions = None
    if made.functions is not None:
        functions = {name: function_value(x) for name, x in made.functions.items()}
    index = {"images": images, "functions": functions, "description": made.description}
    (folder / _INDEX).write_text(json.dumps(index))
    files = tuple(image["file"] for image in images.values())
    return Product(so=_INDEX, keep=files, used=files)


def _read(entry: Entry) -> Generated:
    """Return what was stored; the look-up has compared it with its manifest."""
    index = json.loads(entry.so.read_text())
    images = {
        name: Cubin((entry.path / x["file"]).read_bytes(), **x["cubin"])
        for name, x in index["images"].items()
    }
    if index["functions"] is None:
        return Generated(images, description=index["description"])
    return Generated(images, {k: read_function(x, where=k) for k, x in index["functions"].items()})
