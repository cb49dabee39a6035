"""Functions of a module: `Function`, and the `Configured` ones, which have options set."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from numbers import Integral
from typing import TYPE_CHECKING, Any, TypeVar

import tvm_ffi

from .options import NO_OPTIONS, Options, stream_handle

if TYPE_CHECKING:
    import inspect

    from .module import Module
    from .occupancy import Occupancy

GridFunction = Callable[[Mapping[str, Any]], Any]

_F = TypeVar("_F", bound="Function")

_MOST_KEPT = 64


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
    ``k[grid, block, dynamic_smem_bytes](...)`` set the launch's shape, ``k.on(stream)(...)`` the
    stream, ``k.configure(cluster=2)(...)`` any of them and what else a launch can carry,
    ``k.call(x=..., n=...)`` takes keywords. They combine: ``k[grid, block].on(stream).call(x=x)``.
    What `k[...]`, `on` and `configure` return can be kept and called many times.
    """

    __slots__ = ("_shapes",)
    __signature__ = _PythonSignature()

    name: str
    _module: Module
    _options = NO_OPTIONS
    _shapes: dict[Any, Configured]
    _made: dict[Options, Configured]

    @classmethod
    def _wrap(
        cls: type[_F],
        raw: tvm_ffi.Function,
        module: Module,
        name: str,
        made: dict[Options, Configured],
    ) -> _F:
        function = cls.__new__(cls)
        function.__move_handle_from__(raw)
        function._module = module
        function.name = name
        function._shapes = {}
        function._made = made
        return function

    def __getitem__(self, shape: Any) -> Configured | _ByGrid:
        """Set grid, block and, optionally, the dynamic shared memory in bytes.

        Of a function whose launch has a block and no grid, the grid alone: one to three numbers, or
        a function of a mapping that has the arguments, and the launch's `meta`, by name.
        """
        try:
            # A call may come by here, so this is all: 2.0 finds what 2 has left, which is as good.
            return self._shapes[shape]
        except (KeyError, TypeError):  # it is new, or has a list
            pass
        return self._shaped(shape)

    def on(self, stream: Any) -> Configured:
        """Set the stream: an int, a torch or CuPy stream, anything with ``__cuda_stream__``."""
        return self._configured(self._options.on(stream_handle(stream)))

    def configure(self, *, stream: Any = None, **options: Any) -> Configured:
        """Set whatever a launch can carry.

        Parameters
        ----------
        stream : object, optional
            As of `on`.
        **options
            `grid` and `block` (together, or a grid alone where the function has a block, counted in
            blocks), `dynamic_smem_bytes`, and the attributes of a `Launch`
            (``cluster``, ``programmatic_dependent_launch``, ``cooperative``, ``priority``, ...) by
            the same names, as values; an event may be torch's, CuPy's or cuda.core's own. None
            leaves what was set before.

        Raises
        ------
        TypeError, ValueError
            There is no such option, a value is not what it wants, or the function has several
            launches, each with its own.
        """
        changed = self if stream is None else self.on(stream)
        given = {name: value for name, value in options.items() if value is not None}
        wanted = changed._options
        if given:
            self._require_one_launch()
            alone = self._generated()["fixes_block"]
            wanted = wanted.with_given(self.name, given, grid_alone=alone)
        return self._configured(wanted)

    def call(self, *args: Any, **kwargs: Any) -> None:
        """Call with keywords, by the parameters' names."""
        self(*self._ordered(args, kwargs))

    def occupancy(
        self,
        block: Any = None,
        dynamic_smem_bytes: int | None = None,
        *,
        cluster: Any = None,
        kernel: str | None = None,
        device: Any = None,
    ) -> Occupancy:
        """Tell how much of the kernel fits a device at once.

        Parameters
        ----------
        block : int or sequence of up to three, optional
            Threads of a block. Default: the launch's own, where that is a constant.
        dynamic_smem_bytes : int, optional
            Dynamic shared memory of a block. Default: the launch's own.
        cluster : int or sequence of up to three, optional
            Blocks of a cluster. Default: the launch's own, else what the kernel fixes.
        kernel : str, optional
            Which kernel, where the function launches several.
        device : int or torch.device, optional
            Default: the current one.

        Raises
        ------
        TypeError, ValueError
            A figure is not known and not given, or is none; it is not clear which kernel is meant.
        LaunchError
            The driver refuses.
        """
        from .occupancy import occupancy

        return occupancy(
            self, block, dynamic_smem_bytes, cluster=cluster, kernel=kernel, device=device
        )

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
    def bound(self) -> tuple[tuple[str, str], ...]:
        """Names and C++ types of what `Module.bind` sets for this function."""
        return tuple((name, type_) for name, type_, _ in self._generated().get("bound", ()))

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

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle its module and its name."""
        return self._module.get_function, (self.name,)

    def __repr__(self) -> str:
        """Name and, where they are known, parameters."""
        return f"<tvmffi_cubin.Function {self.summary if self.info else self.name}>"

    def _shaped(self, shape: Any) -> Configured | _ByGrid:
        """Return what `__getitem__` returns of a shape that it has not kept."""
        by_grid = self._callers_grid
        if by_grid is None:
            options = self._options.with_shape(self.name, shape)
        elif callable(shape):
            return _ByGrid(self, shape)
        else:
            options = self._options.with_grid(shape, by_grid["unit"])
        made = self._configured(options)
        if _is_fixed(shape):
            if len(self._shapes) >= _MOST_KEPT:
                self._shapes.clear()
            self._shapes[shape] = made
        return made

    def _configured(self, options: Options) -> Configured:
        """Return the function with these options: the one that was made before, if it is kept."""
        made = self._made.get(options)
        if made is None:
            kind = Configured if self._generated()["callers_grid"] is None else _WithKeywords
            try:
                raw = self._module._configure(self.name, *options)
            except AttributeError:
                # Until launchers have that entry: by their other one, from Python.
                entry = self._module._entry(f"call_{self.name}")
                raw = tvm_ffi.Module.get_function(self._module, self.name)

                def call(made: Configured, *args: Any, **kwargs: Any) -> None:
                    entry(*options, *(made._ordered(args, kwargs) if kwargs else args))

                kind = type(kind.__name__, (kind,), {"__call__": call})  # type: ignore[assignment]
            made = kind._wrap(raw, self._module, self.name, self._made)
            made._options = options
            if len(self._made) >= _MOST_KEPT:
                self._made.clear()
            self._made[options] = made
        return made

    def _generated(self) -> Mapping[str, Any]:
        if self.info is None:
            raise TypeError(
                f"{self.name} is a C++ function of your own wrapper: it takes positional arguments "
                "and sets its launches itself (tvmffi_cubin.use_stream sets its stream)"
            )
        return self.info

    def _instances(self) -> Sequence[Mapping[str, Any]]:
        """Return what is known of each instance; of a function without any, of itself."""
        info = self._generated()
        instances: Sequence[Mapping[str, Any]] = info.get("instances", [info])
        return instances

    @cached_property
    def _callers_grid(self) -> Mapping[str, Any] | None:
        """What ``k[grid]`` means, where it means anything."""
        self._require_one_launch()
        facts: Mapping[str, Any] | None = self._generated()["callers_grid"]
        return facts

    def _require_one_launch(self) -> None:
        if any(len(instance["launches"]) != 1 for instance in self._instances()):
            raise TypeError(f"{self.name} has several launches, each with its own shape")

    @cached_property
    def _common_names(self) -> list[str] | None:
        """The parameters' names; None where instances differ in them."""
        known = [[name for name, _ in x["params"]] for x in self._instances()]
        return known[0] if all(names == known[0] for names in known) else None

    def _meta(self, args: tuple[Any, ...]) -> _Meta:
        """Return what a grid's function gets: arguments and constants by name."""
        facts, names = self._callers_grid, self._common_names
        constants = facts and facts["meta"]
        if constants is None or names is None:
            raise TypeError(
                f"{self.name}: its instances differ in what a grid's function would get, and which "
                "of them a call takes is known later: give numbers, or each Launch its own grid="
            )
        if len(args) != len(names):
            raise TypeError(
                f"{self.name}: got {len(args)} arguments, wanted {len(names)}: {', '.join(names)}"
            )
        meta = _Meta(constants)
        meta.update(zip(names, args, strict=True))
        meta.function = self.name
        return meta

    def _ordered(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        names = self._common_names
        if names is None:
            if kwargs:
                raise TypeError(
                    f"{self.name}: its instances name their parameters differently, pass them by "
                    f"position:\n{self.signature}"
                )
            return args
        if len(args) > len(names):
            raise TypeError(f"{self.summary}: got {len(args)} arguments, wanted {len(names)}")
        given, rest = names[: len(args)], names[len(args) :]
        wrong = {
            "got an unknown argument": [name for name in kwargs if name not in names],
            "got twice:": [name for name in given if name in kwargs],
            "missing": [name for name in rest if name not in kwargs],
        }
        for what, found in wrong.items():
            if found:
                raise TypeError(f"{self.summary}: {what} {', '.join(found)}")
        return *args, *(kwargs[name] for name in rest)


class Configured(Function):
    """A function with options of the launch set for its calls; what is not set is as it was."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the function, and the options."""
        return self._module.get_function(self.name)._configured, (self._options,)

    def __repr__(self) -> str:
        """Name and the options that are set, as they would be written."""
        return f"<tvmffi_cubin.Function {self.name}{self._options.text()}>"


class _WithKeywords(Configured):
    """One that is called as Triton's functions are: with a grid alone, and keywords."""

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        """Call with arguments by position or by name."""
        if kwargs:
            args = self._ordered(args, kwargs)
        super().__call__(*args)


class _ByGrid:
    """A function whose grid a function of the caller's gives, at each call."""

    __slots__ = ("_function", "_grid")

    def __init__(self, function: Function, grid: GridFunction) -> None:
        self._function = function
        self._grid = grid

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        """Call with arguments by position or by name."""
        function = self._function
        if kwargs:
            args = function._ordered(args, kwargs)
        function[self._grid(function._meta(args))](*args)

    call = __call__

    def on(self, stream: Any) -> _ByGrid:
        """Set the stream."""
        return _ByGrid(self._function.on(stream), self._grid)

    def configure(self, **options: Any) -> Configured | _ByGrid:
        """Set whatever a launch can carry."""
        configured = self._function.configure(**options)
        return configured if options.get("grid") is not None else _ByGrid(configured, self._grid)

    def __repr__(self) -> str:
        """The grid, and what the function is."""
        return f"<{self._grid!r} as the grid of {self._function!r}>"


def _is_fixed(shape: Any) -> bool:
    """Whether a shape stays what it is; a tensor is a key, and may hold another number later."""
    return isinstance(shape, Integral) or (
        isinstance(shape, tuple) and all(_is_fixed(part) for part in shape)
    )


class _Meta(dict[str, Any]):
    """Arguments and constants by name; what is in neither is said in full."""

    function: str

    def __missing__(self, key: Any) -> Any:
        raise KeyError(
            f"{self.function}: the grid asks for {key!r}; there are {', '.join(self) or 'none'}"
        )
