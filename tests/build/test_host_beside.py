"""C++ sources are compiled beside the mixed ones of a module, once."""

import pytest
from cache_crowd import counting_compiler
from file_kit import ADD, write
from mixed_loader import ADD as VECTOR_ADD

import tvmffi_cubin as tc
from tvmffi_cubin.host_beside import HostBeside

EXPORT = "TVM_FFI_DLL_EXPORT_TYPED_FUNC(vec_add, vec_add);\n"
MORE = "int more(int x);\nint add_more(int x) { return more(x) + 1; }\n"


@pytest.fixture
def counts(tmp_path, monkeypatch):
    """Return a function that tells how often sources were compiled: beside, and in all."""
    beside = []
    wait = HostBeside.wait
    with counting_compiler(tmp_path / "bin", monkeypatch) as compiler:

        def told(*words):
            return [first[word] for first in beside for word in words], [*map(compiler.runs, words)]

        def noted(self):
            wait(self)
            beside.append({word: compiler.runs(word) for word in ("cpp.cc", "add.cc")})

        monkeypatch.setattr(HostBeside, "wait", noted)
        yield told


def test_inline_sources_are(counts):
    functions = {"vec_add": "", "add_more": "Adds.", "more": ""}
    sources = [MORE, "int more(int x) { return x + 1; }\n"]
    options = {"functions": functions, "arch": "sm_90", "use_pch": False}
    mod = tc.load_inline("beside", VECTOR_ADD, cpp_sources=sources, **options)
    assert (mod.add_more(1), mod.more(1)) == (3, 2)
    assert counts("cpp.cc") == ([1], [1])


def test_files_are(counts, here):
    write("add.cc", ADD)
    write("vec.cu", VECTOR_ADD + EXPORT)
    mod = tc.load("beside", sources=["vec.cu", "add.cc"], arch="sm_90", use_pch=False)
    assert mod.add(1, 2) == 3
    assert counts("add.cc") == ([1], [1])


def test_a_mistake_in_them_is_told_by_the_module_s_own_build(counts, here):
    write("add.cc", ADD.replace("a + b", "a + c"))
    write("vec.cu", VECTOR_ADD + EXPORT)
    with pytest.raises(tc.BuildError, match=r"(?s)beside\.so failed.*'c' was not declared"):
        tc.load("beside", sources=["vec.cu", "add.cc"], arch="sm_90", use_pch=False)
