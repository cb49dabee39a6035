"""Facts about this machine and its versions of the peers, to record with the figures."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import subprocess
from pathlib import Path
from typing import Any

PACKAGES = (
    *("apache-tvm-ffi", "cuda-bindings", "cuda-core", "cupy", "cupy-cuda12x", "cupy-cuda13x"),
    *("numpy", "nvidia-cuda-nvrtc", "nvidia-cuda-nvrtc-cu12", "torch", "triton", "tvmffi-cubin"),
)


def facts() -> dict[str, Any]:
    """Return the machine's facts as JSON values; missing ones are None."""
    gpus = gpu_names()
    cores = len(os.sched_getaffinity(0))
    kind = f"{cores}-core CPU machine without a GPU"
    if gpus:
        more = f"{len(gpus)} x " if len(gpus) > 1 else ""
        kind = f"{more}{gpus[0]}, {cores} CPU cores"
    model = re.search(r"^model name\s*:\s*(.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return {
        "kind": kind,
        "gpu": gpus,
        "driver": driver_version() if gpus else None,
        "cpu": model[1] if model else platform.machine(),
        # What else ran, to distinguish figures of a busy machine from those of an idle one.
        "load": round(os.getloadavg()[0], 2),
        "system": platform.platform(),
        "python": platform.python_version(),
        "compiler": said(r".*", os.environ.get("CXX", "c++"), "--version"),
        "nvcc": said(r"(?<=release )[\d.]+", "nvcc", "--version"),
        "versions": versions(),
    }


def gpu_names() -> list[str]:
    """Return the names of the devices that the driver sees, without creating a context."""
    from tvmffi_cubin.cuda import driver

    return [driver.device_name(ordinal) for ordinal in range(driver.device_count())]


def driver_version() -> str:
    """Return the kernel driver's version and the CUDA version that it supports."""
    from tvmffi_cubin.cuda import driver

    number = driver.version() or 0
    cuda = f"CUDA {number // 1000}.{number % 1000 // 10}"
    path = Path("/proc/driver/nvidia/version")
    found = re.search(r"\b\d{3,}\.\d+(\.\d+)?\b", path.read_text() if path.exists() else "")
    return f"{found[0]}, {cuda}" if found else cuda


def said(pattern: str, *command: str) -> str | None:
    """Return the first match in the output of a command, None if it does not run."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return None
    found = re.search(pattern, done.stdout)
    return found[0] if found else None


def versions() -> dict[str, str]:
    """Return the installed versions of the peers and their dependencies."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
