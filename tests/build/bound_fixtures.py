"""The fixtures of files about one module with bound parameters."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

import tvmffi_cubin as tc


def bound_fixtures(build: Callable[[], tc.Module], names: Sequence[str]) -> tuple[Any, Any]:
    """Return the fixtures ``built``, a module that a file's tests share, and ``mod``: the same with
    nothing bound.
    """

    @pytest.fixture(scope="module")
    def built(_own_environment):
        return build()

    @pytest.fixture
    def mod(built, driver_stub):
        built.bind(**dict.fromkeys(names))
        return built

    return built, mod
