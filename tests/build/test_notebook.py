"""The quick-start notebook runs from top to bottom without a GPU, and is kept as a source."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from run_notebook import QUICK_START, code_cell, in_kernel, in_process, load

import tvmffi_cubin as tc

CELLS = load()["cells"]
SHOWN = re.compile(
    r"<tvmffi_cubin.Module saxpy.so>\n  saxpy\(float a, const float\* x, float\* y\)"
)


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """No GPU, and folders of its own."""
    folder = tmp_path_factory.mktemp("notebook")
    names = ("TVMFFI_CUBIN_CACHE_DIR", "IPYTHONDIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR")
    return {
        "TVMFFI_CUBIN_DRIVER": "/nonexistent/libcuda.so.1",
        **{name: str(folder / name) for name in names},
    }


@pytest.mark.parametrize("execute", [in_kernel, in_process])
def test_it_compiles_edits_and_says_why_it_does_not_launch(execute, environment: dict[str, str]):
    shown = execute(load(), environment)
    assert shown["setup"] == "compiling for sm_90a: not launching, there is no GPU here\n"
    assert SHOWN.match(shown["compile"])
    assert re.match(r"saxpy: \d+ registers, 0 bytes of local memory\n", shown["inspect"])
    for name in ("call", "edit", "again"):
        assert shown[name].endswith("built, not launched: there is no GPU here\n")
    assert re.match(r"out of the cache in \d+\.\d ms\n", shown["again"])
    assert "TypeError: saxpy: argument 2 (x: const float*): got " in shown["arguments"]
    assert (
        'CompileError: saxpy.cu does not compile for sm_90a:\nsaxpy.cu(4): error: identifier "i" is'
    ) in shown["typo"]
    assert "> 4 |   if (i < n) y[i] = a * x[i] - y[i];\n    |       ^\n" in shown["typo"]


def test_an_error_in_a_source_takes_few_lines(environment: dict[str, str]):
    shown = in_kernel(load(), environment)["typo"]
    assert len(shown.splitlines()) < 45


def test_a_cell_that_is_edited_and_run_again_gives_the_new_code(environment: dict[str, str]):
    notebook = load()
    (cell,) = [cell for cell in notebook["cells"] if cell["id"] == "compile"]
    source = cell["source"]
    for i, type_ in enumerate(["double", "float", "int"]):
        edited = source.replace("float a,", f"{type_} a,")
        notebook["cells"].append(code_cell(f"edited-{i}", edited))
    shown = in_kernel(notebook, environment)
    for i, type_ in enumerate(["double", "float", "int"]):
        assert f"saxpy({type_} a, const float* x, float* y)" in shown[f"edited-{i}"]


def test_functions_complete_and_explain_themselves(environment: dict[str, str]):
    notebook = load()
    kernel = "get_ipython().kernel"  # what answers Jupyter's own requests
    questions = {
        "attribute": f"{kernel}.do_complete('mod.sa', 6)['matches']",
        "item": f"{kernel}.do_complete('mod[\"', 5)['matches']",
        "method": f"{kernel}.do_complete('mod.saxpy.pa', 12)['matches']",
        "explained": f"print({kernel}.do_inspect('mod.saxpy', 9)['data']['text/plain'])",
    }
    notebook["cells"] += [code_cell(*question) for question in questions.items()]
    shown = in_kernel(notebook, environment)
    assert "saxpy" in shown["attribute"]
    assert shown["item"] == "['saxpy']"
    assert shown["method"] == "['params']"
    assert "(a: 'float', x: 'const float*', y: 'float*', /)" in shown["explained"]


def test_fifty_edits_under_one_name_give_fifty_modules():
    mods = []
    for i in range(50):
        source = f"__global__ void edited(float* x, int n{i}) {{ if (n{i} > {i}) x[0] = {i}; }}"
        mods.append(tc.load_inline("edited", source, arch="sm_90"))
    signatures = [mod.edited.signature for mod in mods]
    assert signatures == [f"edited(float* x, int n{i})" for i in range(50)]
    assert len({mod.cubins["kernels"].image for mod in mods}) == 50


# What is committed


def test_it_is_valid_and_has_no_outputs():
    nbformat.validate(load())
    assert (load()["nbformat"], load()["nbformat_minor"]) == (4, 5)
    for cell in CELLS:
        if cell["cell_type"] == "code":
            assert (cell["outputs"], cell["execution_count"]) == ([], None)


def test_it_is_short_and_its_cells_keep_their_names():
    assert len(CELLS) <= 20
    names = [cell["id"] for cell in CELLS]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", name) for name in names)
    assert {"compile", "call", "edit", "again", "typo"} <= set(names)


def test_it_is_written_as_jupyter_writes_it():
    text = QUICK_START.read_text(encoding="utf-8")
    assert text == json.dumps(json.loads(text), indent=1, ensure_ascii=False, sort_keys=True) + "\n"


@pytest.mark.parametrize("command", [["format", "--check"], ["check"]], ids=" ".join)
def test_its_code_is_formatted(command: list[str]):
    ruff = [sys.executable, "-m", "ruff", *command, str(QUICK_START)]
    done = subprocess.run(
        ruff, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
