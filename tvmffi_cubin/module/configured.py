"""A function with options of the launch set: `Configured`, or `ByGrid`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from numbers import Integral
from typing import Any

from .function import Function
from .options import NO_OPTIONS, Options, stream_handle

_MOST_KEPT = 512  # of a kilobyte each

GridFunction = Callable[[Mapping[str, Any]], Any]


def options_of(function: Function) -> Options:
    """Return what is set."""
    return function._options or NO_OPTIONS


def shaped(function: Function, shape: Any) -> Configured | ByGrid:
    """Return what ``function[shape]`` is, and keep it for the next time."""
    by_grid = function._callers_grid
    options = options_of(function)
    if by_grid is None:
        options = options.with_shape(function.name, shape)
    elif callable(shape):
        return ByGrid(function, shape)
    else:
        options = options.with_grid(shape, by_grid["unit"])
    made = configured(function, options)
    if _is_fixed(shape):
        if len(function._shapes) >= _MOST_KEPT:
            function._shapes.clear()
        function._shapes[shape] = made
    return made


def on(function: Function, stream: Any) -> Configured:
    """Return a function with a stream."""
    return configured(function, Options(stream_handle(stream), *options_of(function)[1:]))


def configure(function: Function, stream: Any, options: Mapping[str, Any]) -> Configured:
    """Return a function with options by name; see `Function.configure`."""
    changed = function if stream is None else on(function, stream)
    given = {name: value for name, value in options.items() if value is not None}
    wanted = options_of(changed)
    if given:
        function._require_one_launch()
        alone = function._generated()["fixes_block"]
        wanted = wanted.with_given(function.name, given, grid_alone=alone)
    return configured(function, wanted)


def configured(function: Function, options: Options) -> Configured:
    """Return a function with other options: the one that was made before, if it is kept."""
    made = function._made.get(options)
    if made is None:
        kind = Configured if function._generated()["callers_grid"] is None else WithKeywords
        raw = function._module._configure(function.name, *options)
        made = kind._wrap(raw, function._module, function.name, function._made)
        made._options = options
        if len(function._made) >= _MOST_KEPT:
            function._made.clear()
        function._made[options] = made
    return made


class Configured(Function):
    """A function with options of the launch set for its calls; what is not set is as it was."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the function, and the options."""
        return configured, (self._module.get_function(self.name), self._options)

    def __repr__(self) -> str:
        """Name and the options that are set, as they would be written."""
        return f"<tvmffi_cubin.Function {self.name}{options_of(self).text()}>"


class WithKeywords(Configured):
    """One that is called as Triton's functions are: with a grid alone, and keywords."""

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        """Call with arguments by position or by name."""
        if kwargs:
            args = self._ordered(args, kwargs)
        super().__call__(*args)


class ByGrid:
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
        function[self._grid(self._meta(args))](*args)

    call = __call__

    def on(self, stream: Any) -> ByGrid:
        """Set the stream."""
        return ByGrid(self._function.on(stream), self._grid)

    def configure(self, **options: Any) -> Configured | ByGrid:
        """Set whatever a launch can carry."""
        configured = self._function.configure(**options)
        return configured if options.get("grid") is not None else ByGrid(configured, self._grid)

    def __repr__(self) -> str:
        """The grid, and what the function is."""
        return f"<{self._grid!r} as the grid of {self._function!r}>"

    def _meta(self, args: tuple[Any, ...]) -> Meta:
        """Return what a grid's function gets: arguments and constants by name."""
        function = self._function
        name, names, facts = function.name, function._common_names, function._callers_grid
        constants = facts and facts["meta"]
        if constants is None or names is None:
            raise TypeError(
                f"{name}: its instances differ in what a grid's function would get, and which of "
                "them a call takes is known later: give numbers, or each Launch its own grid="
            )
        if len(args) != len(names):
            raise TypeError(
                f"{name}: got {len(args)} arguments, wanted {len(names)}: {', '.join(names)}"
            )
        meta = Meta(constants)
        meta.update(zip(names, args, strict=True))
        meta.function = name
        return meta


def _is_fixed(shape: Any) -> bool:
    """Whether a shape stays what it is; a tensor is a key, and may hold another number later."""
    if isinstance(shape, tuple):
        return all(map(_is_fixed, shape))
    return isinstance(shape, (int, Integral))


class Meta(dict[str, Any]):
    """Arguments and constants by name; what is in neither is said in full."""

    function: str

    def __missing__(self, key: Any) -> Any:
        raise KeyError(
            f"{self.function}: the grid asks for {key!r}; there are {', '.join(self) or 'none'}"
        )
