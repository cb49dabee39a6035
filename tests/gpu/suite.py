"""Runs everything that needs a GPU and prints a short summary last: python tests/gpu/suite.py

The GPU tests (the notebook among them), the examples, the demo and, with --benchmarks, the
benchmarks; exit status 1 where one fails. Output goes to the terminal; the summary repeats what
matters.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections import deque
from pathlib import Path

ROOT = Path(__file__).parents[2]


def run(name: str, *command: str | Path, lines: int = 1) -> tuple[str, bool, str, float]:
    """Run a command; return name, whether it succeeded, its last lines, and seconds."""
    print(f"== {name}", flush=True)
    start = time.monotonic()
    last: deque[str] = deque(maxlen=lines)
    # As it comes: whoever ends this early has seen what there was.
    with subprocess.Popen(
        [sys.executable, *command], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            if line.strip():
                last.append(line.rstrip())
    return name, process.returncode == 0, "\n".join(last), time.monotonic() - start


def main() -> int:
    """Run all; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--benchmarks", nargs="?", const="benchmark.json", metavar="FILE", help="measure, too"
    )
    parser.add_argument(
        "--workers", metavar="N", help="processes for the tests, as pytest-xdist's -n"
    )
    parser.add_argument("--only", choices=("tests", "examples"), help="one part of it alone")
    options = parser.parse_args()
    results = []
    if options.only != "examples":
        command = ("-m", "pytest", "tests/gpu", "-q", "-rs", "-p", "no:cacheprovider")
        workers = ("-n", options.workers) if options.workers else ()
        results.append(run("tests/gpu", *command, *workers))
    if options.only != "tests":
        results.append(run("demo", "-m", "tvmffi_cubin", "demo"))
        paths = sorted((ROOT / "examples").glob("*.py"))
        results += [run(f"examples/{path.name}", path) for path in paths if path.name != "gpu.py"]
    if options.benchmarks:
        command = ("benchmarks/run.py", "--json", options.benchmarks)
        results.append(run("benchmarks", *command, lines=80))
    print("\n==== summary")
    for name, succeeded, tail, seconds in results:
        print(f"{'ok  ' if succeeded else 'FAIL'} {name} ({seconds:.0f} s): {tail}")
    return 0 if all(succeeded for _, succeeded, _, _ in results) else 1


if __name__ == "__main__":
    sys.exit(main())
