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

    It is called without arguments, or with the empty folder, if it takes one. One that got the
    folder and returns None has left one file there: else that is a ValueError.
    """
    if not _takes_folder(generate):
        return generate()
    value = generate(folder)
    if isinstance(value, str | os.PathLike):
        return folder / value
    if value is not None:
        return value
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    if len(files) != 1:
        names = ", ".join(path.name for path in files) or "none"
        raise ValueError(
            f"generate returned None and left {len(files)} files in its folder ({names}): wanted "
            "one, the image; or return its path"
        )
    return files[0]


def _takes_folder(generate: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(generate).parameters.values()
    except (TypeError, ValueError):
        return False  # of a callable written in C, which does not say
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return any(p.kind in positional and p.default is p.empty for p in parameters)


def checked_image(what: str, value: Any) -> Cubin:
    """Return an image that `generate` made; what is wrong with it is found before it is kept."""
    from ..device.image import given_image
    from ..kernels.image import take_image

    cubin = take_image(what, value)
    given_image("image", cubin)
    return cubin
