"""The two texts of mixed sources are what the two compilers take."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from wrapper_workshop import include_flags, run

from tvmffi_cubin import nvrtc
from tvmffi_cubin.cuda.libraries import find_cuda
from tvmffi_cubin.mixed_program import MixedSource, Program
from tvmffi_cubin.split import Split, split

SOURCES = Path(__file__).parent.parent / "unit" / "mixed"
# NVIDIA's headers of tensor cores are in a wheel that is not installed here.
NAMES = sorted({path.stem for path in SOURCES.glob("*.cu")} - {"tensor_cores"})
FLAGS = ("-std=c++17", "-fPIC", "-O0", "-Werror", "-x", "c++")
PREFIX = """\
#include <tvmffi_cubin/mixed/mixed.h>
#include <functional>
#include <map>
#include <string>
#include <vector>
"""


def cut(name: str) -> Split:
    folders = (nvrtc.shim_dir(), *find_cuda().include_dirs)
    text = (SOURCES / f"{name}.cu").read_text(encoding="utf-8")
    program = Program((MixedSource(f"{name}.cu", text),), device_dirs=tuple(map(str, folders)))
    return split(program)


@pytest.fixture(scope="module")
def compile_host(tmp_path_factory) -> Callable[[str], None]:
    """Compile host texts; what most of the time goes to is precompiled."""
    folder = tmp_path_factory.mktemp("mixed")
    header = folder / "prefix.h"
    header.write_text(PREFIX)
    run("g++", *FLAGS[:-2], *include_flags(), "-x", "c++-header", header)

    def compile_it(text: str) -> None:
        unit = folder / "unit.cc"
        own = "#include <tvmffi_cubin/mixed/qualifiers.h>\nTVMFFI_CUBIN_MIXED_UNIT(own)\n"
        unit.write_text(f'#include "prefix.h"\n{own}{text}')
        run("g++", *FLAGS, *include_flags(), "-fsyntax-only", unit)

    return compile_it


@pytest.mark.parametrize("name", NAMES)
def test_both_compilers_take_their_text_at_once(name, compile_host):
    done = cut(name)
    tail = "".join(f"TVMFFI_CUBIN_DEVICE_VARIABLE({variable})\n" for variable in done.variables)
    compile_host(done.host.text + tail)
    cubin = nvrtc.compile(done.device.text, name=f"{name}.cu", arch="sm_90")
    assert cubin.kernels or all(kernel.is_template for kernel in done.kernels)
