"""The first build of an installation: of the package's wheel, installed where nothing was built."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import child
import process
from section import Skip, Task

PEER = "tvmffi_cubin"
ROOT = Path(__file__).resolve().parents[1]


def first_build(task: Task) -> float:
    """Return the milliseconds of the same task of PEER, with a package and caches that are new."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "site")
        install(Path(folder, "dist"), place)
        own = dataclasses.replace(task, job=PEER)
        job = child.load(task.section).job(PEER, task.argument, task.settings)
        path = os.pathsep.join(filter(None, (str(place), os.environ.get("PYTHONPATH"))))
        found = process.run(own, job, Path(folder, "caches"), {"PYTHONPATH": path})
    if found[0].failed:
        raise RuntimeError(found[0].reason)
    if not found[0].values:
        raise Skip(found[0].reason)
    return found[0].values[0]


def install(dist: Path, place: Path) -> None:
    """Build the wheel for this machine and install it, with its bytecode, into a folder."""
    run([sys.executable, ROOT / "scripts" / "wheel.py", dist])
    (wheel,) = dist.glob(f"*_{os.uname().machine}.whl")
    run([sys.executable, "-m", "pip", "install", "--no-deps", "--target", place, wheel])


def run(command: list[str | Path]) -> None:
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if done.returncode != 0:
        raise RuntimeError(done.stdout[-2000:])
