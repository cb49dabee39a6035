"""Which of our headers a source wants, by the names that it uses."""

from __future__ import annotations

import pytest

from tvmffi_cubin.cuda.std_headers import headers_for


@pytest.fixture
def cccl(tmp_path):
    for name in ("optional", "functional", "iterator"):
        path = tmp_path / "cuda" / "std" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return str(tmp_path)


OWN = {"algorithm", "array", "cstddef", "limits", "tuple", "type_traits", "utility"}


@pytest.mark.parametrize(
    ("text", "headers"),
    [
        ("using std::min; float f = ::std::numeric_limits<float>::max();", OWN),
        ("uint32_t x = UINT32_MAX; int y = INT_MAX; float z = FLT_MAX;", set()),
        ("int n = std::size(x); auto p = std::begin(x), q = std::data(x);",
         {*OWN, "range_access.h"}),
        ("auto p = std::begin(x); auto q = std::next(p);", {*OWN, "iterator"}),
        ("std::optional<int> x; std::plus<int> y; std::span<int> z;",
         {*OWN, "functional", "optional"}),
        ("#include <cuda/std/optional>\nstd::optional<int> x;", OWN),
    ],
)  # fmt: skip
def test_ours_come_with_std_and_cccl_s_by_what_is_named(text, headers, cccl):
    found = set(headers_for([text], [cccl]))
    assert found == {"float.h", "stdint.h", *headers}


def test_using_all_of_std_wants_what_is_cheap_and_templates_by_name(cccl):
    found = set(headers_for(["using namespace std; int next, size; optional<int> x;"], [cccl]))
    assert {"algorithm", "tuple", "type_traits", "utility", "optional"} <= found
    # With all of CCCL's names in std, those that ours have, too, would be ambiguous.
    assert found.isdisjoint({"iterator", "functional", "memory", "range_access.h"})
