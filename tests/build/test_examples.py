"""Every example builds without a GPU, says that it did not launch, and succeeds."""

import importlib.util
import os
import re
import sys
from pathlib import Path

import pytest
from processes import run

EXAMPLES = sorted((Path(__file__).resolve().parents[2] / "examples").glob("*.py"))
HELPERS = {"gpu.py"}
RUNNABLE = [path for path in EXAMPLES if path.name not in HELPERS]


pytestmark = pytest.mark.parametrize("example", RUNNABLE, ids=lambda path: path.stem)


def test_an_example_builds_and_says_why_it_did_not_launch(example: Path, tmp_path: Path):
    environment = {
        **os.environ,
        "TVMFFI_CUBIN_DRIVER": "/nonexistent/libcuda.so.1",
        "TVMFFI_CUBIN_PCH": "off",
    }
    said = run(sys.executable, example, cwd=tmp_path, env=environment)
    if example.stem.startswith("triton") and importlib.util.find_spec("triton") is None:
        assert said == "not built: Triton is not installed; run: pip install triton\n"
        return
    assert said.endswith("built, not launched: there is no GPU here\n")


def test_an_example_is_short_and_ends_in_a_numeric_check(example: Path):
    text = example.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 80
    check = r"assert_(all)?close\(.*\n(.*\n)?(    # \[docs:end\]\n)?"
    assert re.search(check + r'    print\(f?"launched.*\n\n\nif __name__', text)
