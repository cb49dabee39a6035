"""Modules of mixed sources as objects: what they show, copies elsewhere, forks, threads."""

from __future__ import annotations

import copy
import pickle
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from processes import in_fork, in_new_process
from stub.driver_stub import DriverStub

import tvmffi_cubin as tc

SOURCE = """
__device__ int total;
template <typename T> __global__ void fill(T* x, T value) { *x = value; total += 1; }
extern "C" __global__ void mark(int n) { total = n; }

void run(int block, int n) {
  mark<<<1, block>>>(n);
  fill<float><<<1, 1>>>(nullptr, static_cast<float>(n));
}
int asked(int block) {
  mark<<<1, block>>>(0);
  return cudaGetLastError();
}
int copied(int n) { return cudaMemcpyToSymbol(total, &n, sizeof(n)); }
"""
FUNCTIONS = {
    "run": "Marks and fills.",
    "asked": "",
    "copied": None,
    "mark": tc.Launch(grid=1, block=1),
}
INVALID_CONFIGURATION = 9


def load() -> tc.Module:
    return tc.load_inline("mixed_module", SOURCE, functions=FUNCTIONS, arch="sm_90")


@pytest.fixture(scope="module")
def path(_own_environment: None) -> Path:
    return Path(load().path)


@pytest.fixture
def mod(path: Path, tmp_path: Path) -> tc.Module:
    return tc.load_module(shutil.copy(path, tmp_path))


def test_a_module_shows_and_completes_its_functions_of_both_sides(mod: tc.Module) -> None:
    assert repr(mod).endswith("/mixed_module.so>\n  mark(int n)\n  asked\n  copied\n  run")
    assert {"mark", "asked", "copied", "run"} <= {*dir(mod)}
    assert (mod.functions, mod.run.__doc__) == (("mark",), "Marks and fills.")
    with pytest.raises(AttributeError, match="'walk'; available: mark, asked, copied, run .a"):
        mod.walk  # noqa: B018


def test_a_description_of_one_has_its_kernels_and_is_the_file_s_as_well(mod: tc.Module) -> None:
    found = tc.describe(mod)
    assert found == tc.describe(mod.path)
    assert [*found["functions"]] == ["mark"]
    assert found["images"]["kernels"]["signatures"] == {
        "_Z4fillIfEvPT_S0_": "float* x, float value",
        "mark": "int n",
    }
    again = tc.load_description(found, embed_cubin=mod.cubins, arch="sm_90")
    assert again.functions == ("mark",)


ALONE = """
import sys
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("tvmffi_cubin", "nvidia", "ninja"):
            raise ImportError(f"blocked: {name}")
sys.meta_path.insert(0, Blocker())
import tvm_ffi
mod = tvm_ffi.load_module(sys.argv[1])
mod.run(32, 3)
mod.mark(4)
try:
    mod.run(2000, 3)
except Exception as error:
    print(type(error).__name__, error)
print(mod.asked(2000), mod.asked(1), mod.copied(5))
"""


def test_a_copy_elsewhere_needs_tvm_ffi_alone(
    path: Path, tmp_path: Path, driver_stub: DriverStub
) -> None:
    told, numbers = in_new_process(ALONE, shutil.copy(path, tmp_path / "moved.so")).split("\n")
    assert "mixed_module.cu:7: launch of mark: invalid configuration argument" in told
    assert numbers == f"{INVALID_CONFIGURATION} 0 0"


def test_a_module_and_its_functions_are_pickled_by_the_path(mod: tc.Module) -> None:
    again, run = pickle.loads(pickle.dumps((mod, mod.run)))
    assert (again.path, run.name) == (mod.path, "run")
    assert "'grid': (2, 1, 1), 'block': (32, 1, 1)" in repr(
        pickle.loads(pickle.dumps(mod.mark[2, 32]))
    )
    assert copy.copy(mod).path == mod.path
    gone = pickle.dumps(mod).replace(b"mixed_module", b"absent_modul")
    with pytest.raises(FileNotFoundError, match=r"absent_modul\.so"):
        pickle.loads(gone)


def test_a_forked_child_is_told_to_spawn(mod: tc.Module, driver_stub: DriverStub) -> None:
    mod.run(1, 1)
    error = in_fork(lambda: mod.run(1, 2))
    assert type(error) is tc.LaunchError
    assert str(error).startswith("mixed_module.cu:7: launch of mark: ")
    assert "'spawn'" in str(error)
    assert in_fork(lambda: mod.asked(1)) != 0
    assert type(pickle.loads(pickle.dumps(error))) is tc.LaunchError
    mod.run(1, 3)


def test_of_many_threads_each_has_its_own_refusals(mod: tc.Module, driver_stub: DriverStub) -> None:
    rounds, threads = 40, 8
    barrier = threading.Barrier(threads)

    def work(index: int) -> int:
        refused = 0
        barrier.wait()
        for n in range(rounds):
            if index % 2:
                mod.run(1, n)
                assert mod.asked(1) == 0
                continue
            with pytest.raises(tc.LaunchLimitError, match=rf"block \({2000 + index}, "):
                mod.run(2000 + index, n)
            assert mod.asked(3000) == INVALID_CONFIGURATION
            refused += 1
        return refused

    with ThreadPoolExecutor(threads) as pool:
        assert sum(pool.map(work, range(threads))) == rounds * threads // 2
    names = [launch.kernel for launch in driver_stub.launches()]
    # A refused launch ends no function: the one after it is made.
    assert names.count("_Z4fillIfEvPT_S0_") == rounds * threads
    assert names.count("mark") == rounds * threads
    assert len(driver_stub.calls("cuLibraryLoadData")) == 1
