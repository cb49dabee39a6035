"""The benchmarks that need no GPU, in their smallest setting: structure and skips, never times."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from stub.cuda_array import cuda_array

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "benchmarks"))

import carried  # noqa: E402
import cold  # noqa: E402
import cold_peers  # noqa: E402
import launch  # noqa: E402
import launch_peers  # noqa: E402
import tools  # noqa: E402
import triton_launch  # noqa: E402
from section import Settings, Task  # noqa: E402


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict:
    """What --quick writes where there is no GPU, as its JSON says it."""
    path = tmp_path_factory.mktemp("benchmarks") / "report.json"
    done = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / "run.py"), "--quick", "--json", str(path)],
        # On a machine with a GPU the peers would use it; nothing here is about one. Headers that
        # are precompiled for builds to come are waited for; the section about them makes some.
        env={**os.environ, "CUDA_VISIBLE_DEVICES": "", "TVMFFI_CUBIN_PCH": "off"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "== Source to first result" in done.stdout
    return json.loads(path.read_text(encoding="utf-8"))


def rows(report: dict, section: str, peer: str) -> dict[tuple[str, str], dict]:
    found = [r for r in report["rows"] if (r["section"], r["peer"]) == (section, peer)]
    return {(r["table"], r["case"]): r for r in found}


def test_every_row_has_one_sample_or_a_reason(report: dict):
    assert report["schema"] == 1
    assert report["machine"]["gpu"] == []
    for row in report["rows"]:
        assert bool(row["reason"]) == (len(row["samples"]) == 0), row
        assert all(sample > 0 for sample in row["samples"])
        assert row["what"]


def test_what_needs_no_gpu_is_measured_without_one(report: dict):
    of_gpus = {"launch", "carried", "triton_launch"}
    ours = [r for r in report["rows"] if r["peer"].startswith("tvmffi_cubin")]
    measured = [r for r in ours if r["section"] not in of_gpus]
    assert {r["section"] for r in measured} >= {"cold", "embedding", "modules", "headers"}
    assert not [r["reason"] for r in measured if r["reason"]]


def test_nothing_is_launched_without_a_gpu(report: dict):
    sections = {"launch": launch, "carried": carried, "triton_launch": triton_launch}
    reasons = [r["reason"] for r in report["rows"] if r["section"] in sections]
    assert len(reasons) == sum(len(section.PEERS) for section in sections.values())
    assert set(reasons) == {"no GPU: nothing can be launched"}


def test_a_peer_that_is_not_installed_is_left_out_with_that_reason(report: dict):
    for row in rows(report, "cold", "CuPy RawKernel").values():
        if importlib.util.find_spec("cupy") is None:
            assert row["reason"] == "cupy is not installed"
            assert not row["failed"]


def test_more_kernels_make_a_larger_module(report: dict):
    found = rows(report, "modules", "tvmffi_cubin, no wrapper")
    one, ten = (found["size of the .so", case]["median"] for case in ("1 kernel", "10 kernels"))
    assert one < ten


@pytest.mark.parametrize("peer", ["tvmffi_cubin", "tvmffi_cubin_wrapper"])
def test_from_source_to_result_has_the_result_twice(peer: str, driver_stub, monkeypatch):
    x, y = cuda_array(driver_stub, cold_peers.N), cuda_array(driver_stub, cold_peers.N)
    x.numpy[:], y.numpy[:] = 1, 0

    def axpy(made) -> None:
        assert made.values("PPi") == (x.data_ptr, y.data_ptr, cold_peers.N)
        assert (made.grid, made.block) == ((cold_peers.BLOCKS, 1, 1), (256, 1, 1))
        y.numpy[:] += 2 * x.numpy

    driver_stub.set_kernel("axpy", axpy)
    arrays = (x, y, lambda: None, lambda: float(y.numpy[-1]))
    monkeypatch.setattr(cold_peers, "arrays", lambda gpu: arrays)
    # The guide's wrapper launches to the current device; torch would have made its context.
    with driver_stub.current_device(0):
        trial = getattr(cold_peers, peer)(5, True)
        assert cold.timed(trial, 1) > 0
        assert cold.timed(trial, 2) > 0
        with pytest.raises(AssertionError, match=r"y is 6\.0, wanted 4\.0"):
            cold.timed(trial, 2)


def test_the_launches_of_this_package_launch_what_they_say(driver_stub, monkeypatch):
    arrays = [cuda_array(driver_stub, 16) for _ in range(3)]

    def check(call, last):
        """In place of torch's view of memory: what the driver was asked to launch."""
        before = len(driver_stub.launches())
        call()
        for made in driver_stub.launches()[before:]:
            assert (made.grid, made.block) == ((1, 1, 1), (32, 1, 1))
            assert made.values("PPPi") == (*(a.data_ptr for a in arrays), launch.WRITES)
        checked.append(len(driver_stub.launches()) - before)

    checked: list[int] = []
    ours = [peer.name for peer in launch.PEERS if peer.name.startswith("tvmffi_cubin")]
    others = {peer.name for peer in launch.PEERS} - {"floor", *ours}
    monkeypatch.setattr(launch_peers, "arrays", lambda: arrays)
    monkeypatch.setattr(launch_peers, "check", check)
    monkeypatch.setattr(launch_peers, "wait", lambda: None)
    monkeypatch.setattr(tools, "device_arch", lambda: "sm_90a")
    settings = Settings(quick=True, gpu=True)
    # The floor calls the driver as it is, which wants a context; torch would have made one.
    with driver_stub.current_device(0):
        samples = launch.measure(Task("launch", launch.ALL, "", 1, settings, tuple(others)))
    assert [sample.reason for sample in samples] == [""] * len(samples)
    assert {sample.peer: len(sample.values) for sample in samples} == dict.fromkeys(
        ["floor", *ours], launch.QUICK_ROUNDS
    )
    assert checked == [launch_peers.CALLS, *[1] * len(ours)]


@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="Triton is not installed")
def test_the_launches_of_a_triton_kernel_launch_what_they_say(driver_stub, monkeypatch, tmp_path):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("TVMFFI_CUBIN_ARCH", "sm_90")
    arrays = [cuda_array(driver_stub, 16) for _ in range(3)]
    ways = triton_launch.ways(*arrays)
    ours = [name for name in ways if name.startswith("tvmffi_cubin")]
    assert list(ways) == [peer.name for peer in triton_launch.PEERS]
    for name in ours:
        ways[name]()()
    for made in driver_stub.launches():
        assert made.values("PPPiPP") == (*(a.data_ptr for a in arrays), triton_launch.N, 0, 0)
        assert made.grid == (1, 1, 1)
    assert len(driver_stub.launches()) == len(ours)
