"""The benchmarks that need no GPU, in their smallest setting, and their report; never times."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from stub.cuda_array import cuda_array

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "benchmarks"))

import bench  # noqa: E402
import cold  # noqa: E402
import launches  # noqa: E402
import machine  # noqa: E402
import report  # noqa: E402
import run  # noqa: E402
import sources  # noqa: E402
from bench import Job, Sample, Section, Settings, Task  # noqa: E402

OF_GPUS = {"launch", "carried", "triton_launch"}
# What compiles no C++.
RUN = ["launch", "carried", "triton_launch", "hit", "embedding", "modules"]


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> dict:
    """What --quick writes where there is no GPU, as its JSON says it."""
    path = tmp_path_factory.mktemp("benchmarks") / "report.json"
    options = [f"--only={','.join(RUN)}", f"--json={path}"]
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


def test_every_section_has_jobs_for_the_peers_that_it_has():
    for name in run.SECTIONS:
        section = run.load(name)
        assert {reference for _, reference in section.tables.values()} <= section.peers.keys()
        for settings in (Settings(), Settings(quick=True), Settings(slow=True, gpu=True)):
            named = {job.peer for job in section.jobs(settings)} - {""}
            assert named <= section.peers.keys()


def test_a_peer_that_is_not_installed_is_left_out_with_that_reason():
    with pytest.raises(bench.Skip, match="^no_such_module is not installed$"):
        bench.need("json", "no_such_module")


def test_from_source_to_result_has_the_result_twice(driver_stub, monkeypatch):
    x, y = cuda_array(driver_stub, cold.N), cuda_array(driver_stub, cold.N)
    x.numpy[:], y.numpy[:] = 1, 0

    def axpy(made) -> None:
        assert made.values("PPi") == (x.data_ptr, y.data_ptr, cold.N)
        assert (made.grid, made.block) == ((cold.BLOCKS, 1, 1), (256, 1, 1))
        y.numpy[:] += 2 * x.numpy

    driver_stub.set_kernel("axpy", axpy)
    arrays = (x, y, lambda: None, lambda: float(y.numpy[-1]))
    monkeypatch.setattr(cold, "arrays", lambda gpu: arrays)
    trial = cold.SECTION.peers["tvmffi_cubin"].run(5, True)
    assert cold.timed(trial, 1) > 0
    assert cold.timed(trial, 2) > 0
    with pytest.raises(AssertionError, match=r"y is 6\.0, wanted 4\.0"):
        cold.timed(trial, 2)


@pytest.mark.parametrize("section", [launches.LAUNCH, launches.TRITON], ids=["empty", "triton"])
def test_the_launches_of_this_package_launch_what_they_say(
    section: Section, driver_stub, monkeypatch, tmp_path
):
    if section is launches.TRITON:
        pytest.importorskip("triton", reason="Triton is not installed")
    arrays = [cuda_array(driver_stub, 16) for _ in range(3)]
    checked: list[int] = []

    def check(call, last):
        """In place of torch's view of memory: what the driver was asked to launch."""
        before = len(driver_stub.launches())
        call()
        for made in driver_stub.launches()[before:]:
            n = launches.WRITES if section is launches.LAUNCH else launches.ELEMENTS
            assert made.grid == (1, 1, 1)
            values = made.values("PPPiPP" if section is launches.TRITON else "PPPi")
            assert values[:4] == (*(a.data_ptr for a in arrays), n)
        checked.append(len(driver_stub.launches()) - before)

    # The others take a C++ compiler.
    ours = [x for x in section.peers if x.startswith("tvmffi_cubin") and "wrapper" not in x]
    monkeypatch.setattr(launches, "arrays", lambda: arrays)
    monkeypatch.setattr(launches, "check", check)
    monkeypatch.setattr(launches, "wait", lambda: None)
    monkeypatch.setattr(bench, "device_arch", lambda: "sm_90a")
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("TVMFFI_CUBIN_ARCH", "sm_90a")
    (table,) = section.tables
    mine = Section("", "", {}, launches.once, list, {x: section.peers[x] for x in ours})
    task = Task("", "", 1, Settings(quick=True, gpu=True))
    samples = list(launches.issued(mine, table, launches.WRITES, task))
    assert [sample.reason for sample in samples] == [""] * len(samples)
    found = {sample.peer: len(sample.values) for sample in samples}
    assert found == dict.fromkeys(ours, launches.QUICK_ROUNDS)
    assert checked == [1] * len(ours)


def test_peers_take_turns_back_and_forth_and_share_no_source(monkeypatch, tmp_path):
    taken: list[tuple[str, str, int]] = []

    def run_nothing(name: str, task: Task, folder: Path) -> list[Sample]:
        taken.append((task.peer, task.argument, task.salt))
        if task.peer == "rare":
            return [Sample(task.peer, reason="not here")]
        return [Sample(task.peer, "time", "", (1.0,))]

    jobs = [Job(name, argument) for name in "ab" for argument in ("new", "restarted")]
    section = Section("", "", {}, lambda settings: [*jobs, Job("rare")], list)
    monkeypatch.setattr(run, "load", lambda name: section)
    monkeypatch.setattr(run, "run", run_nothing)
    monkeypatch.setattr(run.time, "time", lambda: 1.0)
    found = run.measure("cold", Settings(repeat=2), tmp_path)
    order = [("a", 1000), ("a", 1000), ("b", 1001), ("b", 1001), ("rare", 1002)]
    order += [("b", 1004), ("b", 1004), ("a", 1003), ("a", 1003)]
    assert [(peer, salt) for peer, _, salt in taken] == order
    assert [argument for _, argument, _ in taken if argument] == ["new", "restarted"] * 4
    assert [x.reason for x in found if x.reason] == ["not here"]


def test_unknown_sections_are_refused():
    assert run.names("headers,cold") == ["cold", "headers"]
    with pytest.raises(argparse.ArgumentTypeError, match="no section 'colder'; there are launch"):
        run.names("cold,colder")


def test_a_process_that_dies_has_its_samples_and_the_reason(monkeypatch, tmp_path):
    fragile = tmp_path / "fragile.py"
    fragile.write_text(
        f"import os, sys; sys.path[:0] = [{str(ROOT / 'benchmarks')!r}]; import run\n"
        "from bench import Sample, Section, Settings, Task\n"
        "def measure(task):\n"
        "    yield Sample('good', 'time', '', (1.0,))\n"
        "    os._exit(9)\n"
        "run.load = lambda name: Section('', '', {}, list, measure)\n"
        "run.child('fragile', Task('bad', '', 1, Settings()))\n"
    )
    monkeypatch.setattr(run, "__file__", str(fragile))
    good, bad = run.run("fragile", Task("bad", "", 1, Settings()), tmp_path)
    assert (good.peer, good.values) == ("good", [1.0])
    assert (bad.reason, bad.failed) == ("the process ended with status 9: no message", True)


# The report


def made(gpu: tuple[str, ...] = ()) -> dict:
    section = Section("Cold", "About it.", {"time | a": ("ms", "ours")}, list, list)
    for name, title in {"ours": "tvmffi_cubin", "b": "peer <1>", "c": "absent"}.items():
        section.peer(title, f"what {title} does", name=name)(list)
    samples = [
        Sample("b", "time | a", "new", (5.0, 4.0, 1000.0)),
        Sample("ours", "time | a", "new", (20.0, 10.0)),
        Sample("ours", "time | a", "new", (30.0,)),
        Sample("ours", "time | a", "again", (0.5,)),
        Sample("c", reason="absent is not installed"),
    ]
    values = report.section(section, samples, Settings(gpu=True))
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


def test_facts_of_this_machine_are_json():
    assert json.loads(json.dumps(machine.facts()))["versions"]["apache-tvm-ffi"]


@pytest.mark.parametrize("name", sources.MIXED)
def test_a_mixed_source_is_new_on_the_side_that_is_edited(name: str):
    function, text = sources.MIXED[name]
    first, device, host = (sources.salted(text, *salts) for salts in ((1, 1), (2, 1), (2, 2)))
    assert len({first, device, host}) == 3
    assert "SALT" not in first
    assert f"void {function}(tvm::ffi::TensorView" in first
