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


@pytest.mark.parametrize(
    ("text", "headers"),
    [
        ("bool b = std::is_final_v<A> && std::is_same<A, B>::value;", ["type_traits"]),
        ("std::is_trivially_copy_constructible<T>::value", ["type_traits"]),
        ("struct A : std::true_type {}; std::decay_t<A> a;", ["type_traits"]),
        ("using std::min; float f = ::std::numeric_limits<float>::max();", ["algorithm", "limits"]),
        ("std::pair<int, std::array<int, 3>> p; auto t = std::make_tuple(1);",
         ["array", "tuple", "utility"]),
        ("std::uint32_t x = UINT32_MAX; int y = INT_MAX; float z = FLT_MAX;", []),
        ("std::sqrt(x); std::size_t n; int64_t m; std::string s; INFINITY;", []),
        ("int n = std::size(x); auto p = std::begin(x), q = std::data(x);", ["range_access.h"]),
        ("auto p = std::begin(x); auto q = std::next(p);", ["iterator"]),
        ("std::optional<int> x; std::plus<int> y; std::span<int> z;", ["functional", "optional"]),
        ("#include <cuda/std/optional>\nstd::optional<int> x;", []),
    ],
)  # fmt: skip
def test_headers_are_those_that_declare_what_is_named(text, headers, cccl):
    found = set(headers_for([text], [cccl]))
    assert found == {"float.h", "stdint.h", *headers}


def test_using_all_of_std_wants_what_is_cheap_and_templates_by_name(cccl):
    found = set(headers_for(["using namespace std; int next, size; optional<int> x;"], [cccl]))
    assert {"algorithm", "tuple", "type_traits", "utility", "optional"} <= found
    # With all of CCCL's names in std, those that ours have, too, would be ambiguous.
    assert found.isdisjoint({"iterator", "functional", "memory", "range_access.h"})
