"""`Module`, a subclass of tvm-ffi's, and `load_module`."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import tvm_ffi

from ..errors import BuildError, LaunchError, LaunchLimitError, ToolchainError, bare
from ..launches import check_schema
from .function import Function

if TYPE_CHECKING:
    from ..kernels.cubin import Cubin

for _class in (LaunchError, LaunchLimitError, KeyboardInterrupt):
    # C++ raises or propagates these; unregistered, tvm-ffi would turn them into RuntimeErrors.
    tvm_ffi.register_error(_class.__name__, _class)


# For each path, the files loaded from it, numbered.
_spellings: dict[str, dict[tuple[int, int], int]] = {}


class Module(tvm_ffi.Module):
    """A loaded shared object; ``mod.k`` and ``mod["k"]`` are its functions."""

    path: str
    """Where it was loaded from. A pickled module or function holds this path, not the file."""

    @bare
    def get_function(self, name: str, query_imports: bool = False) -> Function:
        """Return a function by name; raise AttributeError if there is none."""
        known: dict[str, Function] = self.__dict__.setdefault("_functions", {})
        if name not in known:
            try:
                raw = super().get_function(name, query_imports)
            except AttributeError:
                there = f"available: {', '.join(self._names) or 'none'}"
                template = f"a template needs Launch(kernel='{name}<float>')"
                message = f"module has no function {name!r}; {there} ({template})"
                raise AttributeError(message) from None
            known[name] = Function._wrap(raw, self, name, {})
            known[name].__doc__ = self.get_function_doc(name)
        return known[name]

    def __getattr__(self, name: str) -> Function:
        function = self.__dict__[name] = self.get_function(name)
        return function

    def __getitem__(self, name: str) -> Function:
        try:
            return self.get_function(name)
        except AttributeError as error:
            raise KeyError(str(error)) from None

    @cached_property
    def manifest(self) -> Mapping[str, Any]:
        """The functions, parameters, kernels and architectures listed in the shared object.

        Empty if this package built nothing in it; raises ValueError if an incompatible version did.
        """
        try:
            text = self._entry("manifest")()
        except AttributeError:
            # It has only C++ functions, and none that returns the manifest.
            from ..artifacts.artifact import manifest_of

            return manifest_of(self.path)
        known: Mapping[str, Any] = json.loads(str(text))
        check_schema(known.get("schema"), f"the manifest of {self.path}")
        return known

    @property
    def functions(self) -> tuple[str, ...]:
        """Names of the generated functions."""
        return tuple(self.manifest.get("functions", {}))

    @cached_property
    def cubins(self) -> Mapping[str, Cubin]:
        """The embedded images by name, read from the file; raises ValueError if it has changed."""
        from ..artifacts.artifact import open_artifact

        with open_artifact(self.path) as artifact:
            return artifact.cubins(self.manifest.get("images", {}))

    def preload(self, device: Any = None) -> None:
        """Load images and kernels ahead of the first launch or graph capture.

        `device` is an int, a torch.device or the like. Default: the current device, 0 in a thread
        that has none.
        """
        from .stream import device_ordinal

        self._entry("preload")(device_ordinal(device))

    def unload(self) -> None:
        """Unload the images and release the primary contexts; the next launch reloads them.

        Waits for calls in progress, not for running kernels. CUDA graphs that contain the kernels
        cannot be replayed afterwards. Whatever C++ functions have loaded stays loaded.
        """
        if self.functions:
            self._entry("unload")()

    @bare
    def bind(self, function: str | None = None, /, *, device: Any = None, **values: Any) -> None:
        """Set kernel parameters that callers do not pass (see `Bound`).

        The change is atomic: a launch sees either all old values or all new ones, and if one is
        invalid, nothing changes.

        Parameters
        ----------
        function : str, optional
            The function whose parameters to set. Default: all functions with these parameters.
        device : int, torch.device or the like, optional
            The device whose launches get the values. Default: a tensor's own; for other values all.
        **values : tensor, int, float, bool, bytes or None
            By parameter name, values that a call could pass; None unbinds. Tensors are kept alive.
        """
        from .stream import device_ordinal

        facts = self.manifest
        owners = [*facts.get("functions", {}).items(), (None, facts)]  # None: C++ functions
        slots = [(owner, row[0]) for owner, x in owners for row in x.get("bound", ())]
        args: list[Any] = [None if device is None else device_ordinal(device)]
        for name, value in values.items():
            found = [i for i, x in enumerate(slots) if x[1] == name and function in (None, x[0])]
            if not found:
                there = dict.fromkeys(slot for owner, slot in slots if function in (None, owner))
                what = f"bind: {function or 'the module'} has no bound parameter {name!r}"
                raise ValueError(f"{what}; available: {', '.join(there) or 'none (see Bound)'}")
            # The tensor object may release its memory, as a torch tensor does when resized.
            memory = tvm_ffi.from_dlpack(value) if hasattr(value, "__dlpack__") else value
            # Wrapped in an object that tvm-ffi passes through unchanged.
            kept = None if value is None else SimpleNamespace(value=value, memory=memory)
            for number in found:
                args += [number, memory, kept]
        self._entry("bind")(*args)

    def _entry(self, name: str) -> tvm_ffi.Function:
        """Return one of the launcher's own entry points; raise AttributeError if there is none."""
        return super().get_function(f"_tvmffi_cubin_{name}")

    def __iter__(self) -> Iterator[str]:
        return iter(self.functions)

    def __reduce__(self) -> tuple[Any, ...]:
        return load_module, (self.path,)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._names})

    def __repr__(self) -> str:
        known = self.manifest.get("functions", {})
        lines = (known[x]["signature"] if x in known else x for x in self._names)
        return "\n  ".join((f"<tvmffi_cubin.Module {self.path}>", *lines))

    def _repr_html_(self) -> str | None:
        from .occupancy import table

        return table(map(self.get_function, self.functions)) if self.functions else None

    @cached_property
    def _names(self) -> tuple[str, ...]:
        """Names of all functions: the generated ones, then those written in C++."""
        from ..artifacts.artifact import exported_names

        return (*self.functions, *sorted(exported_names(self.path).difference(self.functions)))


def load_module(
    path: str | os.PathLike[str],
    *,
    generate: Mapping[str, Callable[..., Any]] | None = None,
    torch_library: str | None = None,
    keep_module_alive: bool = True,
) -> Module:
    """Load a shared object that this package built.

    Parameters
    ----------
    path : path
        The file.
    generate : mapping of str to callable, optional
        For images in files (see `ImageFile`): functions that make missing ones, by image name.
    torch_library : str, optional
        As in `load_inline`.
    keep_module_alive : bool
        Keep it loaded until the process exits, even if no reference is left.

    Raises
    ------
    BuildError, ToolchainError
        It is not a shared object, needs a missing symbol or library, or tvm-ffi is too old.
    """
    check_tvm_ffi()
    name = os.path.abspath(path)
    folder, base = os.path.split(name)
    with open(name, "rb", buffering=0) as file:
        header, info = file.read(64).ljust(64, b"\0"), os.fstat(file.fileno())
    # The section header table, which linkers put last.
    start, row, rows = struct.unpack_from("<40xQ10xHH", header)
    # The dynamic loader identifies a library by its path, and would return the code of a file that
    # this one has replaced. So each file gets its own spelling of the path.
    known = _spellings.setdefault(name, {})
    number = known.setdefault((info.st_dev, info.st_ino), len(known))
    spelled = os.path.join(folder, "./" * number + base)
    try:
        if not name.endswith(".so"):
            raise RuntimeError("a shared object's name must end in .so")
        # The dynamic loader accepts a truncated file, and the process then dies with SIGBUS.
        if header.startswith(b"\x7fELF") and start + row * rows > info.st_size:
            raise RuntimeError(f"it is truncated to {info.st_size} bytes: copy it again")
        raw = tvm_ffi.load_module(spelled, keep_module_alive=keep_module_alive)
    except RuntimeError as error:
        message = f"cannot load {name}: {error}"
        if os.statvfs(name).f_flag & os.ST_NOEXEC:
            message += "\nIts file system is mounted noexec: set TVMFFI_CUBIN_CACHE_DIR elsewhere"
        command = f"dlopen {name}"
        raise BuildError(message, output=str(error), command=command, directory=folder) from None
    module = Module.__new__(Module)
    module.__move_handle_from__(raw)
    module.path = name
    if torch_library is not None:
        from .torch_library import register

        register(module, torch_library)
    if generate is not None:
        from ..inline.images import set_makers

        set_makers(module, generate)
    return module


def check_tvm_ffi() -> None:
    """Raise ToolchainError if tvm-ffi is too old; other packages pin old versions."""
    if tvm_ffi.__version_tuple__ < (0, 1, 11):
        old = f"tvm-ffi {tvm_ffi.__version__} is too old"
        raise ToolchainError(f"{old}; run: pip install --upgrade 'apache-tvm-ffi>=0.1.11'")
