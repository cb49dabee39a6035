"""The first build of an installation: of a copy of the package that has never built anything."""

from __future__ import annotations

import compileall
import dataclasses
import os
import shutil
import tempfile
from pathlib import Path

import child
import process
from section import Skip, Task

PEER = "tvmffi_cubin"


def first_build(task: Task) -> float:
    """Return the milliseconds of the same task of PEER, with a package and caches that are new."""
    import tvmffi_cubin
    from tvmffi_cubin.toolchain import include_dir

    package = Path(tvmffi_cubin.__file__).parent
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "site")
        # With the bytecode lies what was built, and other processes write there just now.
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(package, place / package.name, ignore=ignored)
        if package not in include_dir().parents:
            shutil.copytree(include_dir(), place / "include")
        compileall.compile_dir(place, quiet=2)
        own = dataclasses.replace(task, job=PEER)
        job = child.load(task.section).job(PEER, task.argument, task.settings)
        path = os.pathsep.join(filter(None, (str(place), os.environ.get("PYTHONPATH"))))
        found = process.run(own, job, Path(folder, "caches"), {"PYTHONPATH": path})
    if found[0].failed:
        raise RuntimeError(found[0].reason)
    if not found[0].values:
        raise Skip(found[0].reason)
    return found[0].values[0]
