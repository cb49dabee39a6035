"""What users of other tools' caches suffer from, one test each, by the threads' numbers."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import subprocess
from collections.abc import Callable
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


def in_time(work: Callable[[], object]) -> object:
    """Run in a forked child that is killed where it hangs."""

    def alarmed() -> object:
        signal.alarm(300)
        return work()

    return fork(alarmed).result()


def built(number: int) -> Path:
    """Build in another process, which alone has mapped what it loads."""
    return Path(str(in_time(lambda: load(number).path)))


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


# Locks


def test_a_lock_that_a_killed_builder_left_is_nobodys(cache):
    """pytorch#170679, tvm-ffi#641: the lock is a file that is there, and waited for without end."""
    (lock,) = locks_of_a_killed_builder(cache)
    assert lock.exists()
    assert in_time(lambda: load(3).path.endswith("crowd3.so"))


def locks_of_a_killed_builder(cache: Path) -> list[Path]:
    load(1)

    def build_and_die() -> None:
        subprocess.Popen = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
        load(3)

    with pytest.raises(AssertionError, match="wait status 9"):
        fork(build_and_die).result()
    return list((cache / "locks").iterdir())


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ESTALE])
def test_an_error_of_a_lock_that_is_no_contention_is_not_waited_for(number, monkeypatch):
    """tvm-ffi 0.1.15 takes every OSError for another process that holds the lock."""

    def refuse(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", refuse)
    assert in_time(lambda: load(3).path.endswith("crowd3.so"))


# Stale binaries


@pytest.mark.parametrize(
    ("kind", "seconds"), [("cuda_sources", 0), ("cuda_sources", -86_400), ("cpp_sources", 0)]
)
def test_a_header_that_changes_with_its_time_kept_is_seen(kind, seconds, tmp_path):
    """flashinfer#4489: a package installed again has older times and other headers."""
    header = tmp_path / "answer.h"
    source = '#include "answer.h"\n'
    source += KERNEL if kind == "cuda_sources" else "int answer() { return ANSWER; }"
    options = {kind: source, "extra_include_paths": [tmp_path], "arch": "sm_90"}
    options["functions"] = ["k" if kind == "cuda_sources" else "answer"]
    paths = []
    for value in (1, 2, 1):
        header.write_text(f"#define ANSWER {value}\n")
        os.utime(header, (1_700_000_000 + seconds * len(paths),) * 2)
        paths.append(tc.build_inline("stale", **options))
        if kind == "cpp_sources":
            assert fork(lambda: tc.load_inline("stale", **options).answer()).result() == value
    assert paths[0] != paths[1]
    assert paths[0] == paths[2]


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


# Folders


def test_a_home_folder_that_is_not_there_is_no_obstacle(tmp_path, monkeypatch, caplog):
    """vllm#10185: in containers the home folder is "/", or none, and may not be written."""
    (tmp_path / "file").write_text("")
    monkeypatch.delenv("TVMFFI_CUBIN_CACHE_DIR")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "file" / "home"))
    assert in_time(lambda: load(3).path.endswith("crowd3.so"))


# Shared objects


def test_another_shared_object_in_an_ones_place_is_not_loaded(fresh_driver_stub):
    """dlopen of a path that was loaded before gives the old code, of another file new."""
    three, four = built(3), built(4)
    os.unlink(three)
    os.link(four, three)
    assert fork(lambda: is_right(load(3), 3, fresh_driver_stub)).result()
    assert fork(lambda: is_right(load(4), 4, fresh_driver_stub)).result()


@pytest.mark.parametrize("part", [0.1, 0.75])
def test_a_truncated_shared_object_ends_no_process(part, fresh_driver_stub):
    """To load one that is cut off ends the process with SIGBUS."""
    so = built(3)
    os.truncate(so, int(so.stat().st_size * part))
    assert fork(lambda: is_right(load(3), 3, fresh_driver_stub)).result()


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
