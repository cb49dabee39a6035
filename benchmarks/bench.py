"""What the sections are made of: peers, jobs, and how to say that a peer cannot run here."""

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

# What is compiled for where there is no device to ask.
ARCH = "sm_90a"


class Skip(Exception):
    """A peer cannot run here; the text says why."""


class Settings(NamedTuple):
    """What a run was asked for, and whether there is a GPU to launch on."""

    repeat: int = 3
    quick: bool = False
    gpu: bool = False
    # Other checkouts of this project: what they are called, and their folders.
    also: tuple[tuple[str, str], ...] = ()


class Job(NamedTuple):
    """What one fresh process measures; one that is `rare` takes part in a third of the rounds."""

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
    """Who is measured, what is timed in a line, and how; `path` has another checkout of ours."""

    title: str
    what: str
    run: Callable[..., Any]
    path: str = ""


@dataclass(frozen=True)
class Section:
    """Tables with their units and the peers that the others are compared with; and what fills them.

    `measure` runs a task in a process of its own, and yields samples as it has them. Other
    checkouts are measured as the peers that `also` names.
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
    """Return an error as a sample, in one line."""
    first = (str(error).strip().splitlines() or [""])[0]
    return Sample(peer, reason=f"{type(error).__name__}: {first}"[:200], failed=True)


def need(*names: str) -> ModuleType:
    """Import modules and return the last; skip the peer where one is not installed."""
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
    """Return cuda.core, or its namespace of versions before 0.4."""
    core = need("cuda.core")
    return core if hasattr(core, "Program") else need("cuda.core.experimental")


def nvrtc() -> Callable[[str, str], bytes]:
    """Return what compiles a source for an architecture by NVRTC's own calls and no others."""
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
    """Return the architecture of torch's device, with its own features."""
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
    """Wait for headers that are precompiled beside: who edits a source takes longer than that."""
    for thread in threading.enumerate():
        if thread is not threading.current_thread():
            thread.join(60)


def module_of(text: str, name: str) -> Any:
    """Import a text as a module: Triton reads the source of its kernels from their file."""
    path = Path(tempfile.gettempdir()) / f"{name}.py"
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
