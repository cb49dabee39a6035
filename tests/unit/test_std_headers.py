"""Which headers of the C++ library device code wants that does not include them."""

from __future__ import annotations

import pytest

from tvmffi_cubin.cuda.hints import headers_for


@pytest.fixture
def cccl(tmp_path):
    for name in ("optional", "functional", "iterator"):
        path = tmp_path / "cuda" / "std" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return [str(tmp_path)]


@pytest.mark.parametrize(
    ("text", "headers"),
    [
        ("std::enable_if_t<true, int> x;", ["type_traits"]),
        ("bool b = std::is_final_v<A> && std::is_same<A, B>::value;", ["type_traits"]),
        ("float f = ::std::numeric_limits<float>::max();", ["limits"]),
        ("using std::min; int x = std :: max(1, 2);", ["algorithm"]),
        ("std::pair<int, std::array<int, 3>> p = std::make_pair(1, a);", ["array", "utility"]),
        ("auto t = std::make_tuple(1); auto i = std::make_index_sequence<3>();",
         ["tuple", "utility"]),
        ("std::uint32_t x = UINT32_MAX; int y = INT_MAX; float z = FLT_MAX;",
         ["cstdint", "float.h", "limits.h", "stdint.h"]),
        ("using namespace std; enable_if_t<true> f(int min);", ["algorithm", "type_traits"]),
        ("std::sqrt(x); std::size_t n; int64_t m; std::string s; INFINITY;", []),
        ("#define FLT_MAX 3.4e38f\nfloat x = FLT_MAX;", []),
        ("namespace std { template <class T, class U> struct is_same { }; }\n"
         "std::is_same<int, int> x; std::min(1, 2);", ["algorithm"]),
        ("namespace std { template <> struct numeric_limits<Mine> : numeric_limits<int> {}; }\n"
         "std::numeric_limits<Mine>::max();", ["limits"]),
        ("int n = std::size(x); auto p = std::begin(x), q = std::data(x);", ["range_access.h"]),
        ("#include <iterator>\nint n = std::size(x);", []),
        ("using namespace std; int size, *data; f(begin, end);", []),
        ("int x = rand() % RAND_MAX;", ["stdlib.h"]),
        ("my::enable_if_t<true> x; int pair, tuple, min;", []),
    ],
)  # fmt: skip
def test_headers_are_those_that_declare_what_is_named(text, headers):
    assert headers_for([text], []) == tuple(headers)


def test_cccl_s_are_wanted_where_they_are_and_code_names_them(cccl):
    assert headers_for(["std::optional<int> x;"], cccl) == ("optional",)
    assert headers_for(["std::optional<int> x;"], []) == ()
    assert headers_for(["std::size(x) + *std::rbegin(x);"], cccl) == ("iterator",)
    assert headers_for(["std::plus<int>(); std::span<int> x;"], cccl) == ("functional",)
    assert headers_for(["using namespace std; int optional; plus<int>();"], cccl) == ("functional",)


def test_a_source_that_includes_cccl_s_header_itself_decides_when(cccl):
    for header in ("optional", "cuda/std/optional"):
        text = f"#define _CCCL_X\n#include <{header}>\n"
        assert headers_for([text, "std::optional<int> x;"], cccl) == ()
