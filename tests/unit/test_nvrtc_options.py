"""The caller's options: as NVRTC knows them, for separate compilation, in nvJitLink's words."""

import pytest

from tvmffi_cubin.cuda.options import (
    link_options,
    nvrtc_options,
    preprocessor_flags,
    without_separation,
)


@pytest.mark.parametrize(
    ("given", "passed"),
    [
        # What only nvcc needs, and what others say.
        (["-O3", "--expt-relaxed-constexpr", "--extended-lambda", "-m64", "--threads", "4"], []),
        (["-Xfatbin=-compress-all", "--compress-mode=size"], []),
        (["-static-global-template-stub", "false"], []),
        (["-Xcompiler", "-fPIC", "-Xcompiler=-fPIC,-Wall", "-Xcompiler -fPIC"], []),
        # What nvcc has both sides' preprocessor read.
        (["-Xcompiler", "-Wall,-DA", "-Xcompiler=-isystem,/b"], ["-DA", "-isystem=/b"]),
        (["-gencode", "arch=compute_90,code=sm_90", "--gpu-architecture", "sm_90"], []),
        (["-gencode arch=compute_90,code=sm_90", "-arch=sm_90", "-DA"], ["-DA"]),
        (["-isystem", "/a b"], ["-isystem=/a b"]),
        (["--system-include=/a b"], ["-isystem=/a b"]),
        (["--std", "c++20"], ["-std=c++20"]),
        (["-Xptxas=-v,-O3,", "-G"], ["-Xptxas=-v", "-Xptxas=-O3", "-G"]),
        (["--ptxas-options", "-v,-O3"], ["-Xptxas=-v", "-Xptxas=-O3"]),
    ],
)
def test_options_are_passed_as_nvrtc_takes_them(given, passed):
    assert nvrtc_options(["-lineinfo", *given]) == ("-lineinfo", *passed)


@pytest.mark.parametrize("option", ["-Xptxas=", "-Xptxas=,", "-Xptxas", "-I", "-D", "-isystem"])
def test_an_option_without_its_value_ends_no_process_and_takes_none_of_ours(option):
    with pytest.raises(ValueError, match="has no value: set one, or remove the option"):
        nvrtc_options(["-lineinfo", option])


def test_macros_are_told_to_both_sides_however_nvrtc_s_options_are_spelled():
    flags = ["--define-macro=A=2", "-Xcompiler=-DC", "--define-macro", "D", "--undefine-macro=B"]
    words = ("-D", "A=2", "-D", "D", "-U", "B", "-D", "C")
    lines = "#define A 2\n#define D\n#define C\n"
    assert preprocessor_flags(flags) == (words, (), lines)


@pytest.mark.parametrize(
    ("given", "kept", "lto"),
    [
        (["-O3", "-lineinfo"], ["-O3", "-lineinfo"], False),
        (["-rdc", "true", "--relocatable-device-code=false", "-DX"], ["-DX"], False),
        (["-dc", "-dlto"], [], True),
        (["--dlink-time-opt", "-DX"], ["-DX"], True),
    ],
)
def test_what_asks_for_separate_compilation_is_taken_out(given, kept, lto):
    assert without_separation(given) == (tuple(kept), lto)


@pytest.mark.parametrize(
    ("given", "passed"),
    [
        (["-DX", "-I/a", "-std=c++20", "-G"], ["-g"]),
        (["--maxrregcount", "32", "--generate-line-info"], ["-maxrregcount=32", "-lineinfo"]),
        (["--use_fast_math"], ["-ftz=1", "-prec-div=0", "-prec-sqrt=0", "-fma=1"]),
        (["-ftz=true", "--prec-div=false", "-fmad", "false"], ["-ftz=1", "-prec-div=0", "-fma=0"]),
        (["-Xptxas=-a,-c"], ["-Xptxas=-a", "-Xptxas=-c"]),
    ],
)
def test_what_matters_to_a_link_is_said_in_nvjitlink_s_words(given, passed):
    assert link_options(given) == tuple(passed)
