"""The same work for several inputs in threads: NVRTC and the linkers release Python's lock."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

_Input = TypeVar("_Input")
_Output = TypeVar("_Output")


def in_parallel(work: Callable[[_Input], _Output], inputs: Sequence[_Input]) -> list[_Output]:
    """Return `work` of each input, in order; of several failures the first input's is raised.

    This thread works as well; Ctrl-C ends its part, and its wait for the others, which an executor
    of Python's would go on waiting for.
    """
    made: dict[int, _Output] = {}
    failed: dict[int, BaseException] = {}
    left = iter(range(len(inputs)))

    def run() -> None:
        for index in left:
            try:
                made[index] = work(inputs[index])
            except BaseException as error:
                failed[index] = error
                if not isinstance(error, Exception):
                    raise
            if failed:
                break

    others = min(len(inputs), os.cpu_count() or 1) - 1
    threads = [threading.Thread(target=run, daemon=True) for _ in range(others)]
    for thread in threads:
        thread.start()
    run()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[min(failed)]
    return [made[index] for index in range(len(inputs))]
