"""NVRTC's log, made readable."""

from hypothesis import given
from hypothesis import strategies as st

from tvmffi_cubin.cuda import log as nvrtc_log

SOURCE = "__global__ void k(float* x) {\n\tx[0] = foo;\n}\n"
LOG = """\
k.cu(2): error: identifier "foo" is undefined
   x[0] = foo;
          ^

1 error detected."""


def test_a_diagnostic_shows_its_line_and_the_one_before_with_numbers():
    assert nvrtc_log.annotate(LOG, name="k.cu", source=SOURCE).split("\n") == [
        'k.cu(2): error: identifier "foo" is undefined',
        "  1 | __global__ void k(float* x) {",
        "> 2 | \tx[0] = foo;",
        "    | \t       ^",
        "",
        "1 error detected.",
    ]


def test_a_line_that_nvrtc_does_not_echo_is_shown_without_a_caret():
    text = nvrtc_log.annotate("k.cu(3): error: no", name="k.cu", source=SOURCE)
    assert text.split("\n")[-2:] == ["  2 | \tx[0] = foo;", "> 3 | }"]


def test_headers_and_lines_past_the_source_stay_as_they_are():
    log = "a/b.h(2): error: no\nk.cu(99): error: no\nother k.cu(1): warning: no"
    assert nvrtc_log.annotate(log, name="k.cu", source=SOURCE) == log


def test_a_source_that_moves_its_line_numbers_is_not_quoted():
    source = '#line 40 "generated"\n' + SOURCE
    assert nvrtc_log.annotate(LOG, name="k.cu", source=source) == LOG


@given(st.text(max_size=80), st.text(max_size=80))
def test_no_log_and_no_source_break_it(log, source):
    noisy = f"k.cu(1): error: x\n{log}\nk.cu(2): error: y\n{log}"
    text = nvrtc_log.annotate(noisy, name="k.cu", source=source)
    assert "k.cu(1): error: x" in text
    assert "k.cu(2): error: y" in text


def hints(log, arch="sm_90"):
    return " ".join(nvrtc_log.hints(log, arch=arch))


def test_an_instruction_for_the_specific_architecture_suggests_it():
    log = "error : Instruction 'wgmma.fence' not supported on .target 'sm_90'"
    assert 'arch="sm_90a"' in hints(log)
    assert hints(log, arch="sm_90a") == ""
    assert hints(log, arch="sm_80") == ""


def test_a_tensor_map_without_its_header_names_it():
    for log in (
        'k.cu(2): error: identifier "CUtensorMap" is undefined',
        'k.cu(2): error: incomplete type "CUtensorMap_st" is not allowed',
    ):
        assert hints(log) == "CUtensorMap is in <cuda.h>: add #include <cuda.h>"


def test_only_warnings_outside_nvidias_headers_count():
    own = ["/cuda/include"]
    theirs = "/cuda/include/cub/x.cuh(3): warning #1444-D: old\nRemark: The warnings can be ..."
    assert not nvrtc_log.warns("", headers=own)
    assert not nvrtc_log.warns("ptxas info    : Used 8 registers", headers=own)
    assert not nvrtc_log.warns(theirs, headers=own)
    assert nvrtc_log.warns(theirs + "\nk.cu(3): warning #177-D: unused", headers=own)


def test_an_undefined_symbol_is_spelled_as_in_the_source():
    log = "ptxas fatal   : Unresolved extern function '_Z7missingi'"
    shown = nvrtc_log.annotate(log, name="k.cu", source=SOURCE)
    assert shown == "ptxas fatal   : Unresolved extern function 'missing(int)'"
    assert "missing(int) is declared and not defined: define it in this source" in hints(log)
    assert "v is declared" in hints("ptxas fatal   : Unresolved extern variable 'v'")
