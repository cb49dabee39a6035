"""The benchmarks that need no GPU, in their smallest setting; never times."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "benchmarks"))


OF_GPUS = {"launch", "triton_launch"}
# What compiles no C++.
RUN = ["launch", "triton_launch", "hit", "modules"]


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> dict:
    """What --quick writes where there is no GPU, as its JSON says it."""
    path = tmp_path_factory.mktemp("benchmarks") / "report.json"
    options = [f"--only={','.join(RUN)}", f"--json={path}", f"--also=the same={ROOT}"]
    done = subprocess.run(
        [sys.executable, ROOT / "benchmarks" / "run.py", "--quick", *options],
        # On a machine with a GPU the peers would use it; nothing here is about one.
        env={**os.environ, "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "### Modules by number of kernels" in done.stdout
    return json.loads(path.read_text(encoding="utf-8"))


def test_what_needs_no_gpu_is_measured_without_one(result: dict):
    assert result["machine"]["gpu"] == []
    assert list(result["sections"]) == RUN
    for name, section in result["sections"].items():
        if name in OF_GPUS:
            assert section["left_out"] == {"no GPU: nothing can be launched": ["all"]}
            assert section["tables"] == {}
            continue
        assert "tvmffi_cubin" not in str(section["left_out"])
        for table in section["tables"].values():
            for row in table["peers"].values():
                assert all(value > 0 for values in row["cases"].values() for value in values)


def test_another_checkout_takes_part_in_the_same_run(result: dict):
    for table in result["sections"]["hit"]["tables"].values():
        assert list(table["peers"]) == ["tvmffi_cubin", "tvmffi_cubin, the same"]
    counts = result["sections"]["hit"]["tables"]["modules imported"]["peers"]["tvmffi_cubin"]
    assert counts["cases"]["load_inline, a hit"] < counts["cases"]["load_inline, built"]
