"""Every example launches, and its numbers are torch's; so does the demo, without torch."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

import pytest
from processes import run

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
    said = run(sys.executable, example, cwd=tmp_path)
    assert re.search(r"^launched.*: the numbers are (torch|NumPy)'s\n\Z", said, re.MULTILINE)


def test_the_demo_launches():
    assert "all results are correct" in run(sys.executable, "-m", "tvmffi_cubin", "demo")
