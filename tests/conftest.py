"""What every test has: a cache of its own, the driver stand-in, and GPU tests that skip aloud."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import functools
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from stub.build import build
from stub.driver_stub import DriverStub

from tvmffi_cubin.host import precompiled
from tvmffi_cubin.inline import tools

GPU_TESTS = Path(__file__).parent / "gpu"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "gpu: needs a CUDA device; skipped where there is none")
    # A shell's background job ignores Ctrl-C, and so do the processes that tests start and stop.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # Not installed where only tests on a GPU are run.
    with contextlib.suppress(ImportError):
        from hypothesis import settings

        # How long an example takes says how busy the machine is.
        settings.register_profile("untimed", deadline=None)
        settings.load_profile("untimed")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if GPU_TESTS in item.path.parents:
            item.add_marker("gpu")


# Optional, because pytest-xdist is not installed where only tests on a GPU are run.
@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Have one worker run a file's tests, which share what they build, and all those on a GPU.

    The latter look at the clock. Groups of pytest-xdist's own (`xdist_group`) are not used: with
    pytest 9.2 pytest-xdist 3.8 loses them without a word.
    """
    if config.getvalue("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = super()._split_scope(nodeid)
            return "tests/gpu" if file.startswith("tests/gpu/") else file

    return Scheduling(config, log)


def pytest_runtest_setup(item: pytest.Item) -> None:
    reason = missing_gpu() if item.get_closest_marker("gpu") else None
    if reason:
        pytest.skip(reason)


@functools.cache
def missing_gpu() -> str | None:
    """Return why tests that need a GPU cannot run here, None where they can."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        return f"no GPU: no CUDA driver ({error})"
    result, count = driver.cuInit(0), ctypes.c_int()
    if result != 0:
        return f"no GPU: cuInit answers {result}"
    driver.cuDeviceGetCount(ctypes.byref(count))
    return None if count.value else "no GPU: the CUDA driver sees no device"


@pytest.fixture(scope="session")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all workers of this run share."""
    own = tmp_path_factory.getbasetemp()
    return own.parent if "PYTEST_XDIST_WORKER" in os.environ else own


@pytest.fixture(scope="session", autouse=True)
def _own_environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test sees or fills the user's cache, nor another driver than it asks for."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("TVMFFI_CUBIN_ARCH", "TVMFFI_CUBIN_DRIVER"):
            patch.delenv(name, raising=False)
        for name in [name for name in os.environ if name.startswith("TVMFFI_CUBIN_CACHE")]:
            patch.delenv(name)
        patch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        # How wide help is.
        patch.setenv("COLUMNS", "80")
        # Who may read what a test makes.
        umask = os.umask(0o022)
        yield
        os.umask(umask)


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have tools looked at in each call: tests replace them within a second."""
    monkeypatch.setattr(tools, "_RECENT", 0.0)


@pytest.fixture(autouse=True)
def _settled(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let what a test begins in the background end with it, in the environment that it began in."""
    yield
    precompiled.settle()


@pytest.fixture(autouse=True)
def _gpu_cache(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give GPU tests a cache apart: a launcher once bound to the stand-in stays bound to it."""
    if request.node.get_closest_marker("gpu"):
        shared = Path(os.environ["TVMFFI_CUBIN_CACHE_DIR"])
        monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(shared.with_name(shared.name + "-gpu")))


@pytest.fixture(scope="session")
def _stub_library(run_folder: Path) -> Path:
    """One file for all workers: a module that one links with it may be loaded by another."""
    folder = run_folder / "driver"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        library = folder / "libstub.so"
        return library if library.exists() else build(folder)


@pytest.fixture(scope="session")
def _loaded_stub(_stub_library: Path) -> DriverStub:
    return DriverStub(_stub_library)


@pytest.fixture
def _stub_environment(request: pytest.FixtureRequest) -> None:
    if request.node.get_closest_marker("gpu"):
        pytest.fail("a test in tests/gpu uses the real driver, not the stand-in")


@pytest.fixture
def driver_stub(
    _stub_environment: None, _loaded_stub: DriverStub, monkeypatch: pytest.MonkeyPatch
) -> Iterator[DriverStub]:
    """The driver stand-in behind TVMFFI_CUBIN_DRIVER: devices of 9.0, 9.0 and 8.0, no log yet.

    One for the whole process, as a driver is: a launcher that an earlier test has loaded holds its
    image and contexts in it, so count what a test adds.
    """
    monkeypatch.setenv("TVMFFI_CUBIN_DRIVER", str(_loaded_stub.path))
    _loaded_stub.reset()
    yield _loaded_stub
    _loaded_stub.reset()


@pytest.fixture
def fresh_driver_stub(
    _stub_environment: None, _stub_library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> DriverStub:
    """A stand-in of the test's own, in which nothing was ever done, cuInit included.

    Only a launcher that no other test has used calls into it: one opens its driver once.
    """
    copy = shutil.copy(_stub_library, tmp_path / "libstub.so")
    monkeypatch.setenv("TVMFFI_CUBIN_DRIVER", str(copy))
    return DriverStub(Path(copy))
