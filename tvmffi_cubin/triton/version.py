"""The installed Triton, and which versions are supported."""

from __future__ import annotations

import importlib
from typing import Any

from ..errors import ToolchainError

OLDEST = (3, 6)


def installed() -> Any:
    """Import Triton with the parts that compile a function without a GPU."""
    try:
        triton = importlib.import_module("triton")
    except ModuleNotFoundError as error:
        if error.name != "triton":
            raise ToolchainError(f"Triton cannot be imported: {error}") from error
        raise ToolchainError(
            "Triton is not installed (it is needed to compile a Triton function, not to load or "
            "launch one): run: pip install triton"
        ) from None
    except Exception as error:
        raise ToolchainError(f"Triton cannot be imported: {error}") from error
    parse_version(triton.__version__)
    for name in ("compiler", "runtime.jit", "errors", "backends.compiler", "knobs"):
        importlib.import_module(f"triton.{name}")
    return triton


def parse_version(text: str) -> tuple[int, int]:
    """Return major and minor version."""
    major, minor = text.split(".")[:2]
    version = (int(major), int(minor))
    if version < OLDEST:
        raise ToolchainError(
            f"Triton {text} is installed, {'.'.join(map(str, OLDEST))} or newer is wanted; run: "
            "pip install --upgrade triton"
        )
    return version
