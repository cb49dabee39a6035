"""Rewrite what pages take from the examples and from docstrings: quoted code, and two tables.

A quoted block follows ``<!-- snippet: examples/quick_start.py build -->`` and is what stands in
that file between the comments ``[docs:build]`` and ``[docs:end]``, without the lines that end in
``[docs:skip]``. The table after ``<!-- examples -->`` has each example and the first line of its
docstring, that after ``<!-- names -->`` each public name of its page and the first line of its
docstring. Without arguments the pages are rewritten; ``--check`` only says which are stale.
"""

from __future__ import annotations

import ast
import importlib
import json
import re
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

_QUOTE = re.compile(
    r"(?P<head><!-- snippet: (?P<file>\S+) (?P<name>\S+) -->\n```\w*\n).*?(?P<tail>^```$)",
    re.DOTALL | re.MULTILINE,
)
_TABLE = re.compile(r"(?P<head><!-- (?P<of>examples|names) -->\n\n(?:\|.*\n){2})(?:\|.*\n)*")
_HELPERS = {"gpu.py"}


def pages() -> list[Path]:
    """Return the pages that may quote."""
    return [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        ROOT / "examples" / "README.md",
        *sorted((ROOT / "docs").glob("*.md")),
    ]


def examples() -> list[Path]:
    """Return the examples: scripts, then notebooks."""
    folder = ROOT / "examples"
    scripts = [path for path in sorted(folder.glob("*.py")) if path.name not in _HELPERS]
    return [*scripts, *sorted(folder.glob("*.ipynb"))]


def idea(example: Path) -> str:
    """Return the first line of a script's docstring, or a notebook's title."""
    text = example.read_text(encoding="utf-8")
    if example.suffix == ".ipynb":
        return json.loads(text)["cells"][0]["source"][0].strip("# \n")
    return (ast.get_docstring(ast.parse(text)) or "").splitlines()[0].rstrip(".")


def name_row(path: str) -> str:
    """Return the table's row of a public name such as ``tvmffi_cubin.cuda.nvrtc.compile``."""
    module, _, name = path.rpartition(".")
    said = getattr(importlib.import_module(module), name).__doc__.splitlines()[0].rstrip(".")
    shown = re.sub(r"^tvmffi_cubin\.(cuda\.|formats\.)?", "tc.", path)
    return f"| [`{shown}`](#{path}) | {said.replace('``', '`')} |\n"


def section(file: str, name: str) -> str:
    """Return the text of one section of a file, without its indentation.

    Raises
    ------
    ValueError
        The file does not have that section exactly once.
    """
    text = (ROOT / file).read_text(encoding="utf-8")
    marks = rf"^[ ]*(?:#|//) \[docs:{re.escape(name)}\]\n(.*?)^[ ]*(?:#|//) \[docs:end\]$"
    found = re.findall(marks, text, re.DOTALL | re.MULTILINE)
    if len(found) != 1:
        raise ValueError(f"{file} has {len(found)} sections {name!r}, wanted one")
    lines = found[0].splitlines(keepends=True)
    kept = "".join(line for line in lines if not line.endswith("[docs:skip]\n"))
    return textwrap.dedent(kept).strip("\n") + "\n"


def updated(text: str) -> str:
    """Return a page's text with every quoted block and the tables as their sources have them."""

    def renew(match: re.Match[str]) -> str:
        return match["head"] + section(match["file"], match["name"]) + match["tail"]

    def table(match: re.Match[str]) -> str:
        if match["of"] == "names":
            rows = map(name_row, re.findall(r"^::: (\S+)$", text, re.MULTILINE))
        else:
            rows = (f"| [{path.name}]({path.name}) | {idea(path)} |\n" for path in examples())
        return match["head"] + "".join(rows)

    return _TABLE.sub(table, _QUOTE.sub(renew, text))


def main() -> int:
    """Rewrite stale pages, or with ``--check`` name them; the exit status counts for the latter."""
    check = "--check" in sys.argv[1:]
    stale = []
    for page in pages():
        text = page.read_text(encoding="utf-8")
        new = updated(text)
        if new != text:
            stale.append(str(page.relative_to(ROOT)))
            if not check:
                page.write_text(new, encoding="utf-8")
    if stale:
        print(("stale: " if check else "rewritten: ") + ", ".join(stale))
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
