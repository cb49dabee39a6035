"""The user's own headers in mixed sources."""

from __future__ import annotations

from mixed_kit import cut, shown

from tvmffi_cubin.mixed_program import MixedSource, Program
from tvmffi_cubin.split import split


def test_a_header_is_cut_for_each_side_and_include_lines_lead_to_it(tmp_path):
    (tmp_path / "kernels.h").write_text(
        "#pragma once\n#include <vector>\n__global__ void k(int* x) { *x = 1; }\n"
        "inline void launch(int* x) { k<<<1, 1>>>(x); }\n"
    )
    done = cut('#include "kernels.h"\nvoid f(int* x) { launch(x); }', include_dirs=(tmp_path,))
    (name,) = done.host.files
    assert f'#include "{name}"' in done.host.text
    assert f'#include "{name}"' in done.device.text
    path = tmp_path / "kernels.h"
    assert done.host.files[name].startswith(f'#line 1 "{path}"\n#pragma once\n#include <vector>\n')
    assert "KernelLaunch(1, 1)" in done.host.files[name]
    assert shown(done.device.files[name]) == (
        f'#line 1 "{path}"\n#pragma once\n__global__ void k(int* x) {{ *x = 1; }}'
    )


def test_a_header_in_which_nothing_changes_is_included_as_it_is(tmp_path):
    (tmp_path / "plain.h").write_text("#pragma once\nconstexpr int kBlock = 4;\n")
    done = cut(
        "#include <plain.h>\n__global__ void k(int* x) { *x = kBlock; }\nint f = kBlock;",
        include_dirs=(tmp_path,),
    )
    assert done.host.files == {}
    assert done.device.files == {}
    assert "#include <plain.h>" in done.device.text


def test_headers_beside_a_source_or_a_header_are_found_from_their_copies(tmp_path):
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "plain.h").write_text("constexpr int kBlock = 4;\n")
    (tmp_path / "outer.h").write_text('#include "inner/middle.h"\n')
    (tmp_path / "inner" / "middle.h").write_text('#include "plain.h"\nint f();\n')
    source = MixedSource(
        "a.cu", '#include "outer.h"\nint g();\n__global__ void k(int (*)[kBlock]);', str(tmp_path)
    )
    done = split(Program((source,)))
    assert done.host.files == {}
    assert f'#include "{tmp_path}/outer.h"' in done.host.text
    middle, outer = sorted(done.device.files, key=lambda name: "outer" in name)
    assert f'#include "{tmp_path}/inner/plain.h"' in done.device.files[middle]
    assert f'#include "{middle}"' in done.device.files[outer]
    assert f'#include "{outer}"' in done.device.text


def test_macros_of_headers_are_understood_in_what_follows(tmp_path):
    (tmp_path / "macros.h").write_text("#define DEVICE __device__\n#define RUN(k) k<<<1, 1>>>()\n")
    done = cut(
        "#include <macros.h>\nDEVICE int f() { return 1; }\n__global__ void k();\n"
        "void g() { RUN(k); }",
        include_dirs=(tmp_path,),
    )
    assert "return 1" not in done.host.text
    (text,) = done.host.files.values()
    assert "KernelLaunch(1, 1), k())" in text
    assert done.device.files == {}


def test_headers_of_the_hosts_alone_stay_out_of_the_device_text(tmp_path):
    (tmp_path / "tvm").mkdir()
    (tmp_path / "tvm" / "x.h").write_text("int f();\n")
    source = MixedSource("a.cu", "#include <tvm/x.h>\n__global__ void k();\nint g();")
    done = split(Program((source,), (str(tmp_path),), host_dirs=(str(tmp_path),)))
    assert "#include" not in done.device.text
    assert "#include <tvm/x.h>" in done.host.text


def test_a_header_that_a_skipped_branch_includes_too_is_cut(tmp_path):
    (tmp_path / "both.h").write_text("#define DEVICE __device__\nDEVICE int f();\nint host();\n")
    done = cut(
        "#ifdef __CUDACC__\n#include <both.h>\n#else\n#include <both.h>\n#endif\n"
        "__global__ void k() { f(); }\nint g() { return host(); }",
        include_dirs=(tmp_path,),
    )
    (text,) = done.device.files.values()
    assert "host" not in text


def test_the_deepest_folder_says_whose_a_header_is(tmp_path):
    shims = tmp_path / "shims"
    shims.mkdir()
    (shims / "cfloat").touch()
    source = MixedSource("a.cu", "#include <cfloat>\n__global__ void k();\nint g();")
    done = split(Program((source,), (), (str(shims),), host_dirs=(str(tmp_path),)))
    assert "#include <cfloat>" in done.device.text
    assert "#include <cfloat>" in done.host.text


def test_errors_in_headers_are_told_at_the_users_place_and_may_be_gone_without(tmp_path):
    (tmp_path / "a.h").write_text("struct T { std::string s; };\nint f();\n")
    path = str(tmp_path / "a.h")
    done = cut('#include "a.h"\n__global__ void k() { int T; }', include_dirs=(tmp_path,))
    assert done.place("device", path, 1, 3) == (1, 3)
    again = done.without("device", [(path, 1)])
    assert again is not None
    assert "string" not in "".join(again.device.files.values())


def test_a_header_that_cannot_be_cut_goes_to_both_sides_with_all_that_it_names(tmp_path):
    (tmp_path / "table.h").write_text(
        "#ifdef A\n#define BEGIN(n) __device__ const T n[] = {\n#define END };\n#else\n"
        "#define BEGIN(n) const T n[] = {\n#define END };\n#endif\n#include <vector>\n"
        "BEGIN(table) 1, 2 END\n"
    )
    done = cut(
        '#include "table.h"\nusing T = int;\nusing Unnamed = int;\nvoid f();\n'
        "__global__ void k(int* x) { *x = table[0]; }",
        include_dirs=(tmp_path,),
    )
    (text,) = done.device.files.values()
    assert "BEGIN(table) 1, 2 END" in text
    assert "#include" not in text
    assert done.host.files == {}
    assert "using T = int;" in done.device.text
    assert "using T = int;" in done.host.text
    assert "Unnamed" not in done.device.text


def test_includes_within_functions_go_with_them_and_are_found_from_copies(tmp_path):
    (tmp_path / "body.inc").write_text("*x = 1;\n")
    (tmp_path / "calls.inc").write_text("call();\n")
    text = (
        '__global__ void k(int* x) {\n#include "body.inc"\n}\n'
        'void f() {\n#include "calls.inc"\n/*\n#include "none.inc"\n*/\n}\n'
    )
    done = split(Program((MixedSource("a.cu", text, str(tmp_path)),)))
    assert f'#include "{tmp_path}/body.inc"' in done.device.text
    assert "calls" not in done.device.text
    assert f'#include "{tmp_path}/calls.inc"' in done.host.text
    assert "body" not in done.host.text
    assert '#include "none.inc"' in done.host.text
