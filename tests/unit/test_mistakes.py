"""What is said of sources that still have something of torch's."""

from __future__ import annotations

import pytest

from tvmffi_cubin.sources.torch import TORCH_REMEDY, torch_hints


@pytest.mark.parametrize(
    "log",
    [
        "a.cu:4:3: error: \u2018AT_ASSERT\u2019 was not declared in this scope",
        "a.cu:4:3: error: use of undeclared identifier 'torch'",
        'a.cu(2): error: identifier "gpuAtomicAdd" is undefined',
        "a.cpp:1:10: fatal error: torch/extension.h: No such file or directory",
        "a.cpp:1:10: fatal error: 'ATen/ATen.h' file not found",
    ],
)
def test_what_to_do_is_told_where_a_name_of_torch_s_is_unknown(log):
    assert torch_hints(log) == [TORCH_REMEDY]


def test_words_that_are_not_torch_s_are_not_spoken_of():
    log = (
        "a.cu:3: error: 'struct Mine' has no member named 'options'\n"
        "a.cu:4: error: 'TORCH' was not declared in this scope\n"
        "a.cu:5: note: 'TORCH_CHECK' was not declared in this scope\n"
    )
    assert torch_hints(log) == []
