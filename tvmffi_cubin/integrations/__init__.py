"""Serving stacks that build through this package, each by the import of one module.

Takes the requests that SGLang and FlashInfer make of nvcc, and gives them the modules that
`inline/` builds of them. It never changes their sources, and imports them in its modules alone.
"""

from __future__ import annotations

import importlib
from typing import Any


def part_of(package: str, tried: str, module: str, names: str) -> Any:
    """Return a module of another package; an ImportError tells a version without these names."""
    importlib.import_module(package)
    try:
        found = importlib.import_module(f"{package}.{module}")
        lacking = [name for name in names.split() if not hasattr(found, name)]
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith(f"{package}."):
            raise
        lacking = [f"module {error.name}"]
    if lacking:
        raise ImportError(
            f"{package} has no {', '.join(lacking)} in {package}.{module}: this was written for "
            f"{tried}; install that, or leave out the import of tvmffi_cubin.integrations.{package}"
        )
    return found
