"""Real builds: ninja, the host compiler, the assembler and the linker on tiny units."""

import ctypes
import os
import re
import shutil
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tvmffi_cubin.errors import BuildError
from tvmffi_cubin.host import build
from tvmffi_cubin.host.steps import assembly, bare_link, compilation, link

GXX = shutil.which("c++") or shutil.which("g++")
LD = shutil.which("ld")

FLAGS = ("-O0", "-fPIC", "-fvisibility=hidden")
EXPORT = 'extern "C" __attribute__((visibility("default"))) '

pytestmark = pytest.mark.skipif(GXX is None or LD is None, reason="needs a C++ compiler and ld")


def steps(*units, is_bare=None):
    units = units or (compilation("a.cc", (GXX, *FLAGS)),)
    made = [unit.made for unit in units]
    if is_bare is None:
        return [*units, bare_link("vec.so", made, LD)]
    return [*units, link("vec.so", made, command=(GXX,), flags=(), is_bare=is_bare)]


def answer(so, function="answer"):
    return getattr(ctypes.CDLL(os.fspath(so)), function)()


def dynamic(so):
    return subprocess.run(
        ["readelf", "-dW", os.fspath(so)], check=True, capture_output=True, text=True
    ).stdout


def symbols(so):
    text = subprocess.run(
        ["nm", "-D", "--defined-only", os.fspath(so)], check=True, capture_output=True, text=True
    ).stdout
    return {line.split()[-1] for line in text.splitlines()}


IMAGE_UNIT = """
.section .rodata
.global image
.hidden image
.balign 16
image: .incbin "{image}"
.section .note.GNU-stack,"",@progbits
"""


# What comes out


@pytest.mark.parametrize("is_bare", [False, True, None])
def test_code_and_an_image_become_one_shared_object(tmp_path, is_bare):
    units = (compilation("a.cc", (GXX, *FLAGS)), assembly("image.s", "as"))
    files = {
        "a.cc": f'extern "C" char image[]; {EXPORT}int answer() {{ return image[1]; }}',
        "image.s": IMAGE_UNIT.format(image="image.bin"),
        "image.bin": b"\x01\x2a",
    }
    so = build.run(steps(*units, is_bare=is_bare), tmp_path, files)
    assert so == tmp_path / "vec.so"
    assert answer(so) == 42
    assert "NOW" in dynamic(so)
    assert symbols(so) == {"answer"}


def test_what_is_no_compiler_is_told(tmp_path):
    unit = compilation("a.cc", ("/bin/true",))
    with pytest.raises(BuildError, match=r"none made a\.cc\.o: set CXX to a compiler"):
        build.run([unit], tmp_path, {"a.cc": ""})


def test_driver_symbols_and_images_stay_inside(tmp_path):
    code = "".join(
        f"{EXPORT}int {name}() {{ return 1; }}\n"
        for name in (
            "cuLaunchKernel",
            "cudaMalloc",
            "__tvm_ffi__cubin_k",
            "__tvmffi_cubin_k",
            "__tvm_ffi_saxpy",
            "custom",
        )
    )
    so = build.run(steps(is_bare=False), tmp_path, {"a.cc": code})
    assert symbols(so) == {"__tvm_ffi_saxpy", "custom"}


# Names and flags


ECHO = "import os, sys; open(sys.argv[1], 'wb').write(os.fsencode('\\n'.join(sys.argv[2:])))"

words = st.text(
    st.characters(exclude_characters="\n\r\0", exclude_categories=["Cs"]), min_size=1, max_size=12
)


@settings(
    max_examples=10,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.lists(words, min_size=1, max_size=30))
def test_any_flag_reaches_the_command_unchanged(tmp_path, flags):
    seen = tmp_path / "seen"
    command = (sys.executable, "-S", "-E", "-c", ECHO, str(seen))
    unit = compilation("a.cc", (*command, *flags))
    # The stand-in for a compiler makes no object.
    with pytest.raises(BuildError):
        build.run([unit], tmp_path, {"a.cc": os.urandom(8)})
    wanted = [*flags, "-c", "-MD", "-MF", "a.cc.d", "-o", "a.cc.o", "a.cc"]
    assert seen.read_text().split("\n") == wanted


# What goes wrong


def test_a_symbol_that_nothing_defines_is_named(tmp_path):
    code = f'extern "C" int missing_one(); {EXPORT}int answer() {{ return missing_one(); }}'
    with pytest.raises(BuildError, match=r"undefined reference to .missing_one"):
        build.run(steps(is_bare=False), tmp_path, {"a.cc": code})


def test_an_assembler_that_complains_of_every_line_is_heard_and_shortened(tmp_path):
    unit = assembly("a.s", "as")._replace(command=("sh", "-c", "cat; exit 1"))
    text = "complaint\n" * 100_000
    with pytest.raises(BuildError) as caught, build.Assembling([unit], tmp_path) as assembling:
        assembling.assemble({"a.s": text})
    assert caught.value.output == text
    assert "characters left out" in str(caught.value)
    assert len(str(caught.value)) < 20_000


# Surroundings


def test_a_failed_build_says_why_and_is_repeated_by_hand_as_its_error_says(tmp_path):
    with pytest.raises(BuildError) as caught:
        build.run(steps(is_bare=False), tmp_path, {"a.cc": "int f() { return unknown_thing; }"})
    error = caught.value
    assert "unknown_thing" in error.output
    assert "a.cc:1" in str(error)
    assert error.command.split()[0] == GXX
    assert re.search(f"(?s)unknown_thing.*{re.escape(error.command)}", str(error))
    assert error.directory == str(tmp_path)
    command = str(error).splitlines()[-1].removeprefix("again, by hand: ")
    again = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert again.returncode != 0
    assert "unknown_thing" in again.stdout
