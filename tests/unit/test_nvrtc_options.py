"""What NVRTC is told: the caller's options and ours, in order."""

import re
from pathlib import Path

import pytest

from tvmffi_cubin.cuda.options import (
    caller_options,
    compile_options,
    random_seed,
    without_archs,
)


def options(*given, **changes):
    arguments = {
        "arch": "sm_90a",
        "options": caller_options(given),
        "shims": Path("/shims"),
        "include_paths": [Path("/mine with space")],
        "cuda_includes": [Path("/cuda")],
    }
    return compile_options(**{**arguments, **changes})


def test_folders_are_searched_from_ours_over_the_callers_to_cudas():
    folders = [option for option in options("-I/given") if option.startswith("-I")]
    assert folders == ["-I/shims", "-I/given", "-I/mine with space", "-I/cuda"]


def test_the_defaults():
    assert options()[:3] == ("-arch=sm_90a", "-default-device", "-std=c++17")
    assert "--pre-include=/shims/tvmffi_cubin_prelude.h" in options()


@pytest.mark.parametrize("given", [["-std=c++20"], ["--std=c++20"], ["-std", "c++20"]])
def test_the_callers_standard_replaces_the_default(given):
    assert "-std=c++20" in options(*given)
    assert "-std=c++17" not in options(*given)
    assert "c++20" not in options(*given)


def test_nothing_that_we_set_is_said_twice():
    made = options("-arch=sm_90a", "-default-device", "--device-as-default-execution-space")
    assert sum("default" in option for option in made) == 1
    assert sum("arch" in option for option in made) == 1


def test_two_standards_are_an_error():
    with pytest.raises(ValueError, match=r"two language standards are given: c\+\+17 and c\+\+20"):
        options("-std=c++17", "--std=c++20")


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
        ["--default-stream=legacy"],
        ["-default-stream", "null"],
        ["--threads", "4"],
        ["-m64"],
    ],
)
def test_options_that_only_nvcc_needs_are_left_out(given):
    assert options(*given, "-lineinfo") == options("-lineinfo")


@pytest.mark.parametrize(
    "given", [["--default-stream=per-thread"], ["-default-stream", "per-thread"]]
)
def test_default_streams_of_each_thread_are_refused_with_what_to_write(given):
    with pytest.raises(ValueError, match=r"per-thread: .* cudaStreamPerThread .*\"nvcc\""):
        caller_options(given)


@pytest.mark.parametrize(
    "given", [["-isystem", "/a b"], ["-isystem/a b"], ["--system-include=/a b"], ["-isystem=/a b"]]
)
def test_system_folders_are_folders(given):
    assert options(*given) == options("-I/a b")


def test_other_options_keep_their_order_and_spelling():
    given = ["-DA=b c", "-lineinfo", "-Xptxas", "-v", "-use_fast_math", "-I", "/a"]
    made = options(*given)
    start = made.index("-DA=b c")
    assert list(made[start : start + len(given)]) == given


@pytest.mark.parametrize("name", ["-Xptxas", "--ptxas-options"])
def test_what_is_left_out_is_kept_where_it_is_the_assemblers(name):
    given = (name, "-O3", "-lineinfo")
    made = options(*given)
    start = made.index(name)
    assert made[start : start + len(given)] == given


@pytest.mark.parametrize("name", ["-Xptxas", "--ptxas-options"])
def test_the_assemblers_options_are_split_at_commas_as_nvcc_does(name):
    together = options(f"{name}=-v,-dlcm=ca,", "-lineinfo")
    assert together == options(f"{name}=-v", f"{name}=-dlcm=ca", "-lineinfo")
    in_words = options(name, "-v,-O3", "-lineinfo")
    assert in_words == options(name, "-v", name, "-O3", "-lineinfo")


@pytest.mark.parametrize(
    "option", ["-Xptxas=", "-Xptxas=,", "--ptxas-options= ", "-dopt=", "--dopt="]
)
def test_an_option_without_a_value_that_nvrtc_ends_the_process_for_is_a_value_error(option):
    with pytest.raises(ValueError, match=rf"the option '{option}' has no value"):
        caller_options(["-lineinfo", option])


@pytest.mark.parametrize("option", ["-Xptxas", "-I", "-D", "-isystem", "-std", "-maxrregcount"])
def test_a_last_option_without_a_value_does_not_take_one_of_ours(option):
    with pytest.raises(ValueError, match=f"the option '{option}' has no value: give it one"):
        caller_options(["-lineinfo", option])
    assert caller_options([option, "x"])


@pytest.mark.parametrize("given", ["-O3", b"-O3", 3, {"-O3"}, None])
def test_options_that_are_no_sequence_are_a_type_error(given):
    with pytest.raises(TypeError, match="options must be a sequence of strings"):
        caller_options(given)


def test_an_option_that_is_no_string_is_a_type_error():
    with pytest.raises(TypeError, match="options must hold strings, got int 3"):
        caller_options(["-lineinfo", 3])


def test_an_option_with_a_nul_is_a_value_error():
    with pytest.raises(ValueError, match="NUL"):
        caller_options(["-D\0"])


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
    assert options(*given) == options()
    assert without_archs(["-lineinfo", *given, "-DA"]) == ("-lineinfo", "-DA")


def seed(*given, texts=("a.cu", "int x;")):
    return random_seed(caller_options(given), texts)


def test_the_seed_of_a_unit_is_the_same_for_every_architecture():
    (made,) = seed("-DA")
    assert re.fullmatch("-frandom-seed=[0-9a-f]{8}", made)
    assert seed("-DA", "-arch=sm_80") == seed("-DA", "-arch", "sm_90") == (made,)


def test_the_seeds_of_units_differ_with_their_texts_and_options():
    made = {seed(), seed("-DA"), seed(texts=("b.cu", "int x;")), seed(texts=("a.cu", "int y;"))}
    assert len(made) == 4


@pytest.mark.parametrize("given", [["-frandom-seed=mine"], ["--frandom-seed=mine"]])
def test_the_callers_seed_is_the_only_one(given):
    assert seed(*given) == ()
    assert given[0] in options(*given)
