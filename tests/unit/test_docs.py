"""The documentation says what is true: names, variables, snippets, links."""

from __future__ import annotations

import inspect
import re
import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest

import tvmffi_cubin as tc
from tvmffi_cubin import config
from tvmffi_cubin.inline.options import TextOptions

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
GUIDE = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
EXAMPLES = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")


SNIPPETS = SimpleNamespace(**runpy.run_path(str(ROOT / "docs" / "update_snippets.py")))


@pytest.mark.parametrize("page", SNIPPETS.pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_quoted_code_is_what_the_examples_have(page: Path):
    text = page.read_text(encoding="utf-8")
    assert SNIPPETS.updated(text) == text, "run: python docs/update_snippets.py"
    assert not re.search(r"\bgpu\.\w+\(", text), "the examples' helper is on no page"


def test_every_environment_variable_is_in_the_reference_and_no_other():
    rows = re.findall(r"(?m)^\| `([A-Z_]+)` \|", REFERENCE)
    assert sorted(rows) == sorted(config.DEFAULTS)
    named = re.findall(r"\bTVMFFI_CUBIN_[A-Z_]+\b", GUIDE + REFERENCE + README)
    assert set(named) <= set(config.DEFAULTS)


MODULES = (tc.nvrtc, tc.nvjitlink, tc.triton, tc.tvm)


def documented() -> list[str]:
    modules = {module.__name__.rpartition(".")[2]: module for module in MODULES}
    names = [f"tvmffi_cubin.{name}" for name in tc.__all__ if name not in modules]
    return names + [f"{x.__name__}.{name}" for x in MODULES for name in x.__all__]


def test_every_public_name_is_in_the_reference_and_no_other():
    assert sorted(re.findall(r"^::: (\S+)$", REFERENCE, re.MULTILINE)) == sorted(documented())


@pytest.mark.parametrize("module", [tc, *MODULES])
def test_tab_offers_the_public_names_alone(module):
    assert {x for x in dir(module) if x[0] != "_"} == {*module.__all__}


def objects() -> list[object]:
    found = [getattr(module, name) for module in MODULES for name in module.__all__]
    found += [getattr(tc, name) for name in tc.__all__]
    classes = [x for x in found if isinstance(x, type) and x.__module__.startswith("tvmffi_cubin")]
    members = [value for each in classes for name, value in vars(each).items() if name[0] != "_"]
    return found + [x for x in members if callable(x) or hasattr(x, "fget")]


@pytest.mark.parametrize("member", objects())
def test_every_public_name_says_what_it_is_and_what_it_takes(member):
    said = member.__doc__ or ""
    assert said.strip()
    if "Parameters\n" in said:
        for name in inspect.signature(member).parameters:
            shared = name in TextOptions.__annotations__ and "**options" in said
            assert shared or name == "self" or re.search(rf"\b{name}\b", said), name


def test_the_contents_of_the_guide_are_its_sections_in_order():
    listed = re.findall(r"^(\d+)\. \[(.*)\]\(#(.*)\)$", GUIDE, re.MULTILINE)
    sections = re.findall(r"^## (.*)$", GUIDE, re.MULTILINE)
    assert [title for _, title, _ in listed] == sections
    assert [int(number) for number, _, _ in listed] == list(range(1, len(sections) + 1))


def test_every_example_is_in_the_list_of_examples():
    listed = re.findall(r"^\| \[(.*?)\]\(\1\) \| \S", EXAMPLES, re.MULTILINE)
    assert listed == [path.name for path in SNIPPETS.examples()]
    assert {"quick_start.py", "quick_start.ipynb"} <= set(listed)
    assert "gpu.py" not in listed


@pytest.mark.parametrize("page", SNIPPETS.pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path):
    prose = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)]+)\)", prose):
        if target.startswith("http"):
            continue
        file, _, anchor = target.partition("#")
        linked = (page.parent / file).resolve() if file else page
        assert linked.exists(), target
        if anchor:
            assert anchor in anchors(linked), target


def anchors(page: Path) -> set[str]:
    text = page.read_text(encoding="utf-8")
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    generated = re.findall(r"^::: (\S+)$", text, re.MULTILINE)
    return {*generated, *(re.sub(r"[^\w\- ]", "", x.lower()).replace(" ", "-") for x in titles)}
