"""The benchmarks' reports: figures, tables, the page that quotes them, processes that die."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "benchmarks"))

import launch  # noqa: E402
import machine  # noqa: E402
import mixed_sources  # noqa: E402
import process  # noqa: E402
import run  # noqa: E402
import table  # noqa: E402
import tools  # noqa: E402
from row import Row, with_ratios  # noqa: E402
from section import Job, Peer, Sample, Section, Settings, Skip, Task  # noqa: E402

PAGE = ROOT / "docs" / "benchmarks.md"
OURS, THEIRS, ABSENT = "tvmffi_cubin", "peer <1>", "absent"


def row(peer: str, case: str, *samples: float, reason: str = "") -> Row:
    return Row("cold", "time | a", peer, case, f"what {peer} does", "ms", samples, reason)


def report(gpu: tuple[str, ...] = ()) -> dict:
    rows = [
        row(OURS, "new", 20.0, 10.0, 30.0),
        row(OURS, "again", 0.5),
        row(THEIRS, "new", 5.0, 4.0, 1000.0),
        row(ABSENT, "new", reason="absent is not installed"),
        row("also absent", "new", reason="absent is not installed"),
    ]
    facts = {"kind": "a machine", "gpu": list(gpu), "driver": None, "cpu": "a CPU", "load": 0.5}
    facts |= {"compiler": "c++ 1", "nvcc": None, "python": "3.12", "versions": {"torch": "2.0"}}
    return {
        "schema": 1,
        "date": "2026-11-21",
        "machine": facts,
        "sections": {"cold": {"title": "Cold", "about": "About it."}},
        "rows": [r.as_json() for r in with_ratios(rows, {("cold", "time | a"): OURS})],
    }


def test_a_row_has_median_minimum_and_ratio_to_ours():
    rows = report()["rows"]
    assert [r["median"] for r in rows] == [20.0, 0.5, 5.0, None, None]
    assert [r["min"] for r in rows] == [10.0, 0.5, 4.0, None, None]
    assert [r["ratio"] for r in rows] == [1.0, 1.0, 0.25, None, None]
    assert rows[0]["samples"] == [20.0, 10.0, 30.0]


def test_peers_take_turns_back_and_forth_and_share_no_source(monkeypatch, tmp_path):
    taken: list[tuple[str, str, int]] = []

    def run_nothing(task: Task, job: Job, folder: Path) -> list[Sample]:
        taken.append((task.job, task.argument, task.salt))
        return [Sample(*cell, (1.0,)) for cell in job.cells]

    monkeypatch.setattr(process, "run", run_nothing)
    monkeypatch.setattr(run.time, "time", lambda: 1.0)
    section = Section(
        name="cold",
        title="Cold",
        about="",
        peers=(Peer(OURS, OURS, ""), Peer("b", "b", "")),
        units={"time": "ms"},
        references={"time": OURS},
        jobs=lambda settings: [
            Job(name, argument, ((name, "time", argument),))
            for name in (OURS, "b")
            for argument in ("new", "restarted")
        ],
        measure=lambda task: [],
    )
    run.measure(section, Settings(repeat=2), tmp_path)
    assert taken == [
        (OURS, "new", 1000),
        (OURS, "restarted", 1000),
        ("b", "new", 1001),
        ("b", "restarted", 1001),
        ("b", "new", 1003),
        ("b", "restarted", 1003),
        (OURS, "new", 1002),
        (OURS, "restarted", 1002),
    ]


def test_a_report_is_json():
    assert json.loads(json.dumps(report())) == report()


def test_the_terminal_shows_a_line_for_each_peer_and_why_others_are_left_out():
    text = table.terminal(report())
    assert "tvmffi_cubin  20.0 (10.0) 1.00x  0.50 (0.50) 1.00x" in text
    assert "peer <1>      5.00 (4.00) 0.25x  -" in text
    assert "left out: absent; also absent: absent is not installed" in text
    assert (
        "a machine (a CPU), load average 0.5 before, 2026-11-21. c++ 1, Python 3.12, torch 2.0."
        in text
    )


def test_markdown_has_the_same_figures_and_says_what_is_measured():
    lines = table.markdown(report()).splitlines()
    assert "| time \\| a, ms | new | again | what is measured |" in lines
    assert "| --- | --- | --- | --- |" in lines
    assert "| peer &lt;1> | 5.00 (4.00) 0.25x | - | what peer &lt;1> does |" in lines
    assert "Left out: absent; also absent: absent is not installed." in lines
    assert "### Cold" in lines


def test_a_table_without_any_figure_has_no_head():
    nothing = report()
    nothing["rows"] = nothing["rows"][3:]
    assert "| " not in table.markdown(nothing)
    assert "---" not in table.terminal(nothing)


@pytest.mark.parametrize(
    ("value", "text"), [(0.834, "0.83"), (9.999, "10.00"), (12.34, "12.3"), (1234.5, "1234")]
)
def test_figures_have_about_three_digits(value: float, text: str):
    assert table.number(value) == text


def test_another_schema_is_refused():
    with pytest.raises(ValueError, match="schema 0, wanted 1"):
        table.tables({**report(), "schema": 0})


def test_a_page_gets_a_report_in_the_place_of_its_machine():
    page = "a\n<!-- cpu:begin -->\nold\n<!-- cpu:end -->\nb\n"
    new = table.updated(page, table.place_of(report()), "new")
    assert new == "a\n<!-- cpu:begin -->\n\nnew\n\n<!-- cpu:end -->\nb\n"
    assert table.updated(new, "cpu", "new") == new


def test_a_place_is_called_after_the_gpu():
    assert table.place_of(report(("NVIDIA H200", "NVIDIA H200"))) == "h200"
    assert table.place_of(report(("NVIDIA H100 80GB HBM3",))) == "h100-80gb-hbm3"


def test_a_page_without_the_place_is_an_error_that_says_which_it_has():
    with pytest.raises(ValueError, match=r"no place 'h200' between markers; it has \['cpu'\]"):
        table.updated("<!-- cpu:begin -->\n<!-- cpu:end -->", "h200", "new")


def test_a_section_that_was_measured_anew_replaces_the_earlier_one():
    old, new = report(), {**report(), "date": "2026-11-22"}
    old["sections"]["launch"] = {"title": "Launch", "about": ""}
    old["rows"] = [*old["rows"], {**old["rows"][0], "section": "launch"}]
    first, second = table.latest([old, new])
    assert list(first["sections"]) == ["launch"]
    assert [r["section"] for r in first["rows"]] == ["launch"]
    assert second == new
    assert table.latest([report(), new]) == [new]


@pytest.mark.parametrize("place", ["h200", "cpu"])
def test_the_page_has_the_places(place: str):
    assert "new" in table.updated(PAGE.read_text(encoding="utf-8"), place, "new")


def test_facts_of_this_machine_are_json():
    facts = json.loads(json.dumps(machine.facts()))
    assert facts["cpu_count"] >= 1
    assert facts["versions"]["apache-tvm-ffi"]


def test_sections_are_measured_in_their_order_and_unknown_ones_refused(capsys):
    assert run.parse(["--only", "headers,cold"]).only == ["cold", "headers"]
    with pytest.raises(SystemExit):
        run.parse(["--only", "cold,colder"])
    assert (
        "no section 'colder'; there are launch, carried, triton_launch" in capsys.readouterr().err
    )


def test_every_peer_of_every_section_has_a_line_that_says_what_is_timed():
    for name in run.SECTIONS:
        section = run.child.load(name)
        for settings in (Settings(), Settings(quick=True), Settings(slow=True, gpu=True)):
            for job in section.jobs(settings):
                for peer, title, _ in job.cells:
                    assert section.peer(peer).timed(settings.gpu)
                    assert title in section.units
                assert section.job(job.name, job.argument, settings) == job
        for title, peer in section.references.items():
            assert title in section.units
            assert section.peer(peer)
        assert section.references.keys() == section.units.keys()


def test_peers_take_turns_at_launching():
    called = []
    ready = {"a": (lambda: called.append("a"), 500), "b": (lambda: called.append("b"), 250)}
    found = launch.timed(ready, 2, lambda: called.append("wait"))
    assert called == ["wait", "a", "wait", "b", "b"] * 3 + ["wait"]
    assert {peer: len(values) for peer, values in found.items()} == {"a": 2, "b": 2}


@pytest.mark.parametrize("broken", [False, True])
def test_a_peer_that_fails_ends_the_process_only_where_the_device_is_lost(monkeypatch, broken):
    def wait() -> None:
        if broken:
            raise RuntimeError("an illegal memory access was encountered")

    def end(status: int) -> None:
        raise SystemExit(status)

    def setting_up(peer: str, arrays: tuple) -> tuple:
        if peer == "cupy":
            raise ValueError("no such argument")
        return list, launch.launch_peers.CALLS

    monkeypatch.setattr(launch.launch_peers, "arrays", lambda: ())
    monkeypatch.setattr(launch.launch_peers, "wait", wait)
    monkeypatch.setattr(launch, "checked", setting_up)
    monkeypatch.setattr(launch.os, "_exit", end)
    task = Task("launch", launch.ALL, "", 1, Settings(gpu=True, quick=True))
    if broken:
        with pytest.raises(SystemExit, match=str(launch.BROKEN)):
            launch.measure(task)
        return
    samples = launch.measure(task)
    assert [s.reason for s in samples if s.failed] == ["ValueError: no such argument"]
    assert len([s for s in samples if s.values]) == len(launch.PEERS) - 1


def test_what_is_not_installed_is_skipped_by_its_name():
    with pytest.raises(Skip, match="^no_such_module is not installed$"):
        tools.need("json", "no_such_module")
    with pytest.raises(Skip, match=r"^json\.no_such_module is not installed$"):
        tools.need("json.no_such_module")
    with pytest.raises(Skip, match="^no_such_module.inner is not installed$"):
        tools.need("no_such_module.inner")


FRAGILE = """
import os, time
from child import announce
from section import Job, Peer, Sample, Section, Skip

CELLS = tuple((peer, "table", "") for peer in ("good", "deadly", "better"))

def measure(task):
    if task.argument == "skips":
        raise Skip("not here")
    if task.argument == "raises":
        raise ValueError("first line\\nsecond")
    if task.argument == "dies":
        os._exit(3)
    samples = []
    for peer, table, case in CELLS:
        if peer not in task.excluded:
            announce(peer)
            if peer == "deadly":
                os._exit(9)
            samples.append(Sample(peer, table, case, (1.0, float(task.salt))))
    return samples

SECTION = Section("fragile", "", "", (), {"table": "ms"}, {"table": "good"},
    lambda settings: [Job("all", name, CELLS) for name in ("", "skips", "raises", "dies")], measure)
"""


def run_fragile(argument: str, tmp_path: Path) -> dict[str, Sample]:
    (tmp_path / "fragile.py").write_text(FRAGILE, encoding="utf-8")
    cells = tuple((peer, "table", "") for peer in ("good", "deadly", "better"))
    task = Task("fragile", "all", argument, 7, Settings())
    job = Job("all", argument, cells)
    found = process.run(task, job, tmp_path / "caches", {"PYTHONPATH": str(tmp_path)})
    return {sample.peer: sample for sample in found}


def test_a_peer_that_kills_the_process_is_left_out_and_the_others_are_measured(tmp_path: Path):
    found = run_fragile("", tmp_path)
    assert found["deadly"].failed
    assert found["deadly"].reason == "the process ended with status 9: no message"
    assert [tuple(found[peer].values) for peer in ("good", "better")] == [(1.0, 7.0)] * 2


@pytest.mark.parametrize(
    ("argument", "reason", "failed"),
    [
        ("skips", "not here", False),
        ("raises", "ValueError: first line", True),
        ("dies", "the process ended with status 3: no message", True),
    ],
)
def test_what_stops_a_job_is_the_reason_of_all_its_cells(
    argument: str, reason: str, failed: bool, tmp_path: Path
):
    found = run_fragile(argument, tmp_path)
    assert {(s.reason, s.failed, tuple(s.values)) for s in found.values()} == {(reason, failed, ())}
    assert len(found) == 3


def test_rounds_of_a_job_become_one_row_and_a_skip_ends_them(monkeypatch, tmp_path: Path):
    peers = (Peer("theirs", THEIRS, "w", "w without"), Peer("ours", OURS, "w"))
    cells = {name: ((name, "t", ""),) for name in ("ours", "theirs")}
    jobs = [Job("ours", "", cells["ours"]), Job("theirs", "", cells["theirs"])]
    few = Job("ours", "rare", (("ours", "t", "rare"),), few=True)
    section = Section(
        "s", "", "", peers, {"t": "ms"}, {"t": "ours"}, lambda _: [*jobs, few], lambda _: []
    )
    asked = []

    def answer(task: Task, job: Job, folder: Path) -> list[Sample]:
        asked.append((task.job, task.argument))
        if task.job == "theirs":
            return [Sample("theirs", "t", "", reason="not here")]
        return [Sample("ours", "t", task.argument, (float(len(asked)),))]

    monkeypatch.setattr(process, "run", answer)
    rows = run.measure(section, Settings(repeat=3), tmp_path)
    assert asked == [("ours", ""), ("theirs", ""), ("ours", "rare"), ("ours", ""), ("ours", "")]
    assert [(r.peer, r.case, r.samples, r.reason) for r in rows] == [
        (THEIRS, "", (), "not here"),
        (OURS, "", (1.0, 4.0, 5.0), ""),
        (OURS, "rare", (3.0,), ""),
    ]
    assert rows[0].what == "w without"


@pytest.mark.parametrize("name", mixed_sources.SOURCES)
def test_a_mixed_source_is_new_on_the_side_that_is_edited(name: str):
    first, device, host = (mixed_sources.text(name, *salts) for salts in ((1, 1), (2, 1), (2, 2)))
    assert len({first, device, host}) == 3
    assert "SALT" not in first
    assert f"void {mixed_sources.function(name)}(tvm::ffi::TensorView" in first
    assert "<<<" in first
