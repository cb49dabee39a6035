"""What is said of sources that still have something of torch's."""

from __future__ import annotations

import pytest

from tvmffi_cubin.sources.torch import torch_hints


@pytest.mark.parametrize(
    ("log", "hint"),
    [
        ("a.cu:4:3: error: 'TORCH_CHECK' was not declared in this scope", "TVM_FFI_CHECK(n > 0"),
        ("a.cu:4:3: error: \u2018AT_ASSERT\u2019 was not declared in this scope", "TVM_FFI_CHECK("),
        ('a.cu(2): error: identifier "gpuAtomicAdd" is undefined', "here it is atomicAdd"),
        ("a.cu:3: error: 'class tvm::ffi::TensorView' has no member named 'is_cuda'", "kDLCUDA"),
        (
            "a.cu:3:9: error: expected primary-expression before 'float'\n"
            "    3 |   k<<<1, 1>>>(x.data_ptr<float>());",
            "static_cast<T*>(x.data_ptr())",
        ),
    ],
)
def test_what_stands_for_a_word_of_torch_s_is_told(log, hint):
    told, where = torch_hints(log)
    assert "is torch's; here it is " in told
    assert hint in told
    assert "docs/mixed_sources.md" in where


def test_words_that_are_not_torch_s_are_not_spoken_of():
    log = (
        "a.cu:3: error: 'struct Mine' has no member named 'options'\n"
        "a.cu:3: error: no member named 'options' in 'Mine'\n"
        "a.cu:4: error: 'TORCH' was not declared in this scope\n"
        "a.cu:5: note: 'TORCH_CHECK' was not declared in this scope\n"
    )
    assert [*torch_hints(log)] == []
