"""The same work for several inputs in threads: NVRTC and the linkers release Python's lock."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

_Input = TypeVar("_Input")
_Output = TypeVar("_Output")

# How many threads work that runs in one of these threads may have, itself included.
_share = threading.local()


def in_parallel(work: Callable[[_Input], _Output], inputs: Sequence[_Input]) -> list[_Output]:
    """Return `work` of each input, in order; of several failures the first input's is raised.

    There are no more threads than processors, where `work` does its own in parallel, too.
    """
    available = getattr(_share, "threads", None) or os.cpu_count() or 1
    width = min(len(inputs), available)
    if width < 2:
        return [work(item) for item in inputs]
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(width, initializer=_take, initargs=(available // width,)) as pool:
        try:
            futures = [pool.submit(work, item) for item in inputs]
        except RuntimeError:
            # No thread can be started, or no further one; those that run may have begun with some.
            pool.shutdown(cancel_futures=True)
        else:
            try:
                return [future.result() for future in futures]
            finally:
                pool.shutdown(cancel_futures=True)
    return [work(item) for item in inputs]


def _take(threads: int) -> None:
    _share.threads = threads
