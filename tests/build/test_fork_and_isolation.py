"""Processes and shared objects side by side: forks, spawns, RTLD_GLOBAL, what an import does."""

import multiprocessing
import os
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest
from processes import in_fork, in_new_process, run
from stub.cuda_array import cuda_array

import tvmffi_cubin as tc

SOURCE = 'extern "C" __global__ void k(float* x, int n) { x[0] = n; }'
FUNCTIONS = {"k": tc.Launch(grid=1, block=1)}


def test_a_child_of_a_process_that_has_launched_is_told_to_spawn(driver_stub, x):
    mod = tc.load_inline("forked", SOURCE, functions=FUNCTIONS, arch="sm_90")
    mod.k(x, 1)
    for work in (lambda: mod.k(x, 2), lambda: mod.k[2, 2](x, 2), lambda: mod.k(None, 3)):
        error = in_fork(work)
        assert type(error) is tc.LaunchError
        assert "'spawn'" in str(error)
        assert "CUDA_ERROR_NOT_INITIALIZED" in str(error)
    mod.k(x, 4)
    assert [launch.values("Pi")[1] for launch in driver_stub.launches()] == [1, 4]
    source = SOURCE + "// in the child"
    path = in_fork(lambda: tc.build_inline("built_by_child", source, arch="sm_90"))
    assert path == tc.build_inline("built_by_child", source, arch="sm_90")


IMPORTED_BY_TWO = """
import importlib, threading
import tvmffi_cubin as tc

room = "tvmffi_cubin.cuda.nvrtc"
thread = threading.Thread(target=importlib.import_module, args=(room,), daemon=True)
with tc.importing:  # as whoever uses a public name, who may wait for the same room
    thread.start()
    thread.join(20)
print(thread.is_alive())
"""


def test_an_import_of_a_room_does_not_wait_for_that_of_a_public_name():
    assert in_new_process(IMPORTED_BY_TWO) == "False"


ENDED = """
import sys
import tvmffi_cubin as tc
# NVRTC works in another thread, and reads headers for longer than it takes to find the mistake.
source = '#include <cuda/std/tuple>\\nextern "C" __global__ void k(int* x) { x[0] = 1; }'
tc.build_inline("ended", source, embed_cubin={"other": b"no image"}, arch="sm_90")
"""


def test_a_process_that_ends_by_an_error_while_nvrtc_works_does_not_crash():
    done = subprocess.run([sys.executable, "-c", ENDED], capture_output=True, check=False)
    assert b"ImageError: embed_cubin['other']: not an image" in done.stderr
    assert done.returncode == 1


FORKED_IN_AN_IMPORT = """
import importlib, os, signal, sys, threading
import tvmffi_cubin as tc

name, image = sys.argv[1:]
begun, forks, forked = threading.Event(), threading.Event(), threading.Event()

class Slow:
    def find_spec(self, module, path, target=None):
        if module == f"tvmffi_cubin.{name}" and not begun.is_set():
            begun.set()
            forks.wait()
            forked.wait(0.3)  # in vain where a fork waits for this import

def call(x):
    tc.load_inline(name, embed_cubin=image, functions={"k": tc.Launch(grid=x, block=1)})

sys.meta_path.insert(0, Slow())
os.register_at_fork(before=forks.set, after_in_parent=forked.set)
thread = threading.Thread(target=call, args=(1,))
thread.start()
begun.wait(20)
if os.fork() == 0:
    signal.alarm(60)  # ends a child that hangs
    call(2)
    os._exit(0)
thread.join()
print(os.wait()[1])
"""


@pytest.mark.parametrize("name", ["host.process", "inline.build", "module"])
def test_a_child_forked_while_another_thread_imports_does_not_wait_for_that(
    name, tmp_path, monkeypatch
):
    image = tmp_path / "kernels.cubin"
    image.write_bytes(tc.nvrtc.compile(SOURCE, arch="sm_90").image)
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(tmp_path))  # where no tool is known
    assert in_new_process(FORKED_IN_AN_IMPORT, name, str(image)) == "0"


def launch_in_spawned(path: str, driver: str) -> list[object]:
    from stub.driver_stub import DriverStub

    stub = DriverStub(Path(driver))
    tc.load_module(path).k(cuda_array(stub, 4), 5)
    return [launch.values("Pi")[1] for launch in stub.launches()]


def test_a_spawned_child_launches(driver_stub):
    path = tc.build_inline("forked", SOURCE, functions=FUNCTIONS, arch="sm_90")
    tc.load_module(path).k(cuda_array(driver_stub, 4), 1)
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        assert pool.submit(launch_in_spawned, path, str(driver_stub.path)).result() == [5]


def test_a_launcher_exports_its_functions_alone_and_needs_no_cuda_library():
    path = tc.build_inline("twin", SOURCE, functions=FUNCTIONS, arch="sm_90")
    symbols = {line.split()[-1] for line in run("nm", "-D", "--defined-only", path).splitlines()}
    ours = {name for name in symbols if name.startswith("__tvm_ffi__tvmffi_cubin_")}
    assert symbols - ours == {"__tvm_ffi_k", "__tvm_ffi__doc_k"}
    dynamic = run("readelf", "-dW", path)
    assert "libcuda" not in dynamic
    assert "RUNPATH" not in dynamic
    assert "NOW" in dynamic
    assert not any("cu" in line for line in run("nm", "-D", "--undefined-only", path).split())


def test_importing_imports_nothing_heavy_and_touches_no_file(tmp_path):
    code = """
import ctypes, os, sys
before = set(sys.modules)  # with what .pth files have imported
import tvmffi_cubin.errors  # Python's own importing reads files: have it done
def refuse(event, args):
    if event in ("os.mkdir", "subprocess.Popen", "os.posix_spawn", "os.fork", "os.system",
                 "ctypes.dlopen", "socket.connect"):
        raise AssertionError(f"{event} {args}")
    if event == "open" and not str(args[0]).endswith((".py", ".pyc")):
        raise AssertionError(f"{event} {args}")
sys.addaudithook(refuse)
for name in [n for n in sys.modules if n.partition(".")[0] == "tvmffi_cubin"]:
    del sys.modules[name]
import tvmffi_cubin
dir(tvmffi_cubin), tvmffi_cubin.Launch(grid=1, block=1)
heavy = {"tvm_ffi", "torch", "numpy", "cuda", "triton", "cupy", "ninja",
         "filelock", "platformdirs", "elftools", "setuptools", "IPython"}
new = set(sys.modules) - before
print(sorted(heavy & {name.partition(".")[0] for name in new}))
"""
    environment = {**os.environ, "HOME": str(tmp_path), "TVMFFI_CUBIN_CACHE_DIR": str(tmp_path)}
    environment |= {"TVMFFI_CUBIN_DRIVER": "/no/driver", "PATH": ""}
    assert in_new_process(code, env=environment) == "[]"
    assert not os.listdir(tmp_path)
