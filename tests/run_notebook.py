"""Executes a notebook: in a kernel, as Jupyter does, or where there is none in a plain process."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["QUICK_START", "code_cell", "has_kernel", "in_kernel", "in_process", "load"]

QUICK_START = Path(__file__).resolve().parents[1] / "examples" / "quick_start.ipynb"

_PROCESS = Path(__file__).with_name("notebook_process.py")
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def load(path: Path = QUICK_START) -> dict[str, Any]:
    """Return a notebook as its JSON says, each cell's source as one text."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        cell["source"] = "".join(cell["source"])
    return notebook


def code_cell(name: str, source: str) -> dict[str, Any]:
    """Return a cell to add to a notebook."""
    return {
        "cell_type": "code",
        "id": name,
        "metadata": {},
        "source": source,
        "outputs": [],
        "execution_count": None,
    }


def has_kernel() -> bool:
    """Return whether the packages are there that a kernel takes."""
    return all(importlib.util.find_spec(name) for name in ("nbclient", "ipykernel"))


def in_kernel(notebook: Mapping[str, Any], environment: Mapping[str, str]) -> dict[str, str]:
    """Return what each code cell shows, by its id; errors only where a cell is tagged for them."""
    import nbformat
    from nbclient import NotebookClient

    nodes = nbformat.from_dict(notebook)
    client = NotebookClient(
        nodes,
        timeout=300,
        kernel_name="python3",
        resources={"metadata": {"path": str(QUICK_START.parent)}},
    )
    client.execute(env={**os.environ, **environment})
    cells = [cell for cell in nodes.cells if cell.cell_type == "code"]
    return {cell.id: "".join(map(_text, cell.outputs)) for cell in cells}


def in_process(notebook: Mapping[str, Any], environment: Mapping[str, str]) -> dict[str, str]:
    """Return the same as `in_kernel`, without a kernel: one fresh Python process runs all cells."""
    done = subprocess.run(
        [sys.executable, str(_PROCESS)],
        input=json.dumps(notebook),
        cwd=QUICK_START.parent,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def _text(output: Mapping[str, Any]) -> str:
    kind = output["output_type"]
    if kind == "error":
        text = "\n".join(output["traceback"])
    else:
        text = output["text"] if kind == "stream" else output["data"]["text/plain"]
    return _COLOURS.sub("", text)
