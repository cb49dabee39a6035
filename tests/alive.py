"""Counts how many of a C library's objects are alive, by the calls that make and free them."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import pytest


class Alive:
    """The objects that a library has made and not yet freed, since this was made."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, library: ctypes.CDLL, create: str, destroy: str
    ) -> None:
        self.count = 0
        for name, step in ((create, 1), (destroy, -1)):
            monkeypatch.setattr(library, name, self._counted(getattr(library, name), step))

    def _counted(self, function: Callable[..., Any], step: int) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            self.count += step
            return function(*arguments)

        return call
