"""Executes a notebook in a kernel, as Jupyter does."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

QUICK_START = Path(__file__).resolve().parents[1] / "examples" / "quick_start.ipynb"

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


def _text(output: Mapping[str, Any]) -> str:
    kind = output["output_type"]
    if kind == "error":
        text = "\n".join(output["traceback"])
    else:
        text = output["text"] if kind == "stream" else output["data"]["text/plain"]
    return _COLOURS.sub("", text)
