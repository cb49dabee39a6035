"""Callers' own compilers: `generate` is called once at a time, and its images are checked."""

from __future__ import annotations

import contextlib
import inspect
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ..kernels.cubin import Cubin

_at_work: set[tuple[int, str]] = set()


@contextlib.contextmanager
def once(what: str) -> Iterator[None]:
    """Raise RuntimeError where this thread is making `what` already, and would wait for itself."""
    work = (threading.get_ident(), what)
    if work in _at_work:
        raise RuntimeError(f"generate uses what it is to make: {what}")
    _at_work.add(work)
    try:
        yield
    finally:
        _at_work.discard(work)


def call_generate(generate: Callable[..., Any], folder: Path) -> Any:
    """Return what `generate` returns; where that is a file in the folder, its path.

    It is called without arguments, or with the empty folder, if it must be given one.
    """
    is_bare = True
    try:
        inspect.signature(generate).bind()
    except TypeError:
        is_bare = False
    except ValueError:
        pass  # a callable written in C, which does not say what it takes
    value = generate() if is_bare else generate(folder)
    is_file = isinstance(value, str | os.PathLike) and not is_bare
    return folder / value if is_file else value


def checked_image(what: str, value: Any) -> Cubin:
    """Return an image that `generate` made; what is wrong with it is found before it is kept."""
    from ..device.image import given_image
    from ..kernels.image import take_image

    cubin = take_image(what, value)
    given_image("image", cubin)
    return cubin
