"""Measures this package and its peers side by side, prints tables, writes JSON.

    python benchmarks/run.py [--only launch,cold,...] [--json FILE] [--markdown]

Each measurement is a process of its own with caches of the run's; the peers take turns in several
rounds, so that a noisy machine is noisy for all. What is not installed, or cannot run here, is left
out with the reason. Figures are medians. docs/benchmarks.md says what is timed.
"""

from __future__ import annotations

import argparse
import compileall
import datetime
import importlib.util
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import child
import machine
import process
import table
from row import SCHEMA, Row, with_ratios
from section import Job, Sample, Section, Settings, Task

SECTIONS = ("launch", "carried", "triton_launch", "cold", "mixed_build", "embedding")
SECTIONS += ("modules", "headers")
OURS = "tvmffi_cubin"


def compile_bytecode() -> None:
    """Compile the package's bytecode, as pip does when it installs one; peers have theirs."""
    found = importlib.util.find_spec(OURS)
    for folder in (found and found.submodule_search_locations) or ():
        compileall.compile_dir(folder, quiet=2)


def rounds(job: Job, settings: Settings) -> int:
    """Return how many rounds a job takes part in."""
    return max(1, settings.repeat // 3) if job.few else settings.repeat


def turns(jobs: list[Job], number: int) -> list[Job]:
    """Return the jobs in the order of a round.

    Peers take turns back and forth: none always runs after the same other one. A peer's own jobs
    keep their order: one may find what another has left on disk.
    """
    if number % 2 == 0:
        return jobs
    own = {job.name: iter([other for other in jobs if other.name == job.name]) for job in jobs}
    return [next(own[job.name]) for job in reversed(jobs)]


def measure(section: Section, settings: Settings, folder: Path) -> list[Row]:
    """Run all jobs of a section in rounds, each in a fresh process."""
    found: dict[tuple[str, str, str], list[Sample]] = {}
    given_up: set[tuple[str, str]] = set()
    # Sources differ from run to run too: the driver has a disk cache that is not in the folder.
    salt = int(time.time()) % 100_000 * 1000
    jobs = section.jobs(settings)
    # And from peer to peer: NVRTC's own disk cache would give one what another has compiled.
    names = list(dict.fromkeys(job.name for job in jobs))
    for number in range(max(rounds(job, settings) for job in jobs)):
        for job in turns(jobs, number):
            key = (job.name, job.argument)
            if number >= rounds(job, settings) or key in given_up:
                continue
            own = salt + number * len(names) + names.index(job.name)
            task = Task(section.name, job.name, job.argument, own, settings)
            start = time.monotonic()
            samples = process.run(task, job, folder)
            for sample in samples:
                found.setdefault((sample.peer, sample.table, sample.case), []).append(sample)
            if all(sample.reason for sample in samples):
                given_up.add(key)
            report(section, job, number, samples, time.monotonic() - start)
    return rows(section, found, settings)


def rows(
    section: Section, found: dict[tuple[str, str, str], list[Sample]], settings: Settings
) -> list[Row]:
    """Return one row for each cell, in the order of the section's peers."""
    order = {peer.name: number for number, peer in enumerate(section.peers)}
    made = []
    for (name, title, case), samples in sorted(found.items(), key=lambda item: order[item[0][0]]):
        peer = section.peer(name)
        reasons = [sample for sample in samples if sample.reason]
        made.append(
            Row(
                section=section.name,
                table=title,
                peer=peer.title,
                case=case,
                what=peer.timed(settings.gpu),
                unit=section.units[title],
                samples=tuple(value for sample in samples for value in sample.values),
                reason=reasons[0].reason if reasons else "",
                failed=any(sample.failed for sample in reasons),
            )
        )
    return made


def report(section: Section, job: Job, number: int, samples: list[Sample], seconds: float) -> None:
    """Say on standard error what came of a job."""
    what = " ".join(part for part in (section.name, job.name, job.argument) if part)
    reasons: dict[str, list[str]] = {}
    for sample in samples:
        if sample.reason and sample.peer not in reasons.setdefault(sample.reason, []):
            reasons[sample.reason].append(sample.peer)
    left_out = [f"left out {', '.join(peers)}: {reason}" for reason, peers in reasons.items()]
    outcome = "; ".join(left_out) or "measured"
    print(f"[{seconds:5.1f} s] {what}, round {number + 1}: {outcome}", file=sys.stderr, flush=True)


def settings_of(options: argparse.Namespace, gpu: bool) -> Settings:
    repeat = options.repeat or (1 if options.quick else 3)
    return Settings(repeat=repeat, slow=options.slow, quick=options.quick, gpu=gpu)


def run_all(options: argparse.Namespace) -> dict[str, Any]:
    """Measure what was asked for and return the report as JSON values."""
    start = time.monotonic()
    facts = machine.facts()
    settings = settings_of(options, bool(facts["gpu"]))
    compile_bytecode()
    found: list[Row] = []
    sections = [child.load(name) for name in options.only]
    with tempfile.TemporaryDirectory(prefix="tvmffi-cubin-benchmark-") as folder:
        for section in sections:
            found += measure(section, settings, Path(folder))
    references = {
        (section.name, title): section.peer(peer).title
        for section in sections
        for title, peer in section.references.items()
    }
    return {
        "schema": SCHEMA,
        "date": datetime.date.today().isoformat(),
        "seconds": round(time.monotonic() - start),
        "settings": {"repeat": settings.repeat, "slow": settings.slow, "quick": settings.quick},
        "machine": facts,
        "sections": {
            section.name: {"title": section.title, "about": section.about} for section in sections
        },
        "rows": [row.as_json() for row in with_ratios(found, references)],
    }


def names(text: str) -> list[str]:
    """Return the sections of a comma-separated list, in the order of SECTIONS."""
    asked = {name.strip() for name in text.split(",")}
    if unknown := asked - set(SECTIONS):
        raise argparse.ArgumentTypeError(
            f"no section {min(unknown)!r}; there are {', '.join(SECTIONS)}"
        )
    return [name for name in SECTIONS if name in asked]


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", type=names, default=list(SECTIONS), metavar="SECTION,...")
    parser.add_argument("--json", default="benchmark.json", help="where to write all samples")
    parser.add_argument("--repeat", type=int, help="rounds (3); expensive peers take a third")
    parser.add_argument("--slow", action="store_true", help="also what takes minutes")
    parser.add_argument("--quick", action="store_true", help="one round of the smallest cases")
    parser.add_argument("--markdown", action="store_true", help="print the tables as Markdown")
    return parser.parse_args(arguments)


def main() -> int:
    """Measure, write, print; 1 where a peer of this package failed."""
    options = parse()
    result = run_all(options)
    Path(options.json).write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(table.markdown(result) if options.markdown else table.terminal(result))
    broken = [row for row in result["rows"] if row["failed"] and row["peer"].startswith(OURS)]
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
