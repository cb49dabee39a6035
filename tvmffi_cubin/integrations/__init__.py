"""Serving stacks that build through this package, each enabled by importing one module.

Takes the builds that SGLang and FlashInfer request of nvcc, and gives them the modules that
`inline/` builds instead. It never changes their sources, and only its modules import them.
"""

from __future__ import annotations

import importlib
from typing import Any


def part_of(package: str, tried: str, module: str, names: str) -> Any:
    """Return a module of another package; raise ImportError if a version lacks these names."""
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
            f"{tried}; install that, or remove the import of tvmffi_cubin.integrations.{package}"
        )
    return found
