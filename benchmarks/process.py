"""`run`: a task in a process of its own, whose caches are all in one folder of the run's."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from child import AT, MARK
from section import Job, Sample, Task, missing

CHILD = Path(__file__).with_name("child.py")
TIMEOUT = 400.0

# Everything that a peer keeps on disk, so that nothing from an earlier run is found.
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


def environment(folder: Path) -> dict[str, str]:
    """Return the environment of a child whose caches lie in `folder`."""
    values = dict(os.environ)
    for name in CACHES:
        values[name] = str(folder / name.lower())
        (folder / name.lower()).mkdir(parents=True, exist_ok=True)
    values.pop("TVMFFI_CUBIN_CACHE_PATH", None)
    # Packages that pip has installed have their bytecode.
    values.pop("PYTHONDONTWRITEBYTECODE", None)
    if "CUDA_HOME" not in values and (TOOLKIT / "bin" / "nvcc").exists():
        # Tools derive it from where nvcc is on PATH, which may be a link or a script elsewhere.
        values["CUDA_HOME"] = str(TOOLKIT)
    return values


def run(
    task: Task, job: Job, folder: Path, variables: Mapping[str, str] | None = None
) -> list[Sample]:
    """Run a task in a fresh process.

    One that dies or hangs gives the reason for the cells of the peer whose turn it was, where it
    said so, and is started again without that peer; else for all cells.
    """
    lost: list[Sample] = []
    while True:
        output, errors, problem = _once(task, {**environment(folder), **(variables or {})})
        result = [line for line in output.splitlines() if line.startswith(MARK)]
        if result:
            samples = [Sample(**values) for values in json.loads(result[-1][len(MARK) :])]
            _show(errors, samples)
            return lost + samples
        print(errors[-3000:], file=sys.stderr)
        cells = [cell for cell in job.cells if cell[0] not in task.excluded]
        turn = next((line for line in reversed(errors.splitlines()) if line.startswith(AT)), "")
        guilty = [cell for cell in cells if cell[0] == turn[len(AT) :]]
        if not guilty or len(guilty) == len(cells):
            return lost + missing(cells, problem, failed=True)
        lost += missing(guilty, problem, failed=True)
        task = dataclasses.replace(task, excluded=(*task.excluded, guilty[0][0]))


def _once(task: Task, variables: Mapping[str, str]) -> tuple[str, str, str]:
    """Return what one process printed, on both streams, and how it ended."""
    child = subprocess.Popen(
        [sys.executable, str(CHILD), json.dumps(dataclasses.asdict(task))],
        env=variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        # It starts compilers, which have to end with it.
        start_new_session=True,
    )
    try:
        output, errors = child.communicate(timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        output, errors = child.communicate()
        return output, errors, f"still running after {TIMEOUT:.0f} s"
    except BaseException:
        os.killpg(child.pid, signal.SIGKILL)
        child.communicate()
        raise
    said = [line for line in errors.strip().splitlines() if not line.startswith(AT)]
    last = said[-1][:200] if said else "no message"
    return output, errors, f"the process ended with status {child.returncode}: {last}"


def _show(errors: str, samples: list[Sample]) -> None:
    """Print what a process said, where a peer has failed in it."""
    if any(sample.failed for sample in samples):
        said = [line for line in errors.strip().splitlines() if not line.startswith(AT)]
        print("\n".join(said)[-3000:], file=sys.stderr)
