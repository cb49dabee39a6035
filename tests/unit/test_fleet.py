"""The simulation of a fleet: what is built and taken is what the rules say, whatever the costs."""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "benchmarks"))

import fleet  # noqa: E402
from fleet import Fleet, Outcome, Run  # noqa: E402
from fleet_costs import Costs  # noqa: E402
from simulation import Clock, Lock  # noqa: E402

COSTS = Costs(
    build=0.1,
    hit=0.001,
    take=0.005,
    pack=0.001,
    request=0.001,
    entry_bytes=60_000,
    record_bytes=3_000,
)
SMALL = Fleet(hosts=5, ranks=4, modules=3)
EACH_HOST, EACH_RANK = 5 * 3, 5 * 4 * 3


def outcome(**changes) -> Outcome:
    return Run(dataclasses.replace(SMALL, **changes), COSTS, 0).run()


@pytest.mark.parametrize(
    ("changes", "builds", "taken"),
    [
        ({"has_folder": False, "has_remote": False}, EACH_RANK, 0),
        ({"has_remote": False}, EACH_HOST, 0),
        ({"is_warm": True}, 0, EACH_HOST),
        ({"is_warm": True, "has_folder": False}, 0, EACH_RANK),
        ({"claims": True}, 3, EACH_HOST - 3),
        # Nobody waits longer than the budget, nor twice.
        ({"is_warm": True, "latency": 5.0}, EACH_HOST, 0),
    ],
    ids=str,
)
def test_who_builds_and_who_takes(changes, builds, taken):
    found = outcome(**changes)
    assert (found.builds, found.taken) == (builds, taken)
    assert found.given_up == (5 if "latency" in changes else 0)


def test_a_late_host_takes_what_an_early_one_has_put_there():
    found = outcome(within=1000.0)
    assert found.builds + found.taken == EACH_HOST
    assert found.taken > 0


def test_the_time_of_a_lone_rank_is_the_sum_of_its_steps():
    alone = {"hosts": 1, "ranks": 1, "modules": 1, "within": 0.0, "has_remote": False}
    found = outcome(**alone)
    assert COSTS.hit + 0.9 * COSTS.build <= found.last <= COSTS.hit + 1.3 * COSTS.build
    warm = outcome(**alone | {"has_remote": True, "is_warm": True})
    requests = 2 * (COSTS.request + SMALL.latency + 1 / SMALL.requests)
    bytes_down = COSTS.entry_bytes / SMALL.bandwidth
    assert warm.last == pytest.approx(COSTS.hit + COSTS.take + requests + bytes_down)
    assert warm.down == COSTS.entry_bytes + COSTS.record_bytes


def test_the_same_seed_gives_the_same_start():
    assert outcome() == outcome()


def test_a_lock_is_given_on_in_the_order_of_those_who_wait():
    clock, lock, order = Clock(), Lock(), []

    def work(name, seconds):
        yield lock
        order.append((name, clock.now))
        yield seconds
        clock.release(lock)

    for name in "abc":
        clock.start(work(name, 2.0))
    clock.start(work("late", 1.0), after=10.0)
    clock.run()
    assert order == [("a", 0.0), ("b", 2.0), ("c", 4.0), ("late", 10.0)]


def test_the_table_has_a_row_for_each_case(tmp_path, monkeypatch, capsys):
    path = tmp_path / "costs.json"
    path.write_text(json.dumps(dataclasses.asdict(COSTS)))
    arguments = ["fleet.py", "--costs", str(path), "--hosts", "2", "--ranks", "2", "--modules", "2"]
    monkeypatch.setattr(sys, "argv", arguments)
    assert fleet.main() == 0
    lines = capsys.readouterr().out.splitlines()
    rows = [line.split(" | ")[0].strip("| ") for line in lines if line.startswith("| ")]
    assert rows[1:] == list(fleet.CASES)
