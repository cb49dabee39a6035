"""What this machine is, and which versions of the peers it has: facts to file with the figures."""

from __future__ import annotations

import ctypes
import importlib.metadata
import os
import platform
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

PACKAGES = (
    "apache-tvm-ffi",
    "cuda-bindings",
    "cuda-core",
    "cupy",
    "cupy-cuda12x",
    "cupy-cuda13x",
    "numpy",
    "nvidia-cuda-nvrtc",
    "nvidia-cuda-nvrtc-cu12",
    "torch",
    "triton",
    "tvmffi-cubin",
)


def facts() -> dict[str, Any]:
    """Return the machine's facts as JSON values; what is not there is None."""
    gpu = gpu_names()
    return {
        "kind": kind(gpu),
        "gpu": gpu,
        "driver": driver_version(),
        "cpu": cpu_model(),
        "cpu_count": len(os.sched_getaffinity(0)),
        # What else ran: figures of a busy machine are to be told from those of an idle one.
        "load": round(os.getloadavg()[0], 2),
        "system": platform.platform(),
        "python": platform.python_version(),
        "compiler": first_line(os.environ.get("CXX", "c++"), "--version"),
        "nvcc": nvcc_version(),
        "versions": versions(),
    }


def kind(gpu: list[str]) -> str:
    """Return in a few words what the machine is."""
    cores = len(os.sched_getaffinity(0))
    if not gpu:
        return f"{cores}-core CPU machine without a GPU"
    more = f"{len(gpu)} x " if len(gpu) > 1 else ""
    return f"{more}{gpu[0]}, {cores} CPU cores"


def gpu_names() -> list[str]:
    """Return the names of the devices that the driver sees; no context is made."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return []
    count, device = ctypes.c_int(), ctypes.c_int()
    if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)):
        return []
    names = []
    for ordinal in range(count.value):
        text = ctypes.create_string_buffer(256)
        driver.cuDeviceGet(ctypes.byref(device), ordinal)
        driver.cuDeviceGetName(text, len(text), device)
        names.append(text.value.decode())
    return names


def driver_version() -> str | None:
    """Return the kernel driver's version and the CUDA version that it supports."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None
    number = ctypes.c_int()
    if driver.cuDriverGetVersion(ctypes.byref(number)):
        return None
    cuda = f"CUDA {number.value // 1000}.{number.value % 1000 // 10}"
    try:
        text = Path("/proc/driver/nvidia/version").read_text(encoding="utf-8")
    except OSError:
        return cuda
    found = re.search(r"\b\d{3,}\.\d+(\.\d+)?\b", text)
    return f"{found[0]}, {cuda}" if found else cuda


def cpu_model() -> str | None:
    """Return the processor's name."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return None
    found = re.search(r"^model name\s*:\s*(.*)$", text, re.MULTILINE)
    return found[1] if found else platform.machine()


def nvcc_version() -> str | None:
    """Return nvcc's release, where there is one on PATH."""
    found = shutil.which("nvcc")
    if found is None:
        return None
    text = subprocess.run([found, "--version"], capture_output=True, text=True, check=False).stdout
    release = re.search(r"release ([\d.]+)", text)
    return release[1] if release else None


def first_line(*command: str) -> str | None:
    """Return the first line that a command prints, None where it does not run."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return (done.stdout.splitlines() or [None])[0]


def versions() -> dict[str, str]:
    """Return the installed versions of the peers and of what they stand on."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
