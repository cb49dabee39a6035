"""Ninja text: what it says, and what it refuses."""

from pathlib import Path

import pytest

from tvmffi_cubin.host import ninja
from tvmffi_cubin.host.plan import Assembly, BuildPlan, Cxx, DeviceLink, Link

GOLDEN = Path(__file__).parent / "golden"


def wrapper_plan() -> BuildPlan:
    return BuildPlan(
        "vec",
        (
            Cxx(
                "wrapper.cc",
                ("g++",),
                ("-std=c++17", "-O2", "-fPIC"),
                ("/opt/tvm ffi/include", "/opt/cuda/include"),
            ),
            Assembly("kernels.s", ("as",)),
        ),
        link=Link(("g++",), libraries=("/opt/lib/libtvm_ffi.so",), flags=("-lm",)),
    )


def odd_plan() -> BuildPlan:
    return BuildPlan(
        "odd $name: é|x",
        (
            Cxx("a b$c.cc", ("g++",), ('-DTEXT="it\'s $HOME"', "-DX=`id`"), ("/in clude",)),
            Assembly("sub/im.S", ("g++", "-c"), ("-Wa,--noexecstack",)),
        ),
        link=Link(("g++",), local_symbols=()),
    )


@pytest.mark.parametrize("name", ["wrapper", "odd"])
def test_text_is_the_golden_file(name):
    plan = {"wrapper": wrapper_plan, "odd": odd_plan}[name]()
    assert ninja.text(plan) == (GOLDEN / f"{name}.ninja").read_text()


def test_device_code_is_linked_to_an_object_that_the_link_takes():
    link = DeviceLink("device_link", ("nvcc",), ("-O2",), ("a.cu.o", "/opt/lib b.a"))
    plan = BuildPlan("vec", (Cxx("a.cu", ("nvcc",)), link), link=Link(("g++",)))
    text = ninja.text(plan)
    assert "build device_link.o: make a.cu.o /opt/lib$ b.a\n" in text
    assert "nvcc -O2 -dlink -o device_link.o a.cu.o '/opt/lib b.a'\n" in text
    assert "build vec.so: make a.cu.o device_link.o exports.map\n" in text
