"""A grid that a caller gives alone, ``k[grid]``: numbers, or a function of the arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["GridFunction", "counted"]

GridFunction = Callable[[Mapping[str, Any]], Any]


class _Meta(dict[str, Any]):
    """Arguments and constants by name; what is in neither is said in full."""

    def __init__(self, name: str, values: Mapping[str, Any]) -> None:
        super().__init__(values)
        self._name = name

    def __missing__(self, key: Any) -> Any:
        raise KeyError(
            f"{self._name}: the grid asks for {key!r}; there are {', '.join(self) or 'none'}"
        )


def counted(
    name: str,
    facts: Mapping[str, Any],
    grid: GridFunction,
    parameters: list[str] | None,
    args: tuple[Any, ...],
) -> Any:
    """Return the grid of one call, from its function.

    Parameters
    ----------
    name : str
        The exported function's, for messages.
    facts : mapping
        As of `Launch.callers_grid`.
    grid : callable
        Gets one mapping: the arguments by name, and the launch's constants.
    parameters : list of str or None
        The names of the arguments; None where instances differ in them.
    args : tuple
        The arguments.

    Raises
    ------
    TypeError
        Names or constants differ between instances, or there are too few or too many arguments.
    KeyError
        The function asks for what is neither.
    """
    if facts["meta"] is None or parameters is None:
        raise TypeError(
            f"{name}: its instances differ in what a grid's function would get, and which of them "
            "a call takes is known later: give numbers, or each Launch its own grid="
        )
    if len(args) != len(parameters):
        raise TypeError(
            f"{name}: got {len(args)} arguments, wanted {len(parameters)}: {', '.join(parameters)}"
        )
    return grid(_Meta(name, {**facts["meta"], **dict(zip(parameters, args, strict=True))}))
