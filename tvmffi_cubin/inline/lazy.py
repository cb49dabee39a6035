"""`lazy`: a module whose images are made on first use, by any compiler, and then kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from inspect import Parameter
from typing import TYPE_CHECKING, Any

from ..cache.key import Key
from ..cuda.arch import resolve_archs
from ..launches import SCHEMA
from .options import TextOptions, Texts, file_name, spelled_out

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..cache.key import Value
    from ..module import Function, Module

# `inspect` shows it as required; where it is missing, the error says more than Python's would.
_REQUIRED: Any = Parameter.empty
_DEEPEST = 100
# Changes with what is stored, or with what it means.
_FORM = 2


class LazyModule:
    """A module that is made when it is first used; see `lazy`.

    ``mod.k`` and ``mod["k"]`` are its functions, the very `Function` objects of the module; any
    other attribute is that of the `Module`. Names that begin with an underscore, and functions
    that are called as something here is, are had by ``mod["_k"]`` alone.
    """

    module: Module
    """The module; `prepare` makes it, where nothing has yet."""

    _module: Module | None = None

    def __init__(
        self, name: str, generate: Callable[..., Any], digest: str, options: Mapping[str, Any]
    ) -> None:
        self._name = name
        self._generate = generate
        self._digest = digest
        self._options = dict(options)

    @property
    def is_generated(self) -> bool:
        """Whether the images are there, so that a first use makes none; makes nothing itself."""
        from .generated import is_kept

        return self._module is not None or is_kept(self._digest)

    def prepare(self) -> None:
        """Make and load the module now, unless it is: take its images from the cache, or make them.

        Raises
        ------
        Exception
            Whatever `generate` raises, as it is. Nothing is kept then; the next use tries again.
        TypeError, ValueError, OSError
            What it returns is neither images nor functions with their images.
        RuntimeError
            `generate` uses the module that it is to make.
        CubinError, TypeError, ValueError
            As `load_inline` of these images.
        """
        self._load()

    def unload(self) -> None:
        """Free what the module has loaded, see `Module.unload`; one not used yet is not made."""
        if self._module is not None:
            self._module.unload()

    def __getattr__(self, name: str) -> Any:
        """Return the module, a function, or another attribute of it; the first use makes it."""
        if name == "module":
            # No property: an AttributeError of `generate` would mean there that it has none.
            return self._load()
        if name.startswith("_"):
            # Tools ask for these, and must not start a compiler by it.
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        known = self._known
        if self._module is None and known is not None and name not in known:
            from ..module import Module

            if not hasattr(Module, name):
                names = ", ".join(known) or "none"
                raise AttributeError(f"module has no function {name!r}; there are {names}")
        from ..module import Function

        value = getattr(self._load(), name)
        if isinstance(value, Function):
            # From now on the attribute is looked up by Python alone.
            self.__dict__[name] = value
        return value

    def __getitem__(self, name: str) -> Function:
        """Return a function by name."""
        return self._load()[name]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the functions' names."""
        return iter(self._known if self._known is not None else self._load())

    def __dir__(self) -> list[str]:
        """List attributes, and the functions as far as they are known without making anything."""
        if self._module is not None:
            return sorted({*super().__dir__(), "module", *dir(self._module)})
        # Without `module`: completion looks up what it lists, Jedi's as well as the interpreter's.
        return sorted({*super().__dir__(), *(self._known or ())})

    def __repr__(self) -> str:
        """The module, or that there is none yet."""
        if self._module is not None:
            return f"<tvmffi_cubin.LazyModule {self._name!r}: {self._module!r}>"
        functions = "" if self._known is None else f": {', '.join(self._known)}"
        return f"<tvmffi_cubin.LazyModule {self._name!r}, not used yet{functions}>"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle what it is made from; who unpickles it finds in the cache what was made."""
        return LazyModule, (self._name, self._generate, self._digest, self._options)

    def _ipython_key_completions_(self) -> list[str]:
        """Complete ``mod["`` in IPython."""
        return list(self._known or ())

    @property
    def _known(self) -> list[str] | None:
        """The functions' names where they are given; None where they turn up only later."""
        if self._module is not None:
            return list(self._module.functions)
        functions = self._options.get("functions")
        if functions is None:
            return None
        return [functions] if isinstance(functions, str) else list(functions)

    def _load(self) -> Module:
        if self._module is None:
            from .generated import discard, obtain

            # Of threads and processes that come here together, one generates.
            made, is_new = obtain(self._digest, self._name, self._generate)
            tells = made.functions is not None or made.description is not None
            if tells and self._options.get("functions") is not None:
                raise ValueError(
                    f"lazy({self._name!r}): generate returned functions with their images, and "
                    "functions is given, too: leave that out, or have it return the images alone"
                )
            options: dict[str, Any] = {**self._options, "embed_cubin": made.images}
            try:
                self._module = self._loaded(options, made.functions, made.description)
            except (TypeError, ValueError):
                # What generate has just returned does not fit together. Kept, it would be wrong
                # for ever, also after generate is mended; of what was kept before, the caller's
                # options are to blame.
                if is_new and tells:
                    discard(self._digest)
                raise
        return self._module

    def _loaded(
        self,
        options: dict[str, Any],
        functions: Mapping[str, Any] | None,
        description: Mapping[str, Any] | None,
    ) -> Module:
        if description is not None:
            from ..formats.load import load_description

            return load_description(description, name=self._name, **options)
        from .calls import load_inline

        if functions is not None:
            options["functions"] = functions
        return load_inline(self._name, **options)


def _checked(functions: Any) -> Any:
    """Return `functions`, which are wrong before a compiler has run for minutes, not after."""
    from ..launches.export import read_functions

    exports = read_functions(functions)
    return functions if isinstance(functions, Mapping) else [x.name for x in exports or ()]


def _digest(name: str, key: Any, arch: Any) -> str:
    """Return the digest of everything that tells one lazy module's images from others."""
    _check_key(key, "key", 0)
    archs = None if arch is None else resolve_archs(arch)
    full = Key("lazy images").add("form", [_FORM, SCHEMA]).add("name", name).add("archs", archs)
    return full.add("key", key).hexdigest()


def _check_key(value: Any, where: str, depth: int) -> None:
    if value is None or isinstance(value, bool | int | float | str | bytes | bytearray):
        return
    if depth == _DEEPEST:
        raise ValueError(f"{where[:80]}... is nested too deeply, or holds itself")
    if isinstance(value, Mapping):
        for name, item in value.items():
            if not isinstance(name, str):
                raise TypeError(f"{where}: a mapping's keys are str, got {name!r}")
            _check_key(item, f"{where}[{name!r}]", depth + 1)
    elif isinstance(value, Sequence):
        for index, item in enumerate(value):
            _check_key(item, f"{where}[{index}]", depth + 1)
    else:
        raise TypeError(
            f"{where} is of type {type(value).__name__}, which has no text that is the same in "
            "every process: give None, bool, int, float, str, bytes, or a sequence or mapping of "
            "those, such as str(value)"
        )


@spelled_out(TextOptions)
def lazy(
    name: str,
    cuda_sources: Texts = None,
    *,
    generate: Callable[..., Any],
    key: Value = _REQUIRED,
    keep_module_alive: bool = True,
    **options: Unpack[TextOptions],
) -> LazyModule:
    """Return a module whose images a compiler of the caller's makes on first use.

    Nothing happens until a function is used. Then the images are looked up in the cache, under
    `name` and `key`; where there are none, `generate` is called, in one of all processes that use
    the cache folder, while the others wait. What it returns is kept, and the module is
    built and loaded as `load_inline` does.

    Parameters
    ----------
    name : str
        Name of the module.
    generate : callable
        ``generate()``, or ``generate(folder)`` with an empty folder, a ``pathlib.Path``, for its
        files, returns an image (bytes, a `Cubin`, or the path of a file) or a mapping of
        names to images; or functions, which are kept with their images: a `Launch` that carries
        its image, as `triton.compile` returns it, a list of them, a `Dispatch`, or a mapping of
        names to those; or a `Description`. What has no name gets the module's.
    key : None, bool, int, float, str, bytes, or a sequence or mapping of those
        What tells the images from others of that name: whatever changes them has to be in it, the
        compiler's version and options and the source, or its hash. `arch`, where it is given, is
        added by itself.
    cuda_sources, keep_module_alive, **options
        As in `load_inline`, but for `embed_cubin`, whose place the images take.

    Returns
    -------
    LazyModule
        Its attributes are the functions.

    Raises
    ------
    TypeError, ValueError
        An argument is wrong; the message names it.
    """
    if not callable(generate):
        raise TypeError(f"generate is a callable, got {type(generate).__name__}")
    if key is _REQUIRED:
        raise TypeError(
            "lazy() needs a key: images are kept under it, and only you know what changes them, "
            "such as key=[compiler.__version__, options, source]"
        )
    name = file_name("name", name)
    if options.get("embed_cubin") is not None:
        raise TypeError("lazy() takes no embed_cubin: the images are those that generate returns")
    digest = _digest(name, key, options.get("arch"))
    given = {k: v for k, v in options.items() if v is not None}
    if cuda_sources is not None:
        given["cuda_sources"] = cuda_sources
    if "functions" in given:
        given["functions"] = _checked(given["functions"])
    return LazyModule(name, generate, digest, {**given, "keep_module_alive": keep_module_alive})
