"""`path_beside`: where what belongs to the installed package is kept, whatever the cache folder."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["path_beside"]


def path_beside(name: str) -> Path | None:
    """Return a path beside the package, as of Python's bytecode; None where nobody may write it."""
    package = os.path.dirname(os.path.abspath(__file__))
    folder = os.path.join(package, "__pycache__")
    if not os.access(folder if os.path.isdir(folder) else package, os.W_OK | os.X_OK):
        return None
    return Path(folder, name)
