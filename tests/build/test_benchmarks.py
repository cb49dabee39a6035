"""The benchmarks that need no GPU, in their smallest setting, and their report; never times."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "benchmarks"))

import report  # noqa: E402
import run  # noqa: E402
from bench import Sample, Section, Settings  # noqa: E402

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
        left_out = [peer for peers in section["left_out"].values() for peer in peers]
        assert not [peer for peer in left_out if peer.startswith("tvmffi_cubin")]
        for table in section["tables"].values():
            for row in table["peers"].values():
                assert row["what"]
                assert all(value > 0 for values in row["cases"].values() for value in values)


def test_another_checkout_takes_part_in_the_same_run(result: dict):
    for table in result["sections"]["hit"]["tables"].values():
        ours, other = table["peers"].values()
        assert list(table["peers"]) == ["tvmffi_cubin", "tvmffi_cubin, the same"]
        assert ours["cases"].keys() == other["cases"].keys()
    counts = result["sections"]["hit"]["tables"]["modules imported"]["peers"]["tvmffi_cubin"]
    assert counts["cases"]["load_inline, a hit"] < counts["cases"]["load_inline, built"]


def test_every_section_has_jobs_for_the_peers_that_it_has():
    for section in run.SECTIONS.values():
        assert {reference for _, reference in section.tables.values()} <= section.peers.keys()
        for settings in (Settings(), Settings(quick=True), Settings(gpu=True)):
            named = {job.peer for job in section.jobs(settings)} - {""}
            assert named <= section.peers.keys()


# The report


def made(gpu: tuple[str, ...] = ()) -> dict:
    section = Section("cold", "Cold", "About it.", {"time | a": ("ms", "ours")}, list, list)
    for name, title in {"ours": "tvmffi_cubin", "b": "peer <1>", "c": "absent"}.items():
        section.peer(title, f"what {title} does", name=name)(list)
    samples = [
        Sample("b", "time | a", "new", (5.0, 4.0, 1000.0)),
        Sample("ours", "time | a", "new", (20.0, 10.0)),
        Sample("ours", "time | a", "new", (30.0,)),
        Sample("ours", "time | a", "again", (0.5,)),
        Sample("c", reason="absent is not installed"),
    ]
    values = report.section(section, samples)
    facts = {"kind": "a machine", "gpu": list(gpu), "driver": None, "cpu": "a CPU", "load": 0.5}
    facts |= {"compiler": "c++ 1", "nvcc": None, "python": "3.12", "versions": {"torch": "2.0"}}
    return {"date": "2026-11-21", "machine": facts, "sections": {"cold": values}}


def test_markdown_has_medians_ratios_and_what_was_left_out():
    text = report.markdown(json.loads(json.dumps(made())))
    lines = text.splitlines()
    assert lines[0] == "### Cold"
    assert "*a machine (a CPU), load average 0.5 before, 2026-11-21. c++ 1, Python 3.12, " in text
    assert "| time \\| a, ms | new | again | what is measured |" in lines
    assert (
        "| tvmffi_cubin | 20.0 (10.0) 1.00x | 0.50 (0.50) 1.00x | what tvmffi_cubin does |" in lines
    )
    assert "| peer &lt;1> | 5.00 (4.00) 0.25x | - | what peer &lt;1> does |" in lines
    assert "Left out: absent: absent is not installed." in lines


def test_a_page_gets_the_sections_of_a_report_in_the_place_of_its_machine():
    sections = "### Hot\nx\n\n### Cold\nstale\n\n### Last\ny\n"
    page = f"a\n<!-- h200:begin -->\n\n{sections}<!-- h200:end -->\nb"
    new = report.updated(page, made(("NVIDIA H200", "NVIDIA H200")))
    assert "stale" not in new
    assert [x for x in new.splitlines() if x[:3] == "###"] == ["### Hot", "### Cold", "### Last"]
    assert report.updated(new, made(("NVIDIA H200",))) == new
    with pytest.raises(ValueError, match=r"no place 'cpu'; it has \['h200'\]"):
        report.updated(page, made())
    ours = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    assert "About it." in report.updated(ours, made(("NVIDIA H200",)))
