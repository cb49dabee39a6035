"""Rooms import only rooms below them, as docs/design.md lists them."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "tvmffi_cubin"

# In functions: for hints, for what a module may lack.
REACH_UP = {
    "host/build.py -> cuda",
    "host/build.py -> sources",
    "inline/lazy.py -> formats",
    "module/module.py -> inline",
}


def listed() -> list[str]:
    """Return the rooms in the order of the page's table."""
    table = (ROOT / "docs" / "design.md").read_text(encoding="utf-8").partition("| room |")[2]
    cells = [row.split("|")[1] for row in table.partition("\n\n")[0].splitlines()[2:]]
    return [name for cell in cells for name in re.findall(r"`(\w+)/?`", cell)]


def imported(path: Path) -> set[str]:
    """Return the rooms that a module imports when it is imported, or in a function."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typed = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    rooms = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level == 2 and node not in typed:
            names = [node.module] if node.module else [alias.name for alias in node.names]
            rooms |= {name.partition(".")[0] for name in names}
    return rooms


def test_every_room_is_listed():
    folders = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    modules = {path.stem for path in PACKAGE.glob("*.py")} - {"__init__", "__main__"}
    assert {*listed()} == folders | modules


def test_rooms_import_only_rooms_below_them():
    order = listed()
    upward = {
        f"{path.relative_to(PACKAGE)} -> {other}"
        for path in PACKAGE.glob("*/*.py")
        if path.parent.name in order
        for other in imported(path) & {*order[order.index(path.parent.name) + 1 :]}
    }
    assert upward == REACH_UP
