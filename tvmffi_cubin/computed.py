"""`computed`: an attribute that is worked out when it is asked for first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

__all__ = ["computed"]

_T = TypeVar("_T")


class computed(Generic[_T]):  # noqa: N801 - a decorator
    """Makes a method an attribute, as `functools.cached_property` does, and takes no lock.

    That one has a lock until Python 3.12, one for all instances: a child that is forked while
    another thread works the attribute out would wait for ever. Here several threads may work it
    out side by side; all get the same object.

    Parameters
    ----------
    work : callable
        The method.
    """

    def __init__(self, work: Callable[[Any], _T]) -> None:
        self._work = work
        self._name = work.__name__
        self.__doc__ = work.__doc__

    @overload
    def __get__(self, instance: None, owner: type) -> computed[_T]: ...

    @overload
    def __get__(self, instance: object, owner: type) -> _T: ...

    def __get__(self, instance: object, owner: type) -> computed[_T] | _T:
        if instance is None:
            return self
        value: _T = vars(instance).setdefault(self._name, self._work(instance))
        return value
