"""Which of our headers a source wants, by the names that it uses."""

from __future__ import annotations

import pytest

from tvmffi_cubin.inline.mixed_device import std_headers


@pytest.fixture
def cccl(tmp_path):
    for name in ("optional", "functional", "iterator"):
        path = tmp_path / "cuda" / "std" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return str(tmp_path)


OWN = {"float.h", "stdint.h", "algorithm", "array", "cstddef", "limits", "type_traits", "utility"}


@pytest.mark.parametrize(
    ("text", "headers"),
    [
        ("std::sqrt(x); std::size_t n; int64_t m; std::string s; INFINITY;", []),
        ("int n = std::size(x); auto p = std::begin(x), q = std::data(x);", ["iterator"]),
        ("std::optional<int> x; std::plus<int> y; std::span<int> z;", ["functional", "optional"]),
        ("#include <cuda/std/optional>\nstd::optional<int> x;", []),
        # Templates by name alone: with all of CCCL's in std, what ours have would be ambiguous.
        ("using namespace std; int next, size; optional<int> x;", ["optional", "tuple"]),
        ("auto t = std::make_tuple(1);", ["tuple"]),
    ],
)
def test_headers_are_those_that_declare_what_is_named(text, headers, cccl):
    assert {*std_headers(text, [cccl])} == OWN | {*headers}
