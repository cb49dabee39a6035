"""The host compiler's errors about mixed sources are told of the user's own text."""

from __future__ import annotations

import os
import re
import subprocess

import pytest
from wrapper_workshop import include_flags

from tvmffi_cubin.host_log import translate
from tvmffi_cubin.mixed_program import MixedSource, Program
from tvmffi_cubin.split import split

SOURCE = """\
__global__ void plain(float* x, int n) { x[n] = 0; }
template <typename T, int N> __global__ void scale(T* x, float, int = 3) { x[0] *= N; }
__global__ int returns(int a) {}
struct Own { Own(const Own&) = delete; };
__global__ void owns(Own o) {}
void host(float* x, int n, Own& own) {
  plain<<<1, 2>>>(x);
  plain<<<n, blocks>>>(x, n);
	plain<<<dim3(1), 2, 0>>>(x, "words");
  scale<float><<<1, 2>>>(x, 1.f);
  scale<float, 4><<<1,
     n, bytes>>>(
       x, y);
  plain<<<x, 2>>>(x, n);
  plain<<<1, 2, 0, n>>>(x, n);
  plain<<<1>>>(x, n);
  missing<<<1, 2>>>(x);
  owns<<<1, 2>>>(own); int m = wrong;
}
"""
UNIT = "#include <tvmffi_cubin/mixed/qualifiers.h>\nTVMFFI_CUBIN_MIXED_UNIT(own)\n"


@pytest.fixture(scope="module")
def log(tmp_path_factory) -> str:
    cut = split(Program((MixedSource("cuda_sources_0.cu", SOURCE),)))
    unit = tmp_path_factory.mktemp("log") / "unit.cc"
    unit.write_text(f"{UNIT}{cut.host.text}")
    command = ["g++", "-std=c++17", "-fsyntax-only", *include_flags(), unit]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        cwd=unit.parent,
        env={**os.environ, "LC_ALL": "C"},
    )
    return translate(done.stderr, {file.file: file.edited for file in cut.host.sources})


@pytest.mark.parametrize(
    ("line", "part", "words"),
    [
        (3, "{}", "a kernel returns void, not 'int'"),
        (7, "(x);", "too few arguments to function .void plain.float., int."),
        (8, "blocks", ".blocks. was not declared"),
        (9, '"words"', "invalid conversion from .const char.. to .int."),
        (10, "(x", "no matching function for call to .scale<float>"),
        (12, "bytes", ".bytes. was not declared"),
        (13, "y", ".y. was not declared"),
        (14, "<<<x", "the grid and the block of <<<grid, block>>> are numbers"),
        (15, "<<<1", "no <<<...>>> can be had with .int, int, int, int&.: it takes grid"),
        (16, "<<<1", "no <<<...>>> can be had with .int.: it takes grid"),
        (17, "missing", ".missing. was not declared"),
        (18, "(own)", "use of deleted function"),
        (18, "wrong", ".wrong. was not declared"),
    ],
)  # fmt: skip
def test_a_mistake_is_shown_at_its_own_place(line, part, words, log):
    own = SOURCE.split("\n")[line - 1]
    column = own.index(part) + 1
    head = rf"^cuda_sources_0\.cu:{line}:{column}: error: {words}.*\n"
    match = re.search(head, log, re.MULTILINE)
    assert match is not None, log
    shown = log[match.end() :].split("\n")[:2]
    assert shown[0] == f"{line:>5} | {own}"
    assert shown[1].index("^") == column + len("      | ") - 1


def test_nothing_of_ours_is_in_the_log(log):
    assert "tvmffi_cubin" not in log
    assert "TVMFFI" not in log
    assert "unit.cc" not in log
