"""Golden files: generated text as it was last agreed to, one file a case.

``UPDATE_GOLDEN=1 python -m pytest tests/unit`` writes them anew; the diff is then for review.
"""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["check"]

FOLDER = Path(__file__).parent / "unit" / "golden"


def check(name: str, text: str) -> None:
    """Compare a text with its golden file, or write it where that is asked for."""
    path = FOLDER / name
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), (
        f"{path.name} differs; if the new text is right, run with UPDATE_GOLDEN=1"
    )
