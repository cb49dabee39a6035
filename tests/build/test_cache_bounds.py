"""Modules in a cache that is too small, damaged, cleared, or of hosts without common locks."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from types import SimpleNamespace

import pytest
from cache_crowd import crowd, fork, is_right, load
from stub.cuda_array import cuda_array

import tvmffi_cubin as tc
from tvmffi_cubin.__main__ import main


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(folder))
    return folder


def source(number: int) -> str:
    return f'extern "C" __global__ void k{number}(int* x) {{ *x = {number}; }}'


def answer(number: int) -> tuple[str, str]:
    """Load a module; return what it has, and what the file has that it was loaded from."""
    mod = tc.load_inline(f"m{number}", source(number), arch="sm_90", use_pch=False)
    (kernel,) = mod.cubins["kernels"].kernels
    return mod.functions[0], kernel.name


def right(number: int) -> tuple[str, str]:
    return f"k{number}", f"k{number}"


def entries(folder: Path) -> set[str]:
    return {path.name for path in folder.glob("entries/*/*")}


def test_many_that_use_a_cache_that_is_too_small_get_right_results(cache, monkeypatch):
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_SIZE", "200kB")
    orders = [[0, 1, 2], [2, 1, 0], [1, 0, 2], [2, 0, 1]]
    said = crowd(lambda worker: [answer(number) for number in orders[worker]], len(orders))
    assert said == [[right(number) for number in order] for order in orders]


def test_a_module_works_on_when_the_cache_is_cleared(cache, capsys, driver_stub):
    options = {"arch": "sm_90", "functions": {"k8": tc.Launch(grid=1, block=1)}}
    mod = tc.load_inline("m8", source(8), **options)
    assert main(["cache", "clear"]) == 0
    assert entries(cache) == set()
    mod.k8(cuda_array(driver_stub, 3, "int32"))
    assert len(driver_stub.launches()) == 1
    assert tc.load_inline("m8", source(8), **options).functions == ("k8",)


def test_many_processes_that_meet_a_damaged_artifact_all_get_a_whole_one(fresh_driver_stub):
    """flashinfer#4062: ranks that start together load an image that another has half written."""
    # In another process, which alone has mapped what it loads.
    so = Path(fork(lambda: load(3).path).result())
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
