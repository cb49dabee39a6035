"""`lazy`: a module whose images any compiler generates on first use, and which are then kept."""

from __future__ import annotations

import json
import math
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import config
from ..cache import store
from ..cache.entry import Entry, Key, Product
from ..cache.files import Value, remove
from ..cuda.arch import resolve_archs
from ..kernels.cubin import Cubin
from ..launches import SCHEMA
from ..launches.form import identifier, read_functions, to_json
from ..launches.launch import Dispatch, Launch
from .images import call_generate, checked_image, embed
from .options import TextOptions, Texts, file_name, spelled_out

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..module import Function, Module

_INDEX = "generated.json"


class LazyModule:
    """A module that is built on first use; see `lazy`.

    ``mod.k`` and ``mod["k"]`` are the module's `Function` objects; names that begin with an
    underscore need ``mod["_k"]``. Other attributes are those of the `Module`.
    """

    module: Module
    """The loaded module; the first access builds it, as `prepare` does."""

    _module: Module | None = None
    _maker: int | None = None  # the generating thread, which would wait for itself

    def __init__(
        self, name: str, generate: Callable[..., Any], digest: str, options: Mapping[str, Any]
    ) -> None:
        self._name = name
        self._generate = generate
        self._digest = digest
        self._options = dict(options)

    @property
    def is_generated(self) -> bool:
        """Whether the images already exist; generates none."""
        return self._module is not None or isinstance(store.default().find(self._digest), Entry)

    def prepare(self) -> None:
        """Build and load the module now, with images from the cache if it has them.

        If `generate` fails, nothing is kept, and the next use tries again. A TypeError or
        ValueError describes what is wrong with its result, which is not kept either.
        """
        self._load()

    def unload(self) -> None:
        """Free what the module has loaded, as `Module.unload` does; builds nothing."""
        if self._module is not None:
            self._module.unload()

    def __getattr__(self, name: str) -> Any:
        """Return the module or an attribute of it, such as a function; the first use builds it."""
        if name == "module":
            # Not a property: an AttributeError from `generate` would look like a missing attribute.
            return self._load()
        if name.startswith("_"):
            # Tools probe for these, which must not start a compiler.
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        from ..module import Function

        value = getattr(self._load(), name)
        if isinstance(value, Function):
            # From now on, Python finds the attribute without this method.
            self.__dict__[name] = value
        return value

    def __getitem__(self, name: str) -> Function:
        """Return a function by name."""
        return self._load()[name]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the functions' names."""
        return iter(self._load().functions)

    def __dir__(self) -> list[str]:
        """List attributes, and the functions that are known without building anything."""
        known = self._options.get("functions") or () if self._module is None else dir(self._module)
        return sorted({*super().__dir__(), *([known] if isinstance(known, str) else known)})

    def __repr__(self) -> str:
        """Show the module, or that it is not used yet."""
        state = "not used yet" if self._module is None else repr(self._module)
        return f"<tvmffi_cubin.LazyModule {self._name!r}: {state}>"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the constructor's arguments; unpickling processes find the images in the cache."""
        return LazyModule, (self._name, self._generate, self._digest, self._options)

    def _load(self) -> Module:
        if self._module is not None:
            return self._module
        if self._maker == threading.get_ident():
            raise RuntimeError(f"generate of {self._name!r} uses the module that it is generating")
        made_now, start = False, time.perf_counter()

        def make(folder: Path) -> Product:
            nonlocal made_now
            staging = folder / "generate"
            staging.mkdir()
            self._maker = threading.get_ident()
            try:
                value = call_generate(self._generate, staging)
            finally:
                self._maker = None
            made_now = True
            return _kept(folder, self._name, value)

        # Of concurrent threads and processes, one generates and the others wait.
        entry = store.default().obtain(
            self._digest, make, patience=math.inf, name=self._name, is_shared=True
        )
        if config.get("TVMFFI_CUBIN_RECORD"):
            from .recording import record_entry

            record_entry(self._name, "built" if made_now else entry.level, start, entry)
        try:
            self._module = self._loaded(entry)
        except (TypeError, ValueError):
            # What was just generated is inconsistent: if kept, every later use would fail.
            if made_now:
                remove(entry.path)
            raise
        return self._module

    def _loaded(self, entry: Entry) -> Module:
        index = json.loads(entry.so.read_text())
        images = {
            name: Cubin((entry.path / _file(name)).read_bytes(), **facts)
            for name, facts in index["images"].items()
        }
        options = {**self._options, "embed_cubin": images}
        if index["description"] is not None:
            from ..formats.description import load_description

            return load_description(index["description"], name=self._name, **options)
        from .calls import load_inline

        return load_inline(self._name, **options)


def _kept(folder: Path, module: str, value: Any) -> Product:
    """Write the result of `generate` to a folder: images, and a description without them."""
    what = f"lazy({module!r}): generate's result"
    given, said = value, None
    if isinstance(value, str | os.PathLike) and os.fsdecode(value).endswith(".json"):
        from ..formats.description import described_images, read_description

        description = read_description(value)
        given = described_images(description) or {}
        # The images kept beside it carry what it says of them.
        said = {key: x for key, x in description.values.items() if key != "images"}
    else:
        if not isinstance(value, Mapping):
            is_name = module.isascii() and module.isidentifier()
            given = {module if is_name else "image": value}
        if any(isinstance(x, Launch | Dispatch | list | tuple) for x in given.values()):
            exports, given, _ = embed(None, read_functions(given), {}, "")
            made = {x.name: {"instances": to_json(x.instances)} for x in exports or ()}
            said = {"schema": SCHEMA, "functions": made}
    facts = {}
    for name, x in given.items():
        cubin = checked_image(f"{what}[{identifier(what, name)!r}]", x)
        facts[name] = cubin.facts
        (folder / _file(name)).write_bytes(cubin.image)
    (folder / _INDEX).write_text(json.dumps({"images": facts, "description": said}))
    return Product(so=_INDEX, used=tuple(map(_file, facts)), facts={"name": module})


def _file(name: str) -> str:
    return f"{name}.image"


@spelled_out(TextOptions)
def lazy(
    name: str,
    cuda_sources: Texts = None,
    *,
    generate: Callable[..., Any],
    key: Value,
    keep_module_alive: bool = True,
    **options: Unpack[TextOptions],
) -> LazyModule:
    """Return a module whose images are generated by your compiler on first use.

    Nothing happens until a function is used. Then the images are looked up in the cache under
    `name` and `key`. On a miss, one of the processes that share the cache folder calls `generate`
    while the others wait. The result is kept, and the module is built and loaded as by
    `load_inline`.

    Parameters
    ----------
    name : str
        Name of the module.
    generate : callable
        Called as ``generate()``, or as ``generate(folder)`` with an empty folder, a
        ``pathlib.Path``, for its files. It returns an image (bytes, a `Cubin` or a file's path) or
        a mapping of names to images; or functions, which are kept with their images: a `Launch`
        that carries its image, as `triton.compile` returns it, a list of them, a `Dispatch`, or a
        mapping of names to those; or the path of a description, ``k.json``. An unnamed result
        gets the module's name.
    key : None, bool, int, float, str, bytes, or a list, tuple or mapping of those
        Everything that determines the images: the compiler's version and options, and the source
        or its hash. `arch` is added if it is given.
    cuda_sources, keep_module_alive, **options
        As in `load_inline`, except for `embed_cubin`, which the images replace.

    Returns
    -------
    LazyModule
        A module with the functions as attributes.
    """
    if not callable(generate):
        raise TypeError(f"generate must be a callable, got {type(generate).__name__}")
    if options.get("embed_cubin") is not None:
        raise TypeError("lazy() does not accept embed_cubin: generate returns the images")
    arch = options.get("arch")
    archs = None if arch is None else resolve_archs(arch)
    # Change the number with the stored format.
    full = Key("lazy images 3").add("schema", SCHEMA).add("name", file_name("name", name))
    digest = full.add("archs", archs).add("key", key).hexdigest()
    read_functions(options.get("functions"))  # fails before a compiler runs for minutes
    given = {"cuda_sources": cuda_sources, "keep_module_alive": keep_module_alive, **options}
    return LazyModule(name, generate, digest, {k: v for k, v in given.items() if v is not None})
