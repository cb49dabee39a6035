"""``tvmffi-cubin cache``, run as a test runs it."""

from __future__ import annotations

import pytest

from tvmffi_cubin.__main__ import main


def run(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> str:
    """Run a command that complains of nothing; return what it prints."""
    assert main(["cache", *arguments]) == status
    printed = capsys.readouterr()
    assert printed.err == ""
    return printed.out
