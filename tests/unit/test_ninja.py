"""Ninja text: what it says, and what it refuses."""

from pathlib import Path

import pytest

from tvmffi_cubin.host import steps

GOLDEN = Path(__file__).parent / "golden"
BUILDS = {
    "wrapper": [
        steps.compilation(
            "wrapper.cc",
            ("g++", "-std=c++17", "-O2", "-fPIC"),
            ("/opt/tvm ffi/include", "/opt/cuda/include"),
        ),
        steps.assembly("kernels.s", "as"),
        steps.link(
            "vec.so",
            ("wrapper.cc.o", "kernels.s.o", "/opt/lib/libtvm_ffi.so"),
            command=("g++",),
            flags=("-lm",),
        ),
    ],
    "odd": [
        steps.compilation("a b$c.cc", ("g++", '-DTEXT="it\'s $HOME"', "-DX=`id`"), ("/in clude",)),
        steps.assembly("sub/im.S", "/a s"),
        steps.merge("odd $name: é|x.o", ("a b$c.cc.o", "im.S.o"), "ld"),
    ],
}


@pytest.mark.parametrize("name", BUILDS)
def test_text_is_the_golden_file(name):
    assert steps.ninja_text(BUILDS[name]) == (GOLDEN / f"{name}.ninja").read_text()


def test_what_no_build_file_can_say_is_refused():
    with pytest.raises(ValueError, match="a build file cannot express"):
        steps.ninja_text([steps.compilation("a\n.cc", ("g++",))])
