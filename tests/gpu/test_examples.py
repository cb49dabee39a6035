"""Every example launches, and its numbers are torch's; so does the demo, without torch."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).resolve().parents[2] / "examples").glob("*.py"))
HELPERS = {"gpu.py"}


@pytest.mark.skipif(
    importlib.util.find_spec("torch") is None,
    reason="the examples compare with torch, which is missing",
)
@pytest.mark.parametrize(
    "example", [path for path in EXAMPLES if path.name not in HELPERS], ids=lambda path: path.stem
)
def test_an_example_launches(example: Path, tmp_path: Path):
    done = subprocess.run(
        [sys.executable, str(example)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"^launched.*: the numbers are (torch|NumPy)'s\n\Z", done.stdout, re.MULTILINE)


def test_the_demo_launches():
    command = [sys.executable, "-m", "tvmffi_cubin", "demo"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "all numbers are right" in done.stdout
