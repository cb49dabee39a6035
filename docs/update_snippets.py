"""Rewrite the code that README.md and docs/*.md quote from examples.

A quoted block follows ``<!-- snippet: examples/quick_start.py build -->`` and is what stands in
that file between the comments ``[docs:build]`` and ``[docs:end]``, without the lines that end in
``[docs:skip]``. Without arguments the pages are rewritten; ``--check`` only says which are stale.
"""

from __future__ import annotations

import re
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

_QUOTE = re.compile(
    r"(?P<head><!-- snippet: (?P<file>\S+) (?P<name>\S+) -->\n```\w*\n).*?(?P<tail>^```$)",
    re.DOTALL | re.MULTILINE,
)


def pages() -> list[Path]:
    """Return the pages that may quote."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


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
    """Return a page's text with every quoted block as the example has it now."""

    def renew(match: re.Match[str]) -> str:
        return match["head"] + section(match["file"], match["name"]) + match["tail"]

    return _QUOTE.sub(renew, text)


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
