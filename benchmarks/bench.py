"""Building blocks of the sections: peers, jobs, and `Skip` if a peer cannot run here."""

from __future__ import annotations

import importlib
import importlib.util
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

# The architecture to compile for without a device.
ARCH = "sm_90a"


class Skip(Exception):
    """A peer cannot run here; the message says why."""


class Settings(NamedTuple):
    """The options of a run, and whether there is a GPU to launch on."""

    repeat: int = 3
    quick: bool = False
    gpu: bool = False
    # Other checkouts of this project: names and folders.
    also: tuple[tuple[str, str], ...] = ()


class Job(NamedTuple):
    """What one fresh process measures; a `rare` job runs in a third of the rounds."""

    peer: str
    argument: str = ""
    rare: bool = False


class Task(NamedTuple):
    """A job in one round; `salt` makes its sources new to all caches."""

    peer: str
    argument: str
    salt: int
    settings: Settings


class Sample(NamedTuple):
    """Values of a cell; without any, `reason` says why the peer has none."""

    peer: str
    table: str = ""
    case: str = ""
    values: tuple[float, ...] = ()
    reason: str = ""
    failed: bool = False


class Peer(NamedTuple):
    """A tool to measure: what is timed, in one line, and how; `path` is another checkout's."""

    title: str
    what: str
    run: Callable[..., Any]
    path: str = ""


@dataclass(frozen=True)
class Section:
    """Tables with their units and reference peers, and what fills them.

    `measure` runs a task in its own process and yields samples as they arrive. Other checkouts
    are measured as the peers that `also` names.
    """

    name: str
    title: str
    about: str
    tables: dict[str, tuple[str, str]]
    jobs: Callable[[Settings], Iterable[Job]]
    measure: Callable[[Task], Iterable[Sample]]
    also: tuple[str, ...] = ()
    peers: dict[str, Peer] = field(default_factory=dict)

    def peer(
        self, title: str, what: str, *, name: str = ""
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Add a function as a peer."""

        def add(function: Callable[..., Any]) -> Callable[..., Any]:
            self.peers[name or function.__name__] = Peer(title, what, function)
            return function

        return add

    def add_checkout(self, name: str, path: str) -> None:
        """Add another checkout's peers."""
        for own in self.also:
            peer = self.peers[own]
            self.peers[f"{own}@{name}"] = peer._replace(title=f"{peer.title}, {name}", path=path)


def failure(peer: str, error: Exception) -> Sample:
    """Return a sample that describes an error in one line."""
    first = (str(error).strip().splitlines() or [""])[0]
    return Sample(peer, reason=f"{type(error).__name__}: {first}"[:200], failed=True)


def need(*names: str) -> ModuleType:
    """Import modules and return the last; skip the peer if one is not installed."""
    for name in names:
        try:
            found = importlib.util.find_spec(name)
        except ImportError:
            found = None
        if found is None:
            raise Skip(f"{name} is not installed")
    try:
        return [importlib.import_module(name) for name in names][-1]
    except ImportError as error:
        raise Skip(f"{names[-1]} does not import: {error}") from None


def need_gpu(gpu: bool) -> None:
    if not gpu:
        raise Skip("no GPU: nothing can be launched")


def cuda_core() -> ModuleType:
    """Return cuda.core, or its namespace before version 0.4."""
    core = need("cuda.core")
    return core if hasattr(core, "Program") else need("cuda.core.experimental")


def nvrtc() -> Callable[[str, str], bytes]:
    """Return a function that compiles a source for an architecture with NVRTC's calls alone."""
    binding = need("cuda.bindings.nvrtc")

    def compile_(source: str, arch: str) -> bytes:
        _, program = binding.nvrtcCreateProgram(source.encode(), b"kernel.cu", 0, [], [])
        options = [f"-arch={arch}".encode(), b"-std=c++17", b"-default-device"]
        (status,) = binding.nvrtcCompileProgram(program, len(options), options)
        assert status == binding.nvrtcResult.NVRTC_SUCCESS, status
        _, size = binding.nvrtcGetCUBINSize(program)
        image = bytes(size)
        binding.nvrtcGetCUBIN(program, image)
        binding.nvrtcDestroyProgram(program)
        return image

    return compile_


def device_arch() -> str:
    """Return the architecture of torch's device, with its architecture-specific features."""
    major, minor = need("torch").cuda.get_device_capability()
    return f"sm_{major}{minor}" + ("a" if major >= 9 else "")


def toolkit() -> Path:
    """Return the folder of a CUDA toolkit that can compile and link host code."""
    home = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH")
    nvcc = shutil.which("nvcc")
    folder = Path(home) if home else Path(nvcc).resolve().parent.parent if nvcc else None
    if folder is None or not (folder / "bin" / "nvcc").exists():
        raise Skip("nvcc is not installed")
    return folder


def settle() -> None:
    """Wait for headers precompiled in the background: editing a source takes longer than that."""
    for thread in threading.enumerate():
        if thread is not threading.current_thread():
            thread.join(60)


def module_of(text: str, name: str) -> Any:
    """Import a text as a module, because Triton reads the source of its kernels from a file."""
    path = Path(tempfile.gettempdir()) / f"{name}.py"
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
