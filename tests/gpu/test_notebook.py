"""The quick-start notebook launches, before and after the edit, and its numbers are right."""

from __future__ import annotations

import pytest
from run_notebook import code_cell, in_kernel, load

pytest.importorskip("torch", reason="torch, whose tensors are used, is missing")
for package in ("nbclient", "ipykernel"):
    pytest.importorskip(package, reason=f"{package} is not installed, so no notebook runs")


def test_it_launches_and_the_numbers_are_right():
    notebook = load()
    notebook["cells"].append(code_cell("table", "print(mod._repr_html_())"))
    shown = in_kernel(notebook, {})
    assert shown["setup"].endswith(": launching\n"), shown["setup"]
    for name in ("call", "edit", "again"):
        assert shown[name].endswith("launched: the numbers are torch's\n"), shown[name]
    assert "TypeError: saxpy: argument 2 (x: const float*): got " in shown["arguments"]
    assert 'error: identifier "i" is undefined' in shown["typo"]
    assert "% of 256 threads a block</td>" in shown["table"]
