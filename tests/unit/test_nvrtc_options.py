"""The caller's options: as NVRTC knows them, for separate compilation, in nvJitLink's words."""

import pytest

from tvmffi_cubin.cuda.options import (
    link_options,
    nvrtc_options,
    without_separation,
)


@pytest.mark.parametrize(
    "given",
    [
        ["-O3"],
        ["--expt-relaxed-constexpr"],
        ["-expt-extended-lambda"],
        ["--extended-lambda"],
        ["-Xcompiler", "-fPIC"],
        ["-Xcompiler=-fPIC,-Wall"],
        ["-Xcompiler -fPIC"],
        ["--threads", "4"],
        ["-m64"],
    ],
)
def test_options_that_only_nvcc_needs_are_left_out(given):
    assert nvrtc_options([*given, "-lineinfo"]) == ("-lineinfo",)


@pytest.mark.parametrize(
    "given", [["-isystem", "/a b"], ["-isystem/a b"], ["--system-include=/a b"], ["-isystem=/a b"]]
)
def test_system_folders_are_folders(given):
    assert nvrtc_options(given) == ("-I/a b",)


def test_other_options_keep_their_order_and_spelling():
    given = ("-DA=b c", "-lineinfo", "-D", "X", "-use_fast_math", "-I", "/a", "-std=c++20")
    assert nvrtc_options(given) == given
    assert nvrtc_options(["--std", "c++20"]) == ("-std=c++20",)


@pytest.mark.parametrize("name", ["-Xptxas", "--ptxas-options"])
def test_the_assemblers_options_are_split_at_commas_as_nvcc_does(name):
    for given in ([f"{name}=-v,-O3,"], [name, "-v,-O3"], [f"{name} -v,-O3"]):
        assert nvrtc_options([*given, "-G"]) == ("-Xptxas=-v", "-Xptxas=-O3", "-G")


@pytest.mark.parametrize("option", ["-Xptxas=", "-Xptxas=,", "-Xptxas", "-I", "-D", "-isystem"])
def test_an_option_without_its_value_ends_no_process_and_takes_none_of_ours(option):
    with pytest.raises(ValueError, match="has no value: give it one, or leave it out"):
        nvrtc_options(["-lineinfo", option])


@pytest.mark.parametrize("given", ["-O3", b"-O3", 3, {"-O3"}, None])
def test_options_that_are_no_sequence_are_a_type_error(given):
    with pytest.raises(TypeError, match="options must be a sequence of strings"):
        nvrtc_options(given)


def test_an_option_that_is_no_string_is_a_type_error():
    with pytest.raises(TypeError, match="options must hold strings, got int 3"):
        nvrtc_options(["-lineinfo", 3])


@pytest.mark.parametrize(
    "given",
    [
        ["-gencode=arch=compute_90,code=sm_90"],
        ["-gencode", "arch=compute_90,code=sm_90"],
        ["-gencode arch=compute_90,code=sm_90"],
        ["-arch=sm_90", "--gpu-architecture", "sm_90"],
    ],
)
def test_the_callers_architectures_give_way_to_the_one_compiled_for(given):
    assert nvrtc_options(["-lineinfo", *given, "-DA"]) == ("-lineinfo", "-DA")


# Links


@pytest.mark.parametrize(
    ("given", "kept", "lto"),
    [
        (["-O3", "-lineinfo"], ["-O3", "-lineinfo"], False),
        (["-rdc", "true", "-DX"], ["-DX"], False),
        (["--relocatable-device-code=false"], [], False),
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
        (["--maxrregcount", "32", "-lineinfo"], ["-maxrregcount=32", "-lineinfo"]),
        (["--use_fast_math"], ["-ftz=1", "-prec-div=0", "-prec-sqrt=0", "-fma=1"]),
        (["-ftz=true", "--prec-div=false", "-fmad", "false"], ["-ftz=1", "-prec-div=0", "-fma=0"]),
        (["-Xptxas", "-v,-O2"], ["-Xptxas=-v", "-Xptxas=-O2"]),
        ([r"-Xptxas=-a\,b,-c"], [r"-Xptxas=-a\,b", "-Xptxas=-c"]),
    ],
)
def test_what_matters_to_a_link_is_said_in_nvjitlink_s_words(given, passed):
    assert link_options(given) == tuple(passed)
