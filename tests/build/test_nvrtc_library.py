"""What our headers of the C++ library say is true, and as the host's library has it."""

import re

import pytest
from header_kit import KERNEL, compile_it, includes
from library_claims import CLAIMS
from processes import run

from tvmffi_cubin import nvrtc
from tvmffi_cubin.host import tools


@pytest.mark.parametrize("header", CLAIMS)
def test_what_the_shims_say_is_true_and_the_host_s_library_says_the_same(header, tmp_path):
    source = includes(["climits", "cfloat", header]) + CLAIMS[header]
    assert compile_it(source + KERNEL).image
    if header != "cstddef":
        std = ["cstddef", "cstdint", "type_traits"]
        (tmp_path / "a.cc").write_text(f"{includes(std)}using std::size_t;\n{source}")
        command = tools.find_host_compiler().command
        run(*command, "-std=c++20", "-fsyntax-only", tmp_path / "a.cc")


LAYOUTS = {
    "std::tuple<int, float>": 2,
    "std::tuple<std::tuple<int, char>, char>": 2,
    "std::tuple<Empty, Empty, char>": 3,
    "std::pair<char, double>": 2,
    "std::array<short, 3>": 3,
}
AT = "(long)((const char*)&std::get<I>(x) - (const char*)&x)"


def test_what_host_code_passes_lies_where_its_library_puts_it(tmp_path):
    head = includes(["array", "tuple", "utility"]) + "struct Empty {};\n"
    at = f"template <int I, class T> long at(const T& x) {{ return {AT}; }}"
    prints = ""
    device = (
        f"template <int I, class T> __global__ void k(T x, long* y) {{ y[1] = {AT} * 1000; }}\n"
    )
    names = []
    for type_name, count in LAYOUTS.items():
        for i in range(count):
            prints += f'printf("%zu %ld\\n", sizeof({type_name}), at<{i}>({type_name}()));'
            names.append(f"k<{i}, {type_name}>")
    (tmp_path / "at.cc").write_text(f"{head}#include <cstdio>\n{at}\nint main() {{ {prints} }}")
    command = tools.find_host_compiler().command
    run(*command, "-std=c++17", "-o", tmp_path / "at", tmp_path / "at.cc")
    made = nvrtc.compile(head + device, arch="sm_90", name_expressions=names, target_type="ptx")
    text = made.image.decode()
    here = []
    for name in names:
        kernel = re.search(rf"\.entry {made.lowered_names[name]}\((.*?)\n}}", text, re.DOTALL)[1]
        at = re.search(r"mov\.[bu]64 \s*%rd\d+, (\d+);", kernel)[1]
        size = re.search(r"_param_0\[(\d+)", kernel)[1]
        here.append(f"{size} {int(at) // 1000}")
    assert here == run(tmp_path / "at").splitlines()
