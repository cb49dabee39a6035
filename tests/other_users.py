"""Other users than root, for tests that root runs: what they reach of a test's folders."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from processes import in_fork

NOBODY = 65534


def let_others_reach(folder: Path) -> None:
    """Let other users reach a test's folder; skip where all temporary files are closed to them."""
    top = Path(tempfile.gettempdir())
    for path in (folder, *folder.parents):
        if path.is_relative_to(top) and path != top:
            path.chmod(0o711)

    def is_reached() -> bool:
        if os.geteuid() == 0:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        return os.access(folder, os.X_OK)

    if not in_fork(is_reached):
        pytest.skip(f"other users do not reach {top}")
