"""Kernels and host functions in one source: built, edited on either side, and built again.

Each peer builds to a shared object in a process of its own with empty caches, and launches nothing.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from typing import Any

import mixed_sources
import tools
from section import Job, Peer, Sample, Section, Settings, Skip, Task

FIRST, NEW = "first in a new cache", "another source"
DEVICE, HOST, AGAIN = "device part edited", "host part edited", "again"
CASES = (FIRST, NEW, DEVICE, HOST, AGAIN)
OURS = "tvmffi_cubin"

PEERS = (
    Peer(OURS, "tvmffi_cubin", "build_inline(cuda_sources=source) to the .so"),
    Peer(
        "tvmffi_cubin_nvcc",
        'tvmffi_cubin, compiler="nvcc"',
        'the same with compiler="nvcc"',
    ),
    Peer("tvm_ffi", "tvm_ffi, by nvcc", "cpp.build_inline(cuda_sources=source) to the .so"),
)


def jobs(settings: Settings) -> list[Job]:
    found = []
    for name in mixed_sources.SOURCES:
        for peer in PEERS:
            if settings.quick and (peer.name != OURS or name != mixed_sources.VECTOR):
                continue
            cells = tuple((peer.name, name, case) for case in CASES)
            found.append(Job(peer.name, name, cells, few=peer.name != OURS))
    return found


def measure(task: Task) -> list[Sample]:
    """Build a source, one that is new on both sides, two changes, and the last once more."""
    name = task.argument
    salt = 3 * task.salt
    salts = {
        FIRST: (salt, salt),
        NEW: (salt + 1, salt + 1),
        DEVICE: (salt + 2, salt + 1),
        HOST: (salt + 2, salt + 2),
        AGAIN: (salt + 2, salt + 2),
    }
    texts = {case: mixed_sources.text(name, *pair) for case, pair in salts.items()}
    function = mixed_sources.function(name)
    # Something may still be written in the background when the figures are there.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        os.environ["TVMFFI_CUBIN_CACHE_DIR"] = os.environ["TVM_FFI_CACHE_DIR"] = folder
        run: Callable[[str, str], Any] = globals()[task.job]()
        samples = []
        for _, _, case in SECTION.job(task.job, task.argument, task.settings).cells:
            start = time.perf_counter()
            made = run(texts[case], function)
            seconds = time.perf_counter() - start
            check(made, function)
            samples.append(Sample(task.job, name, case, (seconds * 1e3,)))
            if task.job.startswith(OURS):
                # Who edits a source takes longer than a precompiled header, made beside, does.
                tools.need("tvmffi_cubin.host_pch").settle()
    return samples


def check(made: str, function: str) -> None:
    with open(made, "rb") as file:
        exported = f"__tvm_ffi_{function}\0".encode()
        assert exported in file.read(), f"{made} does not export {function}"


def tvmffi_cubin() -> Callable[[str, str], Any]:
    tc = tools.need("tvmffi_cubin")

    def run(text: str, function: str) -> Any:
        try:
            return tc.build_inline("mixed", text, functions=[function], arch=tools.DEFAULT_ARCH)
        except ValueError as error:
            if "mixes kernels and host code" not in str(error):
                raise
            raise Skip("this version does not split sources: it names what is mixed") from None

    return run


def tvmffi_cubin_nvcc() -> Callable[[str, str], Any]:
    tc = tools.need("tvmffi_cubin")
    tools.toolkit()
    options = {"compiler": "nvcc", "arch": tools.DEFAULT_ARCH}
    return lambda text, function: tc.build_inline("mixed", text, functions=[function], **options)


def tvm_ffi() -> Callable[[str, str], Any]:
    cpp = tools.need("tvm_ffi.cpp")
    tools.toolkit()
    # As DEFAULT_ARCH.
    os.environ["TVM_FFI_CUDA_ARCH_LIST"] = "9.0a"
    return lambda text, function: cpp.build_inline(
        "mixed", cuda_sources=text, functions=[function], backend="cuda"
    )


SECTION = Section(
    name="mixed_build",
    title="Kernels and host functions in one source",
    about=(
        "Built to a shared object in a fresh process with an empty cache folder; then one that is "
        "new on both sides, one with a change of its device part alone, of its host part alone, "
        "and the last once more. Nothing is launched. The installation has built something before, "
        "in another cache folder, so that precompiled headers of host code lie beside the "
        "package; one row is without them, as the first build of all is, which has them made."
    ),
    peers=PEERS,
    units=dict.fromkeys(mixed_sources.SOURCES, "ms"),
    references=dict.fromkeys(mixed_sources.SOURCES, OURS),
    jobs=jobs,
    measure=measure,
)
