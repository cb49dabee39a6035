"""A function of a loaded module, called plainly or with options: `Function`, `Configured`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import tvm_ffi

if TYPE_CHECKING:
    import inspect

    from .module import Module

__all__ = ["Configured", "Function"]

_OPTIONS = "_tvmffi_cubin_call_"
_NO_OPTIONS: tuple[int | None, ...] = (None,) * 8


class _PythonSignature:
    """What `inspect.signature` and IPython's ``k?`` show of a generated function.

    A descriptor and no property: `inspect` asks the class too, and takes only None there.
    """

    def __get__(self, function: Function | None, owner: type) -> inspect.Signature | None:
        if function is None:
            return None
        if function.info is None:
            raise AttributeError("__signature__")
        import inspect

        if function._common_names is None:
            parameters = [inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL)]
        else:
            parameters = [
                inspect.Parameter(name, inspect.Parameter.POSITIONAL_ONLY, annotation=type_)
                for name, type_ in function.params
            ]
        return inspect.Signature(parameters, return_annotation=None)


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
    __signature__ = _PythonSignature()

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
        """Names and C++ types of the parameters, in order.

        Where instances have several at one position, all of them, with ``" | "`` in between.
        """
        return tuple((name, type_) for name, type_ in self._generated()["params"])

    @property
    def signature(self) -> str:
        """The function as C++ would declare it; of several instances each, one a line."""
        return str(self._generated()["signature"])

    @property
    def summary(self) -> str:
        """The function in one line: its signature, or that of all its instances together."""
        instances = self._generated().get("instances")
        if instances is None:
            return self.signature
        inner = ", ".join(f"{type_} {name}" for name, type_ in self.params)
        count = f"{len(instances)} instance{'' if len(instances) == 1 else 's'}"
        return f"{self.name}({inner}), the first of {count} that fits"

    def __repr__(self) -> str:
        """Name and, where they are known, parameters."""
        return f"<tvmffi_cubin.Function {self.summary if self.info else self.name}>"

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

    @cached_property
    def _common_names(self) -> list[str] | None:
        """The parameters' names; None where instances differ in them."""
        info = self._generated()
        known = [[name for name, _ in x["params"]] for x in info.get("instances", [info])]
        return known[0] if all(names == known[0] for names in known) else None

    def _ordered(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        names = self._common_names
        if names is None:
            if kwargs:
                raise TypeError(
                    f"{self.name}: its instances name their parameters differently, pass them by "
                    f"position:\n{self.signature}"
                )
            return list(args)
        if len(args) > len(names):
            raise TypeError(f"{self.summary}: got {len(args)} arguments, wanted {len(names)}")
        given = dict(zip(names, args, strict=False))
        for name, value in kwargs.items():
            if name not in names:
                raise TypeError(f"{self.summary}: got an unknown argument {name!r}")
            if name in given:
                raise TypeError(f"{self.summary}: got {name!r} twice")
            given[name] = value
        missing = [name for name in names if name not in given]
        if missing:
            raise TypeError(f"{self.summary}: missing {', '.join(missing)}")
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

    def __repr__(self) -> str:
        """Name and the options that are set, as they would be written."""
        stream, *shape, smem = self._options
        text = self._function.name
        if None not in shape:
            text += f"[{tuple(shape[:3])}, {tuple(shape[3:])}{'' if smem is None else f', {smem}'}]"
        if stream is not None:
            text += f".on({stream:#x})"
        return f"<tvmffi_cubin.Function {text}>"


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
