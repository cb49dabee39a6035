"""The quick-start notebook launches, before and after the edit, and its numbers are right.

Where nbclient and ipykernel are installed, a kernel runs it; elsewhere one plain Python process.
The name of a test in the report says which it was.
"""

from __future__ import annotations

import importlib.util

import pytest
from run_notebook import code_cell, has_kernel, in_kernel, in_process, load

import tvmffi_cubin as tc

needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="torch, whose tensors are used, is missing"
)
ways = pytest.mark.parametrize("execute", [in_kernel if has_kernel() else in_process])


@needs_torch
@ways
def test_it_launches_and_the_numbers_are_right(execute):
    shown = execute(load(), {})
    assert shown["setup"].endswith(": launching\n"), shown["setup"]
    for name in ("call", "edit", "again"):
        assert shown[name].endswith("launched: the numbers are torch's\n"), shown[name]
    assert "TypeError: saxpy: argument 2 (x: const float*): got " in shown["arguments"]
    assert 'error: identifier "i" is undefined' in shown["typo"]


@needs_torch
@ways
def test_cells_that_are_edited_and_run_again_launch_the_new_code(execute):
    notebook = load()
    (cell,) = [cell for cell in notebook["cells"] if cell["id"] == "compile"]
    for i in range(3):
        source = cell["source"].replace("a * x[i] + y[i]", f"a * x[i] + {i} * y[i]")
        notebook["cells"] += [
            code_cell(f"edited-{i}", source),
            code_cell(f"called-{i}", f"check(lambda a, x, y: a * x + {i} * y)"),
        ]
    shown = execute(notebook, {})
    for i in range(3):
        assert shown[f"called-{i}"] == "launched: the numbers are torch's\n"


@needs_torch
def test_fifty_edits_under_one_name_launch_fifty_kernels():
    import torch

    x = torch.zeros(50, device="cuda")
    mods = []
    for i in range(50):
        source = f"__global__ void edited(float* x) {{ x[{i}] += {i}; }}"
        mods.append(tc.load_inline("edited", source))
        mods[i].edited[1, 1](x)
    assert x.tolist() == list(range(50))
    for mod in mods:  # what was loaded before stays what it was
        mod.edited[1, 1](x)
    assert x.tolist() == [2 * i for i in range(50)]
