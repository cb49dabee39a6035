"""Where a function's launches go, if it is said: the expressions of its stream and device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from . import expr
from .figures import Figure
from .function import BoundLaunch, Formula, Target
from .launch import Launch
from .scope import Scope

__all__ = ["bind_target", "check_targets"]

_FIELDS = ("stream", "device")


def bind_target(launch: Launch, scope: Scope) -> Target | None:
    """Bind the stream and the device of a launch; None where it names neither.

    Raises
    ------
    ValueError
        An expression reads what it cannot; the message points at the name.
    """
    if launch.stream is None and launch.device is None:
        return None
    return Target(*(_figure(scope, name, getattr(launch, name)) for name in _FIELDS))


def check_targets(where: str, launches: Sequence[BoundLaunch]) -> None:
    """Check that all launches of a function go to one stream of one device.

    Raises
    ------
    ValueError
        Two differ; the message names both.
    """
    first = launches[0]
    for number, bound in enumerate(launches[1:], 2):
        if _same(first.target, bound.target):
            continue
        one, other = (_said(x.launch) for x in (first, bound))
        raise ValueError(
            f"{where}: launch {number} of {len(launches)} has {other}, the first has {one}: one "
            "call goes to one stream of one device, so give all its launches the same"
        )


def _figure(scope: Scope, what: str, figure: Figure | None) -> int | Formula | None:
    if not isinstance(figure, str):
        return figure
    tree = expr.parse(figure)
    if what == "stream" and isinstance(tree, expr.Name) and _is_pointer(scope, tree.name):
        # An object of a stream arrives as an address, which no other expression has a use for.
        return Formula(figure, expr.TensorField(tree.name, "data_ptr", None, tree.column))
    resolved = scope.resolve(what, figure)
    for read in expr.names(resolved):
        if isinstance(read, expr.Name) and read.name not in scope.exported:
            raise ValueError(
                f"{scope.where}: {what}: {figure!r} reads {read.name}, which depends on the device "
                "that the launch goes to"
            )
    return Formula(figure, resolved)


def _is_pointer(scope: Scope, name: str) -> bool:
    return name in scope.exported and scope.exported[name].param.type.kind == "pointer"


def _same(one: Target | None, other: Target | None) -> bool:
    if one is None or other is None:
        return one is other
    return all(_bare(getattr(one, name)) == _bare(getattr(other, name)) for name in _FIELDS)


def _bare(figure: int | Formula | expr.Expr | None) -> object:
    """Return what a figure is, wherever its parts stand in the text."""
    if isinstance(figure, Formula):
        return _bare(figure.tree)
    if isinstance(figure, expr.Binary):
        return figure.op, _bare(figure.left), _bare(figure.right)
    if isinstance(figure, expr.Call):
        return figure.function, *map(_bare, figure.args)
    if isinstance(figure, expr.Name | expr.TensorField):
        return replace(figure, column=0)
    return figure.value if isinstance(figure, expr.Number) else figure


def _said(launch: Launch) -> str:
    given = {name: getattr(launch, name) for name in _FIELDS}
    return " and ".join(f"{name}={x!r}" for name, x in given.items() if x is not None) or "none"
