"""Calls a caller's own compiler, and takes what it leaves behind."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["call_generate"]


def call_generate(generate: Callable[..., Any], folder: Path) -> Any:
    """Return what `generate` returns; where that is a file in the folder, its path.

    Parameters
    ----------
    generate : callable
        Called without arguments, or with the folder, if it takes one.
    folder : Path
        An empty folder for its files.

    Raises
    ------
    ValueError
        It got the folder and returned None, and there is not exactly one file in it.
    """
    if not _takes_folder(generate):
        return generate()
    value = generate(folder)
    if isinstance(value, str | os.PathLike) and not (isinstance(value, str) and "\n" in value):
        return folder / value
    if value is not None:
        return value
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    if len(files) != 1:
        names = ", ".join(str(path.relative_to(folder)) for path in files) or "none"
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
