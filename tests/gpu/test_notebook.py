"""The quick-start notebook launches, before and after the edit, and its numbers are right."""

from __future__ import annotations

import pytest
from run_notebook import in_kernel, load

pytest.importorskip("torch", reason="torch, whose tensors are used, is missing")
for package in ("nbclient", "ipykernel"):
    pytest.importorskip(package, reason=f"{package} is not installed, so no notebook runs")


def test_it_launches_and_the_numbers_are_right():
    shown = in_kernel(load(), {})
    assert shown["setup"].endswith(": launching\n"), shown["setup"]
    for name in ("call", "edit", "again"):
        assert shown[name].endswith("launched: the numbers are torch's\n"), shown[name]
    assert "TypeError: saxpy: argument 2 (x: const float*): got " in shown["arguments"]
    assert 'error: identifier "i" is undefined' in shown["typo"]
