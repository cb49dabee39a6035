"""What a preprocessor has printed, as the text of one side."""

from __future__ import annotations

import pytest

from tvmffi_cubin.sources.expansion import expansion

PRINTED = """# 1 "a.cu"
#include <{name}>
# 1 "/home/me/{name}" 1
int of_the_header;
# 2 "a.cu" 2
int own;
"""


@pytest.mark.parametrize(
    ("name", "is_library"),
    [
        *(("cute/tensor.hpp", True), ("cuda/std/tuple", True), ("cuda/cmath", True)),
        *(("cuda/__cmath/ceil_div.h", True), ("cuda/common.h", False), ("cuda_common", False)),
    ],
)
def test_a_library_among_the_user_s_folders_is_included_and_not_cut(name, is_library):
    text, _ = expansion(PRINTED.format(name=name), lambda *_: True)
    assert (f"#include <{name}>" in text) == is_library
    assert ("int of_the_header;" in text) != is_library
    assert "int own;" in text
