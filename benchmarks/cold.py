"""From a source to its first result: a text that no cache has seen, again, and after a restart.

Timed: from the source text as a str to the result being in device memory and waited for. Counted:
lazy imports, loading of compilers, disk caches. Not counted: starting Python, importing the tool,
making the arrays (so there is a CUDA context before the clock runs). What is timed where there is
no GPU, each peer's `without_gpu` says.
"""

from __future__ import annotations

import time

import cold_peers
import installation
from section import Job, Peer, Sample, Section, Settings, Task

RESULT, SO, CUBIN = "source to first result", "source to module", "source to cubin"
FRESH, AGAIN, RESTARTED = "new source", "again, same process", "again, new process"
ANOTHER = "another new source, same process"
# Far from the salts of all rounds and peers.
ANOTHER_SALT = 1_000_000_000
ARGUMENTS = {"new": FRESH, "restarted": RESTARTED}
INSTALLED = "tvmffi_cubin_installed"
COMPILE = "tvmffi_cubin_compile"
SLOW = "torch_inline"
NVCC = ("tvm_ffi_cubin", "tvm_ffi_nvcc", SLOW)
# Several seconds a time.
FEW = (*NVCC, "tvm_ffi_gxx", INSTALLED)

_LOADED = "load_inline to the loaded module, no launch"
_COMPILED = "to the cubin, in memory: no module, no launch"
PEERS = (
    Peer(
        "tvmffi_cubin",
        "tvmffi_cubin, no wrapper",
        "load_inline with functions={name: Launch}, the call, synchronize",
        _LOADED,
    ),
    Peer(
        INSTALLED,
        "tvmffi_cubin, first build of an installation",
        "as above, of the wheel that make wheel builds, just installed, with an empty cache",
    ),
    Peer(
        "tvmffi_cubin_wrapper",
        "tvmffi_cubin, own wrapper",
        "load_inline(cuda_sources=[kernels, wrapper]), the call, synchronize",
        _LOADED,
    ),
    Peer(
        COMPILE,
        "tvmffi_cubin, nvrtc.compile",
        "(part of the first row)",
        f"nvrtc.compile {_COMPILED}; it keeps nothing",
    ),
    Peer(
        "nvrtc",
        "NVRTC alone",
        "nvrtcCreateProgram to nvrtcGetCUBIN by cuda.bindings: no module, no launch",
    ),
    Peer("cupy", "CuPy RawKernel", "RawKernel(source, name), the call, synchronize"),
    Peer(
        "cuda_core",
        "cuda.core Program",
        "Program.compile('cubin'), get_kernel, launch, synchronize; it keeps nothing on disk",
        f"Program.compile('cubin') {_COMPILED}; it keeps nothing",
    ),
    Peer(
        "triton",
        "Triton",
        "the first call of a @triton.jit kernel that does the same, synchronize",
        f"triton.compile {_COMPILED}",
    ),
    Peer(
        "torch_kernel",
        "torch.cuda._compile_kernel",
        "_compile_kernel, the call, synchronize; it keeps nothing on disk",
    ),
    Peer(
        "tvm_ffi_gxx",
        "tvm_ffi, wrapper by g++",
        "nvrtc_compile, load_inline(cpp_sources=wrapper, embed_cubin), the call, synchronize",
        "nvrtc_compile, build_inline(cpp_sources=wrapper, embed_cubin) to the .so: not loaded",
    ),
    Peer(
        "tvm_ffi_cubin",
        "tvm_ffi, wrapper by nvcc",
        "nvrtc_compile, load_inline(cuda_sources=wrapper, embed_cubin), the call, synchronize",
        "nvrtc_compile, build_inline(cuda_sources=wrapper, embed_cubin) to the .so: not loaded",
    ),
    Peer(
        "tvm_ffi_nvcc",
        "tvm_ffi, all by nvcc",
        "load_inline of kernel and host code in one text, the call, synchronize",
        "build_inline of kernel and host code in one text to the .so: not loaded",
    ),
    Peer(
        SLOW,
        "torch cpp_extension.load_inline",
        "load_inline of kernel and host code (nvcc), the call, synchronize",
    ),
)


def table(peer: str, gpu: bool) -> str:
    """Return where a peer belongs: without a GPU not all do the same work."""
    if gpu:
        return RESULT
    return CUBIN if peer in (COMPILE, "nvrtc", "cuda_core", "triton") else SO


def jobs(settings: Settings) -> list[Job]:
    """Return for each peer a job with new sources, and one with the first after a restart."""
    found = []
    for peer in PEERS:
        name, few = peer.name, peer.name in FEW
        title = table(name, settings.gpu)
        if name == COMPILE and settings.gpu:
            continue
        if name == SLOW and not settings.slow:
            continue
        if name in NVCC and settings.quick:
            continue
        if name == INSTALLED:
            found.append(Job(name, "new", ((name, title, FRESH),), few))
            continue
        cases = (FRESH, AGAIN, ANOTHER)
        found.append(Job(name, "new", tuple((name, title, case) for case in cases), few))
        if name == "nvrtc":
            continue
        rarely = few or not name.startswith("tvmffi_cubin")
        found.append(Job(name, "restarted", ((name, title, RESTARTED),), rarely))
    return found


def measure(task: Task) -> list[Sample]:
    """Time a peer in this process."""
    title = table(task.job, task.settings.gpu)
    if task.job == INSTALLED:
        seconds = installation.first_build(task)
        return [Sample(task.job, title, FRESH, (seconds,))]
    trial = getattr(cold_peers, task.job)(task.salt, task.settings.gpu)
    samples = [Sample(task.job, title, ARGUMENTS[task.argument], (timed(trial, 1),))]
    if task.argument == "new":
        samples.append(Sample(task.job, title, AGAIN, (timed(trial, 2),)))
        another = getattr(cold_peers, task.job)(task.salt + ANOTHER_SALT, task.settings.gpu)
        samples.append(Sample(task.job, title, ANOTHER, (timed(another, 1),)))
    return samples


def timed(trial: cold_peers.Trial, count: int) -> float:
    """Return the milliseconds of the `count`-th way from source to result, which is checked."""
    start = time.perf_counter()
    made = trial.run()
    seconds = time.perf_counter() - start
    assert trial.artifact(made), f"not what was wanted: {made!r}"
    if trial.value is not None:
        found = trial.value()
        assert found == 2.0 * count, f"y is {found}, wanted {2.0 * count}"
    return seconds * 1e3


SECTION = Section(
    name="cold",
    title="Source to first result",
    about=(
        "In a fresh process, imports of the tool itself not counted but what it imports later; "
        "each round has a source that no cache has seen. Then the same source again in that "
        "process, another new one there, and the first in a new process, where disk caches answer. "
        "Without a GPU nothing is launched, "
        "and what a peer still does is compared with what this package has to do the same."
    ),
    peers=PEERS,
    units={RESULT: "ms", SO: "ms", CUBIN: "ms"},
    references={RESULT: "tvmffi_cubin", SO: "tvmffi_cubin", CUBIN: COMPILE},
    jobs=jobs,
    measure=measure,
)
