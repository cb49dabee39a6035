"""Simulates a fleet that starts at once, against local and remote caches; prints a table.

    python benchmarks/fleet.py [--costs FILE] [--hosts 125] [--ranks 8] [--modules 10] ...

Every rank loads the same modules, one after the other. The steps' costs are measured on this
machine first (or read from the FILE that an earlier run wrote); the network and the remote are
assumptions, which are options. What is simulated: the lock of each host, look-up, building,
packing, taking, uploads in the background, and a remote with one queue for requests and bytes.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import random
import sys
from pathlib import Path

import fleet_costs
import machine
from fleet_costs import Costs
from simulation import Clock, Lock, Process

# In the package: how long who waits for a lock sleeps at most, and how often a claim is asked for.
POLL = 0.05


@dataclasses.dataclass(frozen=True)
class Fleet:
    """Who starts, and what there is; times in seconds, rates in bytes a second.

    `within` is the time in which the ranks come up; `has_folder` whether a host's ranks share a
    cache folder, `has_remote` whether hosts share a remote; `is_warm` whether that has everything.
    `spread` is the time in which a host picks the moment of an upload, `pause` that of a wait
    before a build; `longer` is how many times as long as the measured one a build takes; `claims`
    whether who builds is agreed on by an object of the remote.
    """

    hosts: int = 125
    ranks: int = 8
    modules: int = 10
    within: float = 0.5
    latency: float = 0.02
    bandwidth: float = 1.25e9
    requests: float = 3000.0
    budget: float = 1.0
    has_folder: bool = True
    has_remote: bool = True
    is_warm: bool = False
    spread: float = 2.0
    pause: float = 0.0
    longer: float = 1.0
    claims: bool = False


@dataclasses.dataclass
class Outcome:
    """What happened; when the last rank was ready, and how long ranks took together, in seconds."""

    builds: int = 0
    taken: int = 0
    requests: int = 0
    up: int = 0
    down: int = 0
    given_up: int = 0
    last: float = 0.0
    together: float = 0.0


class Run:
    """One fleet's start."""

    def __init__(self, fleet: Fleet, costs: Costs, seed: int) -> None:
        self.fleet, self.costs = fleet, costs
        self.random = random.Random(seed)
        self.clock = Clock()
        self.outcome = Outcome()
        self.free = 0.0  # when the remote has done what it was asked so far
        self.remote = set(range(fleet.modules)) if fleet.is_warm else set()
        self.claimed: set[int] = set()
        self.local: set[tuple[int, int]] = set()
        self.locks: dict[tuple[int, int], Lock] = {}
        self.resting: dict[int, float] = {}  # hosts that gave up, until when
        self.waited: dict[int, float] = {}  # for look-ups that found nothing

    def run(self) -> Outcome:
        for rank in range(self.fleet.hosts * self.fleet.ranks):
            # Without a folder in common each rank is as a host of its own.
            host = rank // self.fleet.ranks if self.fleet.has_folder else rank
            self.clock.start(self.rank(host), after=self.random.uniform(0.0, self.fleet.within))
        self.clock.run()
        return self.outcome

    def rank(self, host: int) -> Process:
        began = self.clock.now
        for module in range(self.fleet.modules):
            place = host, module
            yield self.costs.hit
            if place in self.local:
                continue
            lock = self.locks.setdefault(place, Lock())
            waits = lock.is_held
            yield lock
            if waits:
                yield self.random.uniform(0.0, POLL)
            if place not in self.local:
                yield from self.make(host, module)
                self.local.add(place)
            self.clock.release(lock)
        self.outcome.last = max(self.outcome.last, self.clock.now)
        self.outcome.together += self.clock.now - began

    def make(self, host: int, module: int) -> Process:
        """Take a module from the remote, or build it."""
        fleet = self.fleet
        if fleet.has_remote and (yield from self.wait_for_remote(host, module)):
            return
        yield self.fleet.longer * self.costs.build * self.random.uniform(0.9, 1.3)
        self.outcome.builds += 1
        if fleet.has_remote:
            # Who has claimed a build is waited for.
            spread = 0.0 if fleet.claims else fleet.spread
            self.clock.start(self.upload(module), after=self.random.uniform(0.0, spread))

    def wait_for_remote(self, host: int, module: int) -> Process:
        """Take a module as the fleet's strategy has it; return whether it was there."""
        if (yield from self.take(host, module)):
            return True
        if self.fleet.pause:
            yield self.random.uniform(0.0, self.fleet.pause)
            return (yield from self.take(host, module))
        if self.fleet.claims and not (yield from self.claim(module)):
            while not (yield from self.take(host, module)):
                yield POLL
            return True
        return False

    def take(self, host: int, module: int) -> Process:
        if self.clock.now < self.resting.get(host, 0.0):
            return False
        began = self.clock.now
        if not (yield from self.request(host, began, 0)):
            return False
        if module not in self.remote:
            self.count_wait(host, began)
            return False
        self.outcome.down += self.costs.record_bytes + self.costs.entry_bytes
        if not (yield from self.request(host, began, self.costs.entry_bytes)):
            return False
        yield self.costs.take
        self.outcome.taken += 1
        self.waited[host] = 0.0
        return True

    def count_wait(self, host: int, began: float) -> None:
        """Leave the remote alone for a while where fruitless look-ups took the budget together."""
        self.waited[host] = self.waited.get(host, 0.0) + self.clock.now - began
        if self.waited[host] >= self.fleet.budget and not self.fleet.claims:
            self.waited[host] = 0.0
            self.resting[host] = self.clock.now + 60.0

    def claim(self, module: int) -> Process:
        yield from self.request(None, 0.0, 0)
        is_first = module not in self.claimed
        self.claimed.add(module)
        return is_first

    def upload(self, module: int) -> Process:
        yield from self.request(None, 0.0, 0)
        if module in self.remote:
            return
        yield self.costs.pack
        yield from self.request(None, 0.0, self.costs.entry_bytes)
        yield from self.request(None, 0.0, self.costs.record_bytes)
        self.outcome.up += self.costs.entry_bytes + self.costs.record_bytes
        self.remote.add(module)

    def request(self, host: int | None, began: float, size: int) -> Process:
        """Wait for the remote's answer, a look-up until its budget is spent; say if it came."""
        fleet, now = self.fleet, self.clock.now
        self.outcome.requests += 1
        work = 1.0 / fleet.requests + size / fleet.bandwidth
        self.free = max(self.free, now) + work
        takes = self.costs.request + fleet.latency + self.free - now
        left = fleet.budget - (now - began)
        if host is not None and takes > left:
            self.outcome.given_up += 1
            yield left
            self.resting[host] = self.clock.now + 60.0
            return False
        yield takes
        return True


CASES: dict[str, dict[str, object]] = {
    "each rank on its own": {"has_folder": False, "has_remote": False},
    "a folder on each host": {"has_remote": False},
    "and a remote that has nothing": {},
    "and a remote that has everything": {"is_warm": True},
    "the same, the remote answers 200 requests/s": {"is_warm": True, "requests": 200.0},
    "ranks come up within 30 s, no remote": {"within": 30.0, "has_remote": False},
    "ranks come up within 30 s, a remote that has nothing": {"within": 30.0},
    "builds 20 times as long, no remote": {"longer": 20.0, "has_remote": False},
    "builds 20 times as long, a remote that has nothing": {"longer": 20.0},
    "builds 20 times as long, a remote that has everything": {"longer": 20.0, "is_warm": True},
    "not done: uploads begin at once": {"spread": 0.0},
    "not done: a wait of up to 0.2 s before a build": {"pause": 0.2},
    "not done: a wait of up to 2 s before a build": {"pause": 2.0},
    "not done: a claim on the remote, one builds, all wait": {"claims": True},
    "not done: a claim, builds 20 times as long": {"claims": True, "longer": 20.0},
}


def table(outcomes: dict[str, Outcome], ranks: int) -> str:
    """Return the outcomes as Markdown."""
    heads = (
        "",
        "builds",
        "taken",
        "given up",
        "requests",
        "MB up",
        "MB down",
        "last rank, s",
        "a rank, s",
    )
    lines = ["| " + " | ".join(heads) + " |", "|---" + "|---:" * (len(heads) - 1) + "|"]
    for case, found in outcomes.items():
        cells = [case, *map(str, (found.builds, found.taken, found.given_up, found.requests))]
        cells += [f"{found.up / 1e6:.1f}", f"{found.down / 1e6:.1f}", f"{found.last:.2f}"]
        cells.append(f"{found.together / ranks:.2f}")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--costs", type=Path, help="read the costs; written where it is not there")
    parser.add_argument("--seed", type=int, default=0)
    for field in dataclasses.fields(Fleet):
        if field.name in ("hosts", "ranks", "modules", "latency", "bandwidth", "requests"):
            kind = type(field.default)
            parser.add_argument(f"--{field.name}", type=kind, default=field.default)
    return parser.parse_args(arguments)


def costs_of(path: Path | None) -> Costs:
    """Return the costs in a file; where there is none, measure them, and write it."""
    if path is not None and path.exists():
        return Costs(**json.loads(path.read_text(encoding="utf-8")))
    costs = fleet_costs.measure()
    if path is not None:
        path.write_text(json.dumps(dataclasses.asdict(costs), indent=1) + "\n", encoding="utf-8")
    return costs


def main() -> int:
    options = parse()
    costs = costs_of(options.costs)
    given = {name: value for name, value in vars(options).items() if name not in ("costs", "seed")}
    base = Fleet(**given)
    outcomes = {
        case: Run(dataclasses.replace(base, **changes), costs, options.seed).run()
        for case, changes in CASES.items()
    }
    facts = machine.facts()
    print(f"Costs on a {facts['kind']} ({facts['cpu']}), load average {facts['load']} before:")
    print(", ".join(f"{name} {value:.4g}" for name, value in dataclasses.asdict(costs).items()))
    print(f"{base}\n\n{table(outcomes, base.hosts * base.ranks)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
