"""The same work for several inputs in threads: NVRTC and the linkers release Python's lock."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

__all__ = ["in_parallel"]

_Input = TypeVar("_Input")
_Output = TypeVar("_Output")


def in_parallel(work: Callable[[_Input], _Output], inputs: Sequence[_Input]) -> list[_Output]:
    """Return `work` of each input, in order; of several failures the first input's is raised."""
    if len(inputs) < 2:
        return [work(item) for item in inputs]
    with ThreadPoolExecutor(min(len(inputs), os.cpu_count() or 1)) as pool:
        return list(pool.map(work, inputs))
