"""Calls into NVRTC: signals amid them, forks amid them, deeply nested sources, missing wheels."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from processes import in_fork, in_new_process

from tvmffi_cubin import build_inline, nvrtc
from tvmffi_cubin.cuda import program
from tvmffi_cubin.cuda.libraries import find_cuda
from tvmffi_cubin.errors import CompileError, CubinError

# The back end works on it for a minute.
SLOW = """
source = 'extern "C" __global__ void k(float* x, int n) {%s}' % "".join(
    f"if (n == {i}) x[{i}] = x[{i * 7 % 1000}] * x[n] + sinf(x[{i}]);" for i in range(12000))
"""
# The front end works on it for many seconds.
LONG = """
doubled = "".join(f"#define D{i + 1} D{i} D{i}\\n" for i in range(19))
source = f'#define D0 static_assert(1, "");\\n{doubled}D19\\n__global__ void k() {{}}'
"""
COMPILE = "nvrtc.compile(source, arch=['sm_80', 'sm_90'], use_pch=False)"
BUILD = "tc.load_inline('slow', source, arch='sm_90')"


@pytest.mark.parametrize(("source", "call"), [(SLOW, BUILD), (LONG, COMPILE)])
def test_ctrl_c_ends_the_first_compilation_of_a_process(source, call, tmp_path):
    code = f"""
import time
import tvmffi_cubin as tc
from tvmffi_cubin import nvrtc
nvrtc.version()
{source}
print("begins", flush=True)
try:
    {call}
except KeyboardInterrupt:
    print("ended", time.monotonic(), flush=True)
"""
    environment = {**os.environ, "TVMFFI_CUBIN_CACHE_DIR": str(tmp_path), "TVMFFI_CUBIN_PCH": "off"}
    child = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=environment
    )
    assert child.stdout.readline() == "begins\n"
    time.sleep(0.8)
    sent = time.monotonic()
    child.send_signal(signal.SIGINT)
    printed = child.stdout.read().split()
    assert printed[:1] == ["ended"]
    assert float(printed[1]) - sent < 1
    assert child.wait(30) == 0


def test_ctrl_c_leaves_what_others_wait_for_and_its_own_call_is_waited_for_again():
    ended, main = threading.Event(), threading.get_ident()
    other = program.Call(ended.wait)
    call = program.Call(ended.wait)
    threading.Timer(0.2, signal.pthread_kill, (main, signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        call.result()
    threading.Timer(0.2, ended.set).start()
    assert call.result()
    assert other.result()
    assert (other.stop[0], call.stop[0]) == (b"\0", b"\1")


def test_an_error_ends_what_is_compiled_beside_it():
    exec(SLOW, scope := {})
    with pytest.raises(CompileError, match='"x" is undefined'):
        build_inline("pair", ["__global__ void k() { x; }", scope["source"]], arch="sm_90")
    under_way = [x for x in threading.enumerate() if isinstance(x, program.Call)]
    assert all(call.ended.wait(20) for call in under_way)


CAUGHT = """
import signal
from tvmffi_cubin import nvrtc

for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, lambda number, frame: print(number))
for body in ("", "x[0] = 1;"):
    nvrtc.compile('extern "C" __global__ void k(int* x) { %s }' % body, arch="sm_90")
    signal.raise_signal(signal.SIGINT)
    signal.raise_signal(signal.SIGTERM)
"""


def test_a_compilation_leaves_the_callers_signals_as_they_were():
    assert in_new_process(CAUGHT).split() == ["2", "15"] * 2


def test_deeply_nested_code_does_not_end_the_process():
    for expression in ("(" * 5000 + "1" + ")" * 5000, "[]{ return " * 200 + "1" + "; }()" * 200):
        with contextlib.suppress(CompileError):
            nvrtc.compile(f"__global__ void k(int* x) {{ *x = {expression}; }}", arch="sm_90")
    source = "__global__ void k(int* x) {" + "{" * 20000 + "*x = 1;" + "}" * 20000 + "}"
    assert nvrtc.compile(source, arch="sm_90").image


def test_a_child_that_was_forked_amid_a_compilation_is_told_so():
    nvrtc.version()
    ended = threading.Event()
    call = program.Call(ended.wait)
    compile_it = lambda: nvrtc.compile("__global__ void k() {}", arch="sm_90").arch  # noqa: E731
    try:
        error = in_fork(compile_it)
    finally:
        ended.set()
        call.result()
    assert type(error) is CubinError
    assert "'spawn'" in str(error)
    assert in_fork(compile_it) == "sm_90"


def test_a_kernel_without_includes_needs_nvrtc_alone(tmp_path):
    cuda = find_cuda()
    wheel = cuda.require("nvrtc").parent.parent
    # Its libraries alone: wheels of CUDA 13 share a folder.
    (tmp_path / "nvidia" / wheel.name).mkdir(parents=True)
    (tmp_path / "nvidia" / wheel.name / "lib").symlink_to(wheel / "lib")
    code = """
import os, sys
from tvmffi_cubin import CompileError, nvrtc
from tvmffi_cubin.cuda import libraries
libraries.TOOLKIT = "/nowhere"
sys.path[:] = [p for p in sys.path if not os.path.isdir(os.path.join(p, "nvidia"))] + sys.argv[1:]
print(nvrtc.compile("__global__ void k(int* x) {}", arch="sm_90").kernels[0].name)
try:
    nvrtc.compile("#include <cuda_fp16.h>", arch="sm_90")
except CompileError as error:
    print(error)
"""
    printed = in_new_process(code, tmp_path)
    assert printed.startswith("_Z1kPi\n")
    assert "run: pip install nvidia-cuda-runtime" in printed
