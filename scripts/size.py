"""Print the lines and files of each part of the project: python scripts/size.py [COMMIT].

With a commit, the counts at that commit stand beside those of the work tree.
"""

from __future__ import annotations

import subprocess
import sys
from collections import defaultdict
from pathlib import Path, PurePath

ROOT = Path(__file__).parents[1]
TESTS = {".py", ".cc", ".c", ".h", ".cu", ".s"}
Sizes = dict[str, tuple[int, int]]


def part(path: PurePath) -> str | None:
    """Return the part that a tracked file belongs to, None where it does not count."""
    top, *rest = path.parts
    if top == "tvmffi_cubin" and path.suffix == ".py":
        return f"tvmffi_cubin/{rest[0]}/" if len(rest) > 1 else "tvmffi_cubin/*.py"
    if top == "include":
        return "/".join(["include", *rest[:2]]) + "/" if len(rest) > 2 else "include/*.h"
    if top == "tests" and path.suffix in TESTS:
        return "tests/"
    if top in ("examples", "benchmarks") and path.suffix == ".py":
        return f"{top}/"
    return "pages (*.md)" if path.suffix == ".md" else None


def sizes(commit: str | None) -> Sizes:
    """Return lines and files by part, at a commit or in the work tree."""
    tracked = git("ls-files") if commit is None else git("ls-tree", "-r", "--name-only", commit)
    lines: dict[str, int] = defaultdict(int)
    files: dict[str, int] = defaultdict(int)
    for name in tracked.splitlines():
        where = part(PurePath(name))
        if where is None or (commit is None and not (ROOT / name).exists()):
            continue
        text = (ROOT / name).read_bytes() if commit is None else content(commit, name)
        lines[where] += text.count(b"\n")
        files[where] += 1
    return {where: (lines[where], files[where]) for where in lines}


def git(*arguments: str) -> str:
    """Return what a git command prints."""
    command = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def content(commit: str, name: str) -> bytes:
    """Return a file as it is at a commit."""
    command = ["git", "-C", str(ROOT), "show", f"{commit}:{name}"]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout


def main() -> None:
    """Print the table."""
    columns = [sizes(commit) for commit in sys.argv[1:2]] + [sizes(None)]
    parts = sorted({where for column in columns for where in column})
    for prefix, total in (("tvmffi_cubin/", "Python"), ("include/", "headers")):
        for column in columns:
            inside = [size for where, size in column.items() if where.startswith(prefix)]
            column[total] = (sum(x for x, _ in inside), sum(x for _, x in inside))
    for where in [*parts, "Python", "headers"]:
        cells = (column.get(where, (0, 0)) for column in columns)
        print(f"{where:32}" + " ->".join(f"{x:8} lines in {n:4} files" for x, n in cells))


if __name__ == "__main__":
    main()
