"""A built shared object as Python objects: `Module` and `Function`, subclasses of tvm-ffi's."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import tvm_ffi

from .cubin import Cubin
from .entry import read_entry
from .errors import CubinError, LaunchError, LaunchLimitError, ToolchainError

__all__ = ["Function", "Module", "load"]

MINIMUM_TVM_FFI = (0, 1, 15)
_OPTIONS = "_tvmffi_cubin_call_"
_NO_OPTIONS: tuple[int | None, ...] = (None,) * 8

for _name, _class in (("LaunchError", LaunchError), ("LaunchLimitError", LaunchLimitError)):
    # C++ raises by these names; without this tvm-ffi would make them RuntimeErrors.
    tvm_ffi.register_error(_name, _class)


class Function(tvm_ffi.Function):
    """An exported function.

    Calling it with positional arguments runs no Python code of this package. The other ways to
    call a function that launches kernels: ``k[grid, block](...)`` and
    ``k[grid, block, dynamic_smem_bytes](...)`` set the launch's shape for one call,
    ``k.on(stream)(...)`` the stream, ``k.call(x=..., n=...)`` takes keywords. They combine:
    ``k[grid, block].on(stream).call(x=x)``.
    """

    _module: Module
    name: str

    def __getitem__(self, shape: Any) -> Configured:
        """Set grid, block and, optionally, the dynamic shared memory in bytes."""
        return Configured(self, _NO_OPTIONS)[shape]

    def on(self, stream: Any) -> Configured:
        """Set the stream: an int, a torch or CuPy stream, anything with ``__cuda_stream__``."""
        return Configured(self, _NO_OPTIONS).on(stream)

    def call(self, *args: Any, **kwargs: Any) -> None:
        """Call with keywords, by the parameters' names."""
        self(*self._ordered(args, kwargs))

    @cached_property
    def info(self) -> Mapping[str, Any] | None:
        """What the shared object says of this function; None for one written in C++."""
        functions: Mapping[str, Any] = self._module.manifest.get("functions", {})
        return functions.get(self.name)

    @property
    def params(self) -> tuple[tuple[str, str], ...]:
        """Names and C++ types of the parameters, in order."""
        return tuple((name, type_) for name, type_ in self._generated()["params"])

    @property
    def signature(self) -> str:
        """The function as C++ would declare it."""
        return str(self._generated()["signature"])

    def __repr__(self) -> str:
        """Name and, where it is known, signature."""
        return f"<tvmffi_cubin.Function {self.signature if self.info else self.name}>"

    def _generated(self) -> Mapping[str, Any]:
        if self.info is None:
            raise TypeError(
                f"{self.name} is a C++ function of your own wrapper: it takes positional arguments "
                "and sets its launches itself (tvmffi_cubin.use_stream sets its stream)"
            )
        return self.info

    @cached_property
    def _with_options(self) -> tvm_ffi.Function:
        self._generated()
        return tvm_ffi.Module.get_function(self._module, _OPTIONS + self.name)

    def _ordered(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        names = [name for name, _ in self.params]
        if len(args) > len(names):
            raise TypeError(f"{self.signature}: got {len(args)} arguments, wanted {len(names)}")
        given = dict(zip(names, args, strict=False))
        for name, value in kwargs.items():
            if name not in names:
                raise TypeError(f"{self.signature}: got an unknown argument {name!r}")
            if name in given:
                raise TypeError(f"{self.signature}: got {name!r} twice")
            given[name] = value
        missing = [name for name in names if name not in given]
        if missing:
            raise TypeError(f"{self.signature}: missing {', '.join(missing)}")
        return [given[name] for name in names]


class Configured:
    """A function with launch options set for its calls: shape, shared memory, stream."""

    __slots__ = ("_function", "_options")

    def __init__(self, function: Function, options: tuple[int | None, ...]) -> None:
        function._generated()
        self._function = function
        self._options = options

    def __call__(self, *args: Any) -> None:
        """Call with positional arguments."""
        self._function._with_options(*self._options, *args)

    def call(self, *args: Any, **kwargs: Any) -> None:
        """Call with keywords, by the parameters' names."""
        self(*self._function._ordered(args, kwargs))

    def __getitem__(self, shape: Any) -> Configured:
        """Set grid, block and, optionally, the dynamic shared memory in bytes."""
        if self._function._generated()["launches"] != 1:
            raise TypeError(f"{self._function.name} has several launches, each with its own shape")
        if not isinstance(shape, tuple) or not 2 <= len(shape) <= 3:
            raise TypeError(
                f"{self._function.name}[...]: wanted [grid, block] or "
                f"[grid, block, dynamic_smem_bytes], got {shape!r}"
            )
        grid = _dimensions("grid", shape[0])
        block = _dimensions("block", shape[1])
        smem = _integer("dynamic_smem_bytes", shape[2]) if len(shape) == 3 else self._options[7]
        return Configured(self._function, (self._options[0], *grid, *block, smem))

    def on(self, stream: Any) -> Configured:
        """Set the stream: an int, a torch or CuPy stream, anything with ``__cuda_stream__``."""
        from .stream import stream_handle

        return Configured(self._function, (stream_handle(stream), *self._options[1:]))


def _integer(what: str, value: Any) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{what}: got {value!r}, wanted an int")
    number = int(value.__index__())
    if not -(2**63) <= number < 2**63:
        raise ValueError(f"{what}: {number} is beyond any device's limit")
    return number


def _dimensions(what: str, value: Any) -> tuple[int, int, int]:
    values = tuple(value) if isinstance(value, tuple | list) else (value,)
    if not 1 <= len(values) <= 3:
        raise ValueError(f"{what} has 1 to 3 dimensions, got {len(values)}")
    numbers = [_integer(what, item) for item in values]
    x, y, z = numbers + [1] * (3 - len(numbers))
    return x, y, z


class Module(tvm_ffi.Module):
    """A loaded shared object; ``mod.k`` and ``mod["k"]`` are its functions."""

    path: str
    """Where it was loaded from."""

    def get_function(self, name: str, query_imports: bool = False) -> Function:
        """Return a function by name; raises AttributeError where there is none."""
        known: dict[str, Function] = self.__dict__.setdefault("_functions", {})
        function = known.get(name)
        if function is None:
            try:
                raw = super().get_function(name, query_imports)
            except AttributeError:
                names = ", ".join(self.functions) or "none that is generated"
                raise AttributeError(
                    f"module has no function {name!r}; there are {names}"
                ) from None
            function = known[name] = Function.__new__(Function)
            function.__move_handle_from__(raw)
            function._module = self
            function.name = name
            function.__doc__ = self.get_function_doc(name)
        return function

    def __getattr__(self, name: str) -> Function:
        """Return a function by name; raises AttributeError where there is none."""
        function = self.__dict__[name] = self.get_function(name)
        return function

    @cached_property
    def manifest(self) -> Mapping[str, Any]:
        """What is known of functions, parameters, kernels, architectures.

        The shared object itself says it; one that has only functions written in C++ does not, and
        what was written down beside it when it was built is taken. Empty where there is neither.
        """
        try:
            text = tvm_ffi.Module.get_function(self, "_tvmffi_cubin_manifest")()
        except AttributeError:
            entry = read_entry(os.path.dirname(self.path))
            return entry.facts if entry is not None else {}
        known: Mapping[str, Any] = json.loads(str(text))
        return known

    @property
    def functions(self) -> tuple[str, ...]:
        """Names of the generated functions."""
        return tuple(self.manifest.get("functions", {}))

    @cached_property
    def cubins(self) -> Mapping[str, Cubin]:
        """The embedded images by name, read from the folder that the module was built in.

        Raises
        ------
        CubinError
            The folder has only the shared object, as where that was copied elsewhere.
        """
        found = {}
        for name, facts in self.manifest.get("images", {}).items():
            path = os.path.join(os.path.dirname(self.path), facts["file"])
            try:
                with open(path, "rb") as file:
                    image = file.read()
            except OSError as error:
                raise CubinError(
                    f"image {name!r} of {self.path} is not beside it: {error}"
                ) from None
            found[name] = Cubin(image, facts["arch"], facts["lowered_names"], facts["log"])
        return found

    def unload(self) -> None:
        """Unload the module's images from the driver; the next launch loads them again.

        Waits for launch calls that are under way. What is still running on a device is the
        caller's to wait for.

        Raises
        ------
        LaunchError
            The driver refused.
        """
        if self.functions:
            tvm_ffi.Module.get_function(self, "_tvmffi_cubin_unload")()

    def __iter__(self) -> Iterator[str]:
        """Iterate over the generated functions' names."""
        return iter(self.functions)

    def __dir__(self) -> list[str]:
        """List attributes and generated functions."""
        return sorted({*super().__dir__(), *self.functions})

    def __repr__(self) -> str:
        """Path and functions."""
        return f"<tvmffi_cubin.Module {self.path}: {', '.join(self.functions) or 'C++ functions'}>"


def load(path: str | os.PathLike[str], *, keep_module_alive: bool = True) -> Module:
    """Load a shared object that this package built.

    Parameters
    ----------
    path : path
        The shared object. A file that is replaced must not be loaded again under its old path: the
        dynamic loader would return the old code.
    keep_module_alive : bool
        Keep it loaded until the process ends, also where no reference is left.

    Raises
    ------
    BuildError
        It refers to a symbol that nothing defines.
    ToolchainError
        The installed tvm-ffi is too old.
    """
    _check_tvm_ffi()
    name = os.path.abspath(path)
    try:
        raw = tvm_ffi.load_module(name, keep_module_alive=keep_module_alive)
    except RuntimeError as error:
        from .build import load_failure

        raise (load_failure(str(error), name) or error) from None
    module = Module.__new__(Module)
    module.__move_handle_from__(raw)
    module.path = name
    return module


def _check_tvm_ffi() -> None:
    parts = tvm_ffi.__version__.split(".")[:3]
    found = tuple(int("".join(filter(str.isdigit, part)) or 0) for part in parts)
    if found < MINIMUM_TVM_FFI:
        wanted = ".".join(map(str, MINIMUM_TVM_FFI))
        raise ToolchainError(
            f"tvm-ffi {tvm_ffi.__version__} is too old, {wanted} or newer is needed: "
            "pip install --upgrade apache-tvm-ffi"
        )
