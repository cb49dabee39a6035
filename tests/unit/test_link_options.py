"""nvcc's options for separate compilation and linking."""

from __future__ import annotations

import pytest

from tvmffi_cubin.cuda.options import check_link_options, link_options, without_separation


@pytest.mark.parametrize(
    ("given", "kept", "lto"),
    [
        (["-O3", "-lineinfo"], ["-O3", "-lineinfo"], False),
        (["-rdc=true", "-lineinfo"], ["-lineinfo"], False),
        (["-rdc", "true", "-DX"], ["-DX"], False),
        (["--relocatable-device-code=false"], [], False),
        (["--relocatable-device-code", "true", "-DX"], ["-DX"], False),
        (["-dc", "-dlto"], [], True),
        (["--dlink-time-opt", "-DX"], ["-DX"], True),
    ],
)
def test_what_asks_for_separate_compilation_is_taken_out(given, kept, lto):
    assert without_separation(given) == (tuple(kept), lto)


@pytest.mark.parametrize(
    ("given", "passed"),
    [
        (["-DX", "-I/a", "-std=c++20"], []),
        (["-G"], ["-g"]),
        (["--generate-line-info"], ["-lineinfo"]),
        (["-maxrregcount=32"], ["-maxrregcount=32"]),
        (["--maxrregcount", "32", "-lineinfo"], ["-maxrregcount=32", "-lineinfo"]),
        (["--use_fast_math"], ["-ftz=1", "-prec-div=0", "-prec-sqrt=0", "-fma=1"]),
        (["-ftz=true", "--prec-div=false", "-fmad", "false"], ["-ftz=1", "-prec-div=0", "-fma=0"]),
        (["-Xptxas", "-v,-O2"], ["-Xptxas=-v", "-Xptxas=-O2"]),
        (["--ptxas-options=-v"], ["-Xptxas=-v"]),
        ([r"-Xptxas=-a\,b,-c"], [r"-Xptxas=-a\,b", "-Xptxas=-c"]),
    ],
)
def test_what_matters_to_a_link_is_said_in_nvjitlink_s_words(given, passed):
    assert link_options(given) == tuple(passed)


@pytest.mark.parametrize(
    ("option", "argument"),
    [
        ("-arch=sm_80", 'arch="sm_90a"'),
        ("-arch", 'arch="sm_90a"'),
        ("--gpu-architecture=sm_80", 'arch="sm_90a"'),
        ("-gencode=arch=compute_80,code=sm_80", 'arch="sm_90a"'),
        ("-lto", "lto=True"),
        ("-dlto", "lto=True"),
        ("-ptx", 'arch="compute_90"'),
    ],
)
def test_what_an_argument_says_is_no_option(option, argument):
    with pytest.raises(ValueError, match=f"'{option}' is said by an argument: {argument}"):
        check_link_options(["-g", option])
