"""Sources for the tests of headers that NVRTC precompiles, and what became of them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tvmffi_cubin import nvrtc
from tvmffi_cubin.device import nvrtc_pch_store

# The least of what is heavy: half a second without precompiled headers.
INCLUDE = "#include <cuda/std/array>\n"
KERNEL = """\
extern "C" __global__ void k(int* y) {
  y[0] = VALUE;
  asm volatile("// VALUE = %0" ::"n"(VALUE));
}
"""


def source(value: object, *, include: str = INCLUDE, kernel: str = KERNEL) -> str:
    return f"{include}#define VALUE {value}\n{kernel}"


def ptx(text: str, **options) -> str:
    options = {"arch": "sm_90", "target_type": "ptx"} | options
    return nvrtc.compile(text, **options).image.decode()


def stored(text: str, **options) -> int:
    """Return the number that a source's VALUE is."""
    (found,) = re.findall(r"// VALUE = (\d+)", ptx(text, **options))
    return int(found)


def said(caplog) -> list[str]:
    """Return "made" or "used" for each compilation since the last look."""
    words = [r.args[0] for r in caplog.records if "precompiled header for" in r.msg]
    caplog.clear()
    return words


def folders() -> list[Path]:
    (store,) = nvrtc_pch_store._stores.values()
    return sorted(Path(kept.folder) for kept in store._kept.values())


def in_new_process(code: str, *, wait: bool = True) -> subprocess.Popen:
    process = subprocess.Popen(
        [sys.executable, "-c", f"{PROCESS}\n{code}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    if wait:
        process.wait()
    return process


PROCESS = f"""
import ctypes, logging, sys
from tvmffi_cubin import nvrtc
from tvmffi_cubin.cuda.libraries import find_cuda
from tvmffi_cubin.cuda import program
logging.basicConfig(level="DEBUG", stream=sys.stdout, format="%(message)s")
def compile_it(value):
    nvrtc.compile({INCLUDE!r} + "#define VALUE %d\\n" % value + {KERNEL!r}, arch="sm_90")
"""
