"""One task in this process: `python benchmarks/child.py '{"section": ..., ...}'`; run.py starts it.

Prints a line that begins with RESULT and has the samples as JSON; libraries may print before.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
import sys
import traceback

from section import Sample, Section, Settings, Skip, Task, missing

MARK = "RESULT "
AT = "AT "


def load(name: str) -> Section:
    """Return the section of a module of this folder."""
    section = importlib.import_module(name).SECTION
    assert isinstance(section, Section)
    return section


def perform(task: Task) -> list[Sample]:
    """Run a task; what goes wrong becomes the reason of all its cells."""
    section = load(task.section)
    cells = section.job(task.job, task.argument, task.settings).cells
    try:
        return section.measure(task)
    except Skip as skip:
        return missing(cells, str(skip), failed=False)
    except Exception as error:
        traceback.print_exc()
        return missing(cells, explain(error), failed=True)


def announce(peer: str) -> None:
    """Say whose turn it is, for whoever has to tell which peer killed this process."""
    print(AT + peer, file=sys.stderr, flush=True)


def explain(error: Exception) -> str:
    """Return an error as one line."""
    lines = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {lines[0]}"[:200]


def decode(text: str) -> Task:
    """Return the task that run.py wrote."""
    values = json.loads(text)
    return Task(**{**values, "settings": Settings(**values["settings"])})


if __name__ == "__main__":
    samples = perform(decode(sys.argv[1]))
    print(MARK + json.dumps([dataclasses.asdict(sample) for sample in samples]), flush=True)
