"""The documentation says what is true: names, variables, snippets, links."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import re
from pathlib import Path

import pytest

import tvmffi_cubin as tc
from tvmffi_cubin import config
from tvmffi_cubin.inline.options import TextOptions

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
GUIDE = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
EXAMPLES = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")


def load_snippets():
    spec = importlib.util.spec_from_file_location(
        "update_snippets", ROOT / "docs" / "update_snippets.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SNIPPETS = load_snippets()


@pytest.mark.parametrize("page", SNIPPETS.pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_quoted_code_is_what_the_examples_have(page: Path):
    text = page.read_text(encoding="utf-8")
    assert SNIPPETS.updated(text) == text, "run: python docs/update_snippets.py"
    assert not re.search(r"\bgpu\.\w+\(", text), "the examples' helper is on no page"


def test_snippets_are_quoted_without_markers_and_without_indentation():
    text = SNIPPETS.section("examples/quick_start.py", "call")
    assert text.startswith("import torch\n")
    assert "mod.saxpy(2.0, x, y)" in text
    assert "arch()" not in SNIPPETS.section("examples/quick_start.py", "build")


def test_a_section_that_is_not_there_is_an_error():
    with pytest.raises(ValueError, match="has 0 sections 'nothing'"):
        SNIPPETS.section("examples/quick_start.py", "nothing")


def test_every_environment_variable_is_in_the_reference_and_no_other():
    rows = re.findall(r"(?m)^\| `([A-Z_]+)` \|", REFERENCE)
    assert sorted(rows) == sorted(config.DEFAULTS)
    named = re.findall(r"\bTVMFFI_CUBIN_[A-Z_]+\b", GUIDE + REFERENCE + README)
    assert set(named) <= set(config.DEFAULTS)


@pytest.mark.parametrize("name", tc.__all__)
def test_every_public_name_is_in_the_reference_and_has_a_docstring(name: str):
    assert re.search(rf"\btc\.{name}\b", REFERENCE)
    assert (getattr(tc, name).__doc__ or "").strip()


def public_members() -> list[tuple[str, object]]:
    found = []
    classes = (tc.Module, tc.LazyModule, tc.Function, tc.Launch, tc.Dispatch, tc.Cubin)
    for owner in (*classes, tc.Description):
        fields = {field.name for field in getattr(owner, "__dataclass_fields__", {}).values()}
        for name, member in vars(owner).items():
            if not name.startswith("_") and name not in fields:
                found.append((f"{owner.__name__}.{name}", member))
    for module in (tc.nvrtc, tc.nvjitlink, tc.triton, tc.tvm):
        own = module.__name__.rpartition(".")[2]
        found += [(f"{own}.{name}", getattr(module, name)) for name in module.__all__]
    return found


@pytest.mark.parametrize(("name", "member"), public_members())
def test_every_public_member_is_in_the_reference_and_has_a_docstring(name: str, member: object):
    assert re.search(rf"`{re.escape(name)}\b", REFERENCE)
    assert (member.__doc__ or "").strip()


@pytest.mark.parametrize("owner", [tc.Cubin, tc.Kernel], ids=lambda c: c.__name__)
def test_every_field_is_in_the_reference(owner: type):
    for name in owner.__annotations__:
        assert f"`{owner.__name__}.{name}`" in REFERENCE


@pytest.mark.parametrize(
    "function",
    [
        tc.load_inline,
        tc.build_inline,
        tc.load,
        tc.build,
        tc.load_module,
        tc.load_description,
        tc.build_description,
        tc.Description,
        tc.lazy,
        tc.ImageFile,
        tc.Launch,
        tc.Dispatch,
        tc.use_stream,
        tc.nvrtc.compile,
        tc.nvjitlink.link,
    ],
    ids=lambda function: function.__name__,
)
def test_every_parameter_is_in_the_reference_and_in_the_docstring(function):
    for name in inspect.signature(function).parameters:
        assert re.search(rf"\b{name}\b", REFERENCE)
        shared = name in TextOptions.__annotations__ and "**options" in function.__doc__
        assert shared or re.search(rf"\b{name}\b", function.__doc__)


PUBLIC_FUNCTIONS = {
    **{
        f"tc.{name}": getattr(tc, name)
        for name in (
            *("load_inline", "build_inline", "lazy", "load", "build", "load_module"),
            *("load_description", "build_description"),
            "use_stream",
        )
    },
    **{
        f"{module.__name__.rpartition('.')[2]}.{name}": getattr(module, name)
        for module in (tc.nvrtc, tc.nvjitlink, tc.triton, tc.tvm)
        for name in module.__all__
        if not isinstance(getattr(module, name), type)
    },
    "tc.ImageFile": tc.ImageFile,
    "tc.Launch": tc.Launch,
    "tc.Dispatch": tc.Dispatch,
    "tc.TensorMap": tc.TensorMap,
}


def written_signature(name: str) -> tuple[dict[str, str], bool]:
    """Return parameters and defaults as the reference has them, and whether `**options` follow."""
    found = re.search(rf"\b{re.escape(name)}(\((?:[^()]|\(\))*\))", REFERENCE)
    assert found is not None
    arguments = ast.parse(f"def f{found[1]}: pass").body[0].args  # type: ignore[attr-defined]
    required = len(arguments.args) - len(arguments.defaults)
    defaults = [*[None] * required, *arguments.defaults, *arguments.kw_defaults]
    names = [each.arg for each in (*arguments.args, *arguments.kwonlyargs)]
    texts = ["" if each is None else ast.unparse(each) for each in defaults]
    return dict(zip(names, texts, strict=True)), arguments.kwarg is not None


@pytest.mark.parametrize("name", PUBLIC_FUNCTIONS)
def test_signatures_in_the_reference_are_those_of_the_code(name: str):
    written, has_options = written_signature(name)
    parameters = inspect.signature(PUBLIC_FUNCTIONS[name]).parameters
    actual = {
        each.name: "" if each.default is each.empty else repr(each.default)
        for each in parameters.values()
    }
    assert written.items() <= actual.items()
    if has_options:
        assert actual.keys() - written.keys() <= written_signature("tc.load_inline")[0].keys()
    else:
        assert written.keys() == actual.keys()


def cxx_names(pattern: str, *headers: str) -> set[str]:
    folder = ROOT / "include" / "tvmffi_cubin"
    text = "".join((folder / header).read_text(encoding="utf-8") for header in headers)
    return set(re.findall(pattern, text, re.MULTILINE))


CXX_NAMES = {
    *cxx_names(r"^#define (EMBED\w+)\(", "tvmffi_cubin.h"),
    *cxx_names(
        r"^  (?:\[\[nodiscard\]\] )?[\w&]+ ((?:Get|Set|Load|Launch)\w*)\(",
        *("kernel.h", "launch_config.h"),
    ),
    *cxx_names(r"^  TensorMapOptions& (Set\w*)\(", "tensor_map.h"),
}


@pytest.mark.parametrize("name", sorted(CXX_NAMES))
def test_every_public_cxx_name_is_on_the_page_about_cxx(name: str):
    page = (ROOT / "docs" / "launching_from_cpp.md").read_text(encoding="utf-8")
    assert re.search(rf"\b{name}\b", page)


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


def test_every_page_can_be_reached_from_the_readme():
    reached, waiting = set(), {ROOT / "README.md"}
    while waiting:
        page = waiting.pop()
        reached.add(page)
        linked = re.findall(r"\]\(([^)#]+\.md)\b", page.read_text(encoding="utf-8"))
        found = {(page.parent / link).resolve() for link in linked if "://" not in link}
        waiting |= found - reached
    assert set(SNIPPETS.pages()) <= reached


def anchors(page: Path) -> set[str]:
    titles = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
