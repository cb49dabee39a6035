"""Runs the code cells of the notebook on stdin, in order; prints what each shows as JSON."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import sys
import traceback
from types import SimpleNamespace
from typing import Any


def show(value: Any) -> str:
    """Return what IPython would show of a value."""
    if not hasattr(value, "_repr_pretty_"):
        return repr(value)
    parts: list[str] = []
    value._repr_pretty_(SimpleNamespace(text=parts.append), False)
    return "".join(parts)


def run(source: str, names: dict[str, Any]) -> None:
    """Execute a cell; print its last expression's value, unless that is None."""
    *statements, last = ast.parse(source).body
    if not isinstance(last, ast.Expr):
        statements.append(last)
    exec(compile(ast.Module(statements, []), "<cell>", "exec"), names)
    if isinstance(last, ast.Expr):
        value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)
        if value is not None:
            print(show(value))


def main() -> None:
    """Run all; exit with the traceback of an error in a cell that is not tagged for one."""
    shown = {}
    names: dict[str, Any] = {"__name__": "__main__"}
    sys.path.insert(0, "")
    for cell in json.load(sys.stdin)["cells"]:
        if cell["cell_type"] != "code":
            continue
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            try:
                run(cell["source"], names)
            except Exception:
                if "raises-exception" not in cell["metadata"].get("tags", []):
                    raise
                print(traceback.format_exc())
        shown[cell["id"]] = output.getvalue()
    print(json.dumps(shown))


if __name__ == "__main__":
    main()
