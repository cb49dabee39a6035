"""The benchmarks that need no GPU, in their smallest setting; never times."""

import json
import os
import sys
from pathlib import Path

from processes import run

ROOT = Path(__file__).resolve().parents[2]
OF_GPUS = ["launch", "triton_launch"]
# What compiles no C++.
OTHERS = ["hit", "modules"]


def test_what_needs_no_gpu_is_measured_without_one_beside_another_checkout(tmp_path: Path):
    path = tmp_path / "report.json"
    options = [f"--only={','.join(OF_GPUS + OTHERS)}", f"--json={path}", f"--also=same={ROOT}"]
    # On a machine with a GPU the peers would use it; nothing here is about one.
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    command = [sys.executable, ROOT / "benchmarks" / "run.py", "--quick", *options]
    assert "### Modules by number of kernels" in run(*command, env=environment)
    sections = json.loads(path.read_text(encoding="utf-8"))["sections"]
    assert list(sections) == OF_GPUS + OTHERS
    for name in OF_GPUS:
        assert sections[name]["left_out"] == {"no GPU: nothing can be launched": ["all"]}
    for name in OTHERS:
        assert "tvmffi_cubin" not in str(sections[name]["left_out"])
        for table in sections[name]["tables"].values():
            for row in table["peers"].values():
                assert all(value > 0 for values in row["cases"].values() for value in values)
    peers = sections["hit"]["tables"]["modules imported"]["peers"]
    assert list(peers) == ["tvmffi_cubin", "tvmffi_cubin, same"]
    counts = peers["tvmffi_cubin"]["cases"]
    assert counts["load_inline, a hit"] < counts["load_inline, built"]
