"""Measures this package and its peers side by side, prints tables as Markdown, writes JSON.

    python benchmarks/run.py [--only launch,cold,...] [--json FILE] [--update docs/benchmarks.md]
    python benchmarks/run.py --only hit,cold --also before=CHECKOUT

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
import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import builds
import cold
import launches
import machine
import report
from bench import Job, Sample, Settings, Skip, Task, failure

_ALL = (
    *(launches.LAUNCH, launches.TRITON),
    cold.COLD,
    *(builds.HITS, builds.MODULES, builds.HEADERS),
)
SECTIONS = {section.name: section for section in _ALL}
OURS = "tvmffi_cubin"
MARK = "RESULT "
TIMEOUT = 400.0
# Everything that a peer keeps on disk, so that no run finds an earlier one's files.
CACHES = (
    "TVMFFI_CUBIN_CACHE_DIR",
    "TVM_FFI_CACHE_DIR",
    "CUPY_CACHE_DIR",
    "TRITON_CACHE_DIR",
    "TORCH_EXTENSIONS_DIR",
    "PYTORCH_KERNEL_CACHE_PATH",
    "CUDA_CACHE_PATH",
    "CUDA_CORE_CACHE_DIR",
    "TMPDIR",
)
TOOLKIT = Path("/usr/local/cuda")


def environment(folder: Path, path: str) -> dict[str, str]:
    """Return the environment of a child with caches in `folder` and modules in `path`."""
    values = dict(os.environ)
    if path:
        values["PYTHONPATH"] = os.pathsep.join(filter(None, (path, values.get("PYTHONPATH"))))
    for name in CACHES:
        values[name] = str(folder / name.lower())
        (folder / name.lower()).mkdir(parents=True, exist_ok=True)
    values.pop("TVMFFI_CUBIN_CACHE_PATH", None)
    # Packages installed by pip have bytecode.
    values.pop("PYTHONDONTWRITEBYTECODE", None)
    if "CUDA_HOME" not in values and (TOOLKIT / "bin" / "nvcc").exists():
        # Tools derive it from nvcc on PATH, which may be a link or a script elsewhere.
        values["CUDA_HOME"] = str(TOOLKIT)
    return values


def child(name: str, task: Task) -> None:
    """Run a task in this process; print a line for each sample, or the reason for none."""
    try:
        for sample in SECTIONS[name].measure(task):
            print(MARK + json.dumps(sample), flush=True)
    except Skip as skip:
        print(MARK + json.dumps(Sample(task.peer, reason=str(skip))), flush=True)
    except Exception as error:
        traceback.print_exc()
        print(MARK + json.dumps(failure(task.peer, error)), flush=True)


def run(name: str, task: Task, folder: Path, path: str = "") -> Iterator[Sample]:
    """Run a task in a fresh process; if it dies, yield its samples so far."""
    process = subprocess.Popen(
        [sys.executable, __file__, "--child", json.dumps([name, *task])],
        env=environment(folder, path),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        # It starts compilers, which must end with it.
        start_new_session=True,
    )
    problem = ""
    try:
        output, errors = process.communicate(timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, errors = process.communicate()
        problem = f"still running after {TIMEOUT:.0f} s"
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    if process.returncode and not problem:
        last = (errors.strip().splitlines() or ["no message"])[-1][:200]
        problem = f"the process ended with status {process.returncode}: {last}"
    lines = (line[len(MARK) :] for line in output.splitlines() if line.startswith(MARK))
    samples = [Sample(*json.loads(line)) for line in lines]
    if problem:
        samples.append(Sample(task.peer, reason=problem, failed=True))
    if any(sample.failed for sample in samples):
        print(errors[-3000:], file=sys.stderr)
    yield from samples


def turns(jobs: list[Job], number: int) -> list[Job]:
    """Return the jobs in the order of a round.

    The order of peers alternates, so none always runs after the same other one. A peer's own jobs
    keep their order: one may find what another left on disk.
    """
    if number % 2 == 0:
        return jobs
    own = {job.peer: iter([other for other in jobs if other.peer == job.peer]) for job in jobs}
    return [next(own[job.peer]) for job in reversed(jobs)]


def measure(name: str, settings: Settings, folder: Path) -> list[Sample]:
    """Run all jobs of a section in rounds, each in a fresh process."""
    found: list[Sample] = []
    given_up: set[Job] = set()
    # Sources also differ between runs: the driver has a disk cache outside the folder.
    salt = int(time.time()) % 100_000 * 1000
    jobs = list(SECTIONS[name].jobs(settings))
    # And between peers: NVRTC's own disk cache would give one what another has compiled.
    peers = list(dict.fromkeys(job.peer for job in jobs))
    paths = {peer: about.path for peer, about in SECTIONS[name].peers.items()}
    for number in range(settings.repeat):
        for job in turns(jobs, number):
            if job in given_up or (job.rare and number >= max(1, settings.repeat // 3)):
                continue
            own = salt + number * len(peers) + peers.index(job.peer)
            start = time.monotonic()
            task = Task(job.peer, job.argument, own, settings)
            samples = list(run(name, task, folder / job.peer, paths.get(job.peer, "")))
            found += samples
            reasons = "; ".join(f"{x.peer} left out: {x.reason}" for x in samples if x.reason)
            if not any(sample.values for sample in samples):
                given_up.add(job)
            print(
                f"[{time.monotonic() - start:5.1f} s] {name} {job.peer} {job.argument}, round "
                f"{number + 1}: {reasons or 'measured'}",
                file=sys.stderr,
            )
    return found


def run_all(options: argparse.Namespace) -> dict[str, Any]:
    """Measure what was requested and return the report as JSON values."""
    start = time.monotonic()
    facts = machine.facts()
    repeat = options.repeat or (1 if options.quick else 3)
    settings = Settings(repeat, options.quick, bool(facts["gpu"]), tuple(options.also))
    add_checkouts(settings)
    # As pip does when it installs a package; the peers have their bytecode.
    found = importlib.util.find_spec(OURS)
    folders = (found and found.submodule_search_locations) or []
    for folder in (*folders, *(Path(path, OURS) for _, path in options.also)):
        compileall.compile_dir(folder, quiet=2)
    sections = {}
    with tempfile.TemporaryDirectory(prefix="tvmffi-cubin-benchmark-") as caches:
        for name in options.only:
            samples = measure(name, settings, Path(caches))
            sections[name] = report.section(SECTIONS[name], samples)
    return {
        "date": datetime.date.today().isoformat(),
        "seconds": round(time.monotonic() - start),
        "settings": settings._asdict(),
        "machine": facts,
        "sections": sections,
    }


def add_checkouts(settings: Settings) -> None:
    """Add the peers of other checkouts to the sections."""
    for section in SECTIONS.values():
        for name, path in settings.also:
            section.add_checkout(name, path)


def checkout(text: str) -> tuple[str, str]:
    """Return the name and folder of another checkout."""
    name, path = text.split("=", 1)
    return name, str(Path(path).resolve())


def names(text: str) -> list[str]:
    """Return the sections of a comma-separated list, in the order of SECTIONS."""
    asked = {name.strip() for name in text.split(",")}
    if unknown := asked - SECTIONS.keys():
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
    parser.add_argument(
        "--also",
        type=checkout,
        action="append",
        default=[],
        metavar="NAME=CHECKOUT",
        help="another checkout of this project, in turns with this one in hit and cold",
    )
    parser.add_argument("--quick", action="store_true", help="one round of the smallest cases")
    parser.add_argument("--update", type=Path, metavar="PAGE", help="put the tables into a page")
    parser.add_argument("--from", dest="source", type=Path, metavar="FILE", help="measured before")
    parser.add_argument("--child", type=json.loads, help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def main() -> int:
    """Measure, write and print; return 1 if this package failed."""
    options = parse()
    if options.child:
        name, peer, argument, salt, values = options.child
        settings = Settings(*values)
        add_checkouts(settings)
        child(name, Task(peer, argument, salt, settings))
        return 0
    if options.source:
        result = json.loads(options.source.read_text(encoding="utf-8"))
    else:
        result = run_all(options)
        Path(options.json).write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    if options.update:
        page = options.update.read_text(encoding="utf-8")
        options.update.write_text(report.updated(page, result), encoding="utf-8")
    print(report.markdown(result))
    failed = [x for section in result["sections"].values() for x in section["failed"]]
    return 1 if any(peer.startswith(OURS) for peer in failed) else 0


if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).resolve().parent)]
    sys.exit(main())
