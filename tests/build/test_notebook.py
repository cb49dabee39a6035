"""The quick-start notebook runs from top to bottom without a GPU, and is kept as a source."""

from __future__ import annotations

import re
from typing import Any

import nbformat
import pytest
from run_notebook import code_cell, in_kernel, load

CELLS = load()["cells"]
TYPES = ("double", "float", "int")


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """No GPU, and folders of its own."""
    folder = tmp_path_factory.mktemp("notebook")
    names = ("TVMFFI_CUBIN_CACHE_DIR", "IPYTHONDIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR")
    names += ("XDG_CACHE_HOME",)  # of what completes names
    return {
        "TVMFFI_CUBIN_DRIVER": "/nonexistent/libcuda.so.1",
        **{name: str(folder / name) for name in names},
    }


def edited(i: int, type_: str) -> dict[str, Any]:
    """Return the notebook's own cell, as someone who changes the type of `a` runs it again."""
    (cell,) = [cell for cell in CELLS if cell["id"] == "compile"]
    return code_cell(f"edited-{i}", cell["source"].replace("float a,", f"{type_} a,"))


def question(name: str, call: str) -> dict[str, Any]:
    """Return a cell that asks the kernel's own answers to Jupyter's requests."""
    return code_cell(name, f"print(get_ipython().kernel.{call})")


(MAGIC,) = [cell["source"] for cell in CELLS if cell["id"] == "magic"]


def failing(name: str, source: str) -> dict[str, Any]:
    return {**code_cell(name, source), "metadata": {"tags": ["raises-exception"]}}


@pytest.fixture(scope="module")
def in_jupyter(environment: dict[str, str]) -> dict[str, str]:
    """What the cells show in a kernel, and what cells after them show."""
    more = [
        *(edited(i, type_) for i, type_ in enumerate(TYPES)),
        question("attribute", "do_complete('mod.sa', 6)['matches']"),
        question("method", "do_complete('mod.saxpy.pa', 12)['matches']"),
        code_cell("magic-again", MAGIC),
        code_cell("magic-table", "print(one._repr_html_())"),
        failing("magic-line", "%%cuda arch=sm_90\nint x;"),
        failing("magic-error", MAGIC.replace("x[0]", "y[0]")),
        failing("magic-no-kernel", MAGIC.replace("\n", ", functions=['two']\n", 1)),
        question("explained", "do_inspect('mod.saxpy', 9)['data']['text/plain']"),
    ]
    return in_kernel({**load(), "cells": CELLS + more}, environment)


def test_it_compiles_edits_and_says_why_it_does_not_launch(in_jupyter: dict[str, str]):
    assert in_jupyter["setup"] == "compiling for sm_90a: not launching, there is no GPU here\n"
    shown = r"<tvmffi_cubin.Module .*/saxpy.so>\n  saxpy\(float a, const float\* x, float\* y\)"
    assert re.search(shown, in_jupyter["compile"])  # behind what a slow build says
    assert re.match(r"saxpy: \d+ registers, 0 bytes of local memory\n", in_jupyter["inspect"])
    for name in ("call", "edit", "again"):
        assert in_jupyter[name].endswith("built, not launched: there is no GPU here\n")
    assert re.match(r"out of the cache in \d+\.\d ms\n", in_jupyter["again"])
    assert "TypeError: saxpy: argument 2 (x: const float*): got " in in_jupyter["arguments"]


def test_a_typo_shows_the_message_first_and_then_the_cell_without_frames_of_ours(in_jupyter):
    typo = in_jupyter["typo"]
    error = (
        'CompileError: saxpy.cu does not compile for sm_90a:\nsaxpy.cu(4): error: identifier "i"'
    )
    assert typo[typo.index("CompileError") :].startswith(error)
    assert "    if (i < n) y[i] = a * x[i] - y[i];\n        ^\n" in typo
    assert typo.count('  File "') == 1
    assert "tvmffi_cubin/" not in typo
    assert "load_inline" in typo


def test_edited_cells_give_new_code_and_functions_complete_and_explain_themselves(in_jupyter):
    for i, type_ in enumerate(TYPES):
        assert f"saxpy({type_} a, const float* x, float* y)" in in_jupyter[f"edited-{i}"]
    assert "'saxpy'" in in_jupyter["attribute"]
    assert in_jupyter["method"] == "['params']\n"
    assert "(a: 'int', x: 'const float*', y: 'float*', /)" in in_jupyter["explained"]


def test_it_is_valid_and_has_no_outputs():
    nbformat.validate(load())
    assert (load()["nbformat"], load()["nbformat_minor"]) == (4, 5)
    for cell in CELLS:
        if cell["cell_type"] == "code":
            assert (cell["outputs"], cell["execution_count"]) == ([], None)


def test_a_cell_of_cuda_gives_its_functions_and_is_quiet_when_it_is_run_again(in_jupyter):
    assert in_jupyter["magic"].endswith("cell.so>\n  one(float* x)")
    assert in_jupyter["magic-again"] == ""
    assert "<td>one</td><td>one(float*)</td><td>8</td><td>0 B</td>" in in_jupyter["magic-table"]


def test_an_error_in_a_cell_of_cuda_is_the_compilers_alone(in_jupyter):
    line = MAGIC.splitlines()[1].replace("x[0]", "y[0]")
    message = (
        "CompileError: cell.cu does not compile for sm_90a:\n"
        'cell.cu(2): error: identifier "y" is undefined\n'
        f"  {line}\n  {' ' * line.index('y[0]')}^\n"
    )
    assert in_jupyter["magic-error"].startswith(message)
    assert in_jupyter["magic-no-kernel"].startswith("ValueError: function 'two': no ")
    assert "%%cuda arch=sm_90: name 'sm_90' is not defined; pass " in in_jupyter["magic-line"]
    for name in ("magic-error", "magic-no-kernel", "magic-line"):
        assert "Traceback" not in in_jupyter[name]
