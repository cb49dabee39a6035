"""What users of other tools' caches suffer from, one test each, by the threads' numbers."""

from __future__ import annotations

import fcntl
import os
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
from cache_crowd import crowd, fork, is_right, load
from processes import in_new_process

import tvmffi_cubin as tc
from tvmffi_cubin.cache import memo

KERNEL = 'extern "C" __global__ void k(float* x) { x[0] = 1; }'


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of the test's own."""
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def built(number: int) -> Path:
    """Build in another process, which alone has mapped what it loads."""
    return Path(str(fork(lambda: load(number).path).result()))


# Corrupt and missing artifacts


def test_many_processes_that_meet_a_damaged_artifact_all_get_a_whole_one(fresh_driver_stub):
    """flashinfer#4062: ranks that start together load an image that another has half written."""
    so = built(3)
    os.truncate(so, so.stat().st_size // 2)
    right = crowd(lambda _: is_right(load(3), 3, fresh_driver_stub), 16)
    assert right == [True] * 16


def test_hosts_that_do_not_see_each_others_locks_disturb_nobody(
    monkeypatch, cache, fresh_driver_stub
):
    """tvm-ffi#667: locks are each node's own, and links into one place fail with ESTALE."""
    monkeypatch.setattr(fcntl, "flock", lambda descriptor, operation: None)

    machine = os.uname().machine

    def host(number: int) -> bool:
        os.uname = lambda: SimpleNamespace(nodename=f"host{number}", machine=machine)
        return is_right(load(3), 3, fresh_driver_stub)

    right = crowd(host, 8)
    assert right == [True] * 8
    assert len(list(cache.glob("entries/*/*/crowd3.so"))) == 1


# Template kernels


TEMPLATE = "template <class T, class U> __global__ void fill(T* x, U v) { x[0] = v; }"


@pytest.mark.parametrize("expression", ["fill<float,float>", "fill< float , int>"])
def test_a_template_kernel_is_found_by_a_process_that_has_no_compiler(expression):
    """cupy#9667, #10173: kernels with name expressions are compiled in each process."""
    code = """
import os, sys, subprocess
import tvm_ffi
os.environ["PATH"] = "/nowhere"
def refuse(*args, **kwargs):
    raise AssertionError(f"a process is spawned: {args}")
subprocess.Popen = os.system = os.posix_spawn = os.fork = refuse
import tvmffi_cubin as tc
launch = tc.Launch(kernel=sys.argv[2], grid=1, block=1)
print(tc.load_inline("template", sys.argv[1], functions={"fill": launch}, arch="sm_90").path)
assert "tvmffi_cubin.cuda.nvrtc" not in sys.modules
"""
    memo._answers.clear()  # what this process knows of tools, the other has from the cache folder
    launch = tc.Launch(kernel=expression, grid=1, block=1)
    path = tc.build_inline("template", TEMPLATE, functions={"fill": launch}, arch="sm_90")
    assert in_new_process(code, TEMPLATE, expression) == path


# Shared objects


def test_a_symbol_that_is_missing_is_an_error_and_not_the_end_of_the_process(tmp_path):
    """Bound lazily, the first call of one ends the process."""
    (tmp_path / "part.c").write_text("int part(void) { return 1; }")
    # Of a name that no other test loads: the loader takes one that it has already for it.
    library = tmp_path / "libsoon_missing.so"
    command = ["cc", "-shared", "-fPIC", "-o", str(library), str(tmp_path / "part.c")]
    subprocess.run(command, check=True)
    source = 'extern "C" int part();\nint answer() { return part(); }'
    flags = [f"-L{tmp_path}", "-lsoon_missing", f"-Wl,-rpath,{tmp_path}"]
    path = tc.build_inline("missing", cpp_sources=source, functions="answer", extra_ldflags=flags)
    (tmp_path / "part.c").write_text("int other(void) { return 1; }")
    subprocess.run(command, check=True)
    with pytest.raises(tc.BuildError, match="undefined symbol: part"):
        tc.load_module(path)
