"""What is said of mistakes, by what compilers and linkers print."""

from __future__ import annotations

import pytest

from tvmffi_cubin.cuda import hints
from tvmffi_cubin.host import build
from tvmffi_cubin.sources.mistakes import mistakes


@pytest.mark.parametrize(
    "log",
    [
        "a.cu:4:3: error: \u2018AT_ASSERT\u2019 was not declared in this scope",
        'a.cu(2): error: identifier "gpuAtomicAdd" is undefined',
        "a.cpp:1:10: fatal error: 'ATen/ATen.h' file not found",
    ],
)
def test_what_to_do_is_told_where_a_name_of_torch_s_is_unknown(log):
    (told,) = mistakes(log)
    assert told.startswith("Sources written for torch are not supported")


def test_words_that_are_not_torch_s_are_not_spoken_of():
    log = (
        "a.cu:3: error: 'struct Mine' has no member named 'options'\n"
        "a.cu:4: error: 'TORCH' was not declared in this scope\n"
        "a.cu:5: note: 'TORCH_CHECK' was not declared in this scope\n"
    )
    assert mistakes(log) == []


@pytest.mark.parametrize(
    ("log", "told"),
    [
        ("a.cu:1:3: error: 'threadIdx' was not declared in this scope\n" * 2, "threadIdx in host"),
        ("a.cu:1:3: error: use of undeclared identifier 'blockIdx'", "blockIdx in host code"),
        ("a.cu:1:3: error: unknown type name '_global_'", "_global_ in host code"),
        (
            "a.cc:8:34: error: 'g' was not declared in this scope; did you mean 'f'?\n"
            "    8 | TVM_FFI_DLL_EXPORT_TYPED_FUNC(g, g);\n"
            "a.cc:8:1: error: 'FuncInfo' was not declared in this scope\n"
            "    8 | TVM_FFI_DLL_EXPORT_TYPED_FUNC(g, g);\n",
            "g is listed for export, but the source has no such function",
        ),
        (
            "a.h:218:27: error: static assertion failed: The function signature do not support "
            "unpacked",
            "pass tensors as tvm::ffi::TensorView",
        ),
    ],
)
def test_a_slip_is_told_once(log, told):
    (found,) = mistakes(log)
    assert told in found


def test_a_function_that_another_error_hides_is_not_called_missing():
    log = (
        "a.cu:2:8: error: variable or field 'f' declared void\n"
        "a.cc:8:34: error: 'f' was not declared in this scope\n"
        "    8 | TVM_FFI_DLL_EXPORT_TYPED_FUNC(f, f);\n"
    )
    assert mistakes(log) == []


# Behind the errors of NVIDIA's compilers


def test_an_instruction_for_the_specific_architecture_suggests_it():
    log = "error : Instruction 'wgmma.fence' not supported on .target '{}'"
    (found,) = hints.hints(log.format("sm_90"))
    assert found == 'an instruction is not available on sm_90: compile with arch="sm_90a"'
    for arch in ("sm_90a", "sm_80"):
        assert [*hints.hints(log.format(arch))] == []


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("__tvm_ffi__cubin_k_end", "no image is embedded as 'k'; pass it as embed_cubin={'k'"),
        ("__tvm_ffi_add", "no kernel is named 'add' and no file exports such a function"),
        ("__wrap_cuLaunchKernel", "cuLaunchKernel would pass kernels too few parameters"),
    ],
)
@pytest.mark.parametrize("said", ["ld: undefined symbol: {}", "a.cc: undefined reference to `{}'"])
def test_an_undefined_symbol_that_is_ours_comes_with_a_remedy(said, name, remedy):
    (hint,) = build._hints("g++", f"{said.format(name)}\n" * 2)
    assert remedy in hint
    assert build._hints("g++", said.format("plain")) == []
