"""From an image in memory or in a file to a shared object that has it, by size.

The image is a small cubin with bytes after its end, which neither the driver nor tools mind; they
are new in each round. What was built is searched for the image's two ends.
"""

from __future__ import annotations

import mmap
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import kernels
import tools
from section import Job, Peer, Sample, Section, Settings, Skip, Task

MODULE, STEP = "a whole module", "the embedding alone"
MIB = 1 << 20
CASES = {"1 MiB": MIB, "16 MiB": 16 * MIB, "100 MiB": 100 * MIB}
SLOW = {"1 GiB": 1024 * MIB}
QUICK = ("1 MiB",)
# What has to be found at either end.
END = 256

PEERS = (
    Peer(
        "tvmffi_cubin",
        "tvmffi_cubin, build_inline",
        "the image as bytes to the published .so with its generated launcher, everything counted",
    ),
    Peer(
        "tvm_ffi",
        "tvm_ffi, build_inline",
        "the image as bytes to the .so with a hand-written wrapper (g++), everything counted",
    ),
    Peer(
        "tvm_ffi_step",
        "tvm_ffi.utils.embed_cubin alone",
        "the file to an object, as its build calls it, then ld -shared; no wrapper is compiled",
    ),
    Peer(
        "ld_binary",
        "ld -r -b binary, objcopy, ld",
        "the file to an object with names and section as wanted, then ld -shared",
    ),
    Peer(
        "incbin",
        ".incbin by as, ld: what this package does",
        "the file to an object by .incbin, then ld -shared",
    ),
)


TABLES = {peer.name: MODULE if peer.name in ("tvmffi_cubin", "tvm_ffi") else STEP for peer in PEERS}


def jobs(settings: Settings) -> list[Job]:
    cases = QUICK if settings.quick else (*CASES, *(SLOW if settings.slow else ()))
    found = []
    for case in cases:
        for peer in PEERS:
            few = case in SLOW or peer.name.startswith("tvm_ffi")
            found.append(Job(peer.name, case, ((peer.name, TABLES[peer.name], case),), few))
    return found


def measure(task: Task) -> list[Sample]:
    """Time a peer at one size."""
    data = image({**CASES, **SLOW}[task.argument], task.salt)
    with tempfile.TemporaryDirectory() as folder:
        # What was built does not pile up: an image may be large.
        os.environ["TVMFFI_CUBIN_CACHE_DIR"] = os.environ["TVM_FFI_CACHE_DIR"] = f"{folder}/cache"
        prepare: Callable[[bytes, Path], Callable[[], Any]] = globals()[task.job]
        build = prepare(data, Path(folder))
        start = time.perf_counter()
        made = build()
        seconds = time.perf_counter() - start
        check(Path(made), data)
    return [Sample(task.job, TABLES[task.job], task.argument, (seconds * 1e3,))]


def image(size: int, salt: int) -> bytes:
    """Return a cubin of that size."""
    tc = tools.need("tvmffi_cubin")
    cubin = tc.nvrtc.nvrtc_compile(kernels.salted(kernels.AXPY, salt), arch=tools.DEFAULT_ARCH)
    block = os.urandom(MIB)
    return (cubin + block * (size // MIB + 1))[:size]


def check(made: Path, data: bytes) -> None:
    """Look for the image in what was built."""
    with made.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
        start = text.find(data[:END])
        assert start >= 0, f"{made} has no image"
        end = start + len(data)
        assert text[end - END : end] == data[-END:], f"the image in {made} is cut off"


def tvmffi_cubin(data: bytes, folder: Path) -> Callable[[], Any]:
    tc = tools.need("tvmffi_cubin")
    launch = tc.Launch(params="const float* x, float* y, int n", grid="ceil_div(n, 256)", block=256)
    return lambda: tc.build_inline(
        "embedding",
        embed_cubin={"kernels": data},
        functions={"axpy": launch},
        arch=tools.DEFAULT_ARCH,
    )


def tvm_ffi(data: bytes, folder: Path) -> Callable[[], Any]:
    cpp = tools.need("tvm_ffi.cpp")
    options = tools.tvm_ffi_gxx()
    text = kernels.wrapper(["axpy"], 0)
    return lambda: cpp.build_inline(
        "embedding", cpp_sources=text, embed_cubin={"kernels": data}, **options
    )


def tvm_ffi_step(data: bytes, folder: Path) -> Callable[[], Any]:
    tools.need("tvm_ffi")
    user, image = user_object(folder, "__tvm_ffi__cubin_kernels"), write(data, folder)
    both, so = folder / "both.o", folder / "made.so"
    step = [sys.executable, "-m", "tvm_ffi.utils.embed_cubin", "--name", "kernels"]
    step += ["--cubin", str(image), "--input-obj", str(user), "--output-obj", str(both)]
    return lambda: commands(so, step, ["ld", "-shared", "-o", so, both])


def ld_binary(data: bytes, folder: Path) -> Callable[[], Any]:
    user, image = user_object(folder, "image_bytes"), write(data, folder)
    raw, named, so = folder / "raw.o", folder / "named.o", folder / "made.so"
    # The names that ld makes up spell the path that it was given.
    start = "_binary_" + "".join(c if c.isalnum() else "_" for c in str(image)) + "_start"
    objcopy = ["objcopy", "--rename-section", ".data=.rodata,alloc,load,readonly,data,contents"]
    return lambda: commands(
        so,
        ["ld", "-r", "-b", "binary", "-z", "noexecstack", "-o", raw, image],
        [*objcopy, "--redefine-sym", f"{start}=image_bytes", raw, named],
        ["ld", "-shared", "-z", "noexecstack", "-o", so, user, named],
    )


def incbin(data: bytes, folder: Path) -> Callable[[], Any]:
    user, image = user_object(folder, "image_bytes"), write(data, folder)
    text, made, so = folder / "image.s", folder / "image.o", folder / "made.so"
    text.write_text(
        '.section .rodata\n.global image_bytes\n.balign 64\nimage_bytes:\n.incbin "image.cubin"\n'
        '.section .note.GNU-stack,"",%progbits\n'
    )
    return lambda: commands(
        so,
        ["as", "-I", image.parent, "-o", made, text],
        ["ld", "-shared", "-o", so, user, made],
    )


def write(data: bytes, folder: Path) -> Path:
    path = folder / "image.cubin"
    path.write_bytes(data)
    return path


def user_object(folder: Path, symbol: str) -> Path:
    """Compile a small function that uses the image, which a shared object has to have."""
    text, made = folder / "user.c", folder / "user.o"
    text.write_text(
        f'extern const char {symbol}[] __attribute__((visibility("hidden")));\n'
        f"const char* image(void) {{ return {symbol}; }}\n"
    )
    commands(made, [os.environ.get("CC", "cc"), "-c", "-O2", "-fPIC", "-o", made, text])
    return made


def commands(made: Path, *lines: list[Any]) -> Path:
    """Run commands one after the other and return what they make."""
    for line in lines:
        try:
            done = subprocess.run(list(map(str, line)), capture_output=True, text=True, check=False)
        except FileNotFoundError:
            raise Skip(f"{line[0]} is not installed") from None
        if done.returncode != 0:
            raise RuntimeError(f"{line[0]} ended with {done.returncode}: {done.stderr.strip()}")
    return made


SECTION = Section(
    name="embedding",
    title="Embedding an image",
    about=(
        "From an image to a shared object that has it: a whole module, from the image in memory; "
        "then only what embedding takes, from a file and beside an object that is there."
    ),
    peers=PEERS,
    units={MODULE: "ms", STEP: "ms"},
    references={MODULE: "tvmffi_cubin", STEP: "incbin"},
    jobs=jobs,
    measure=measure,
)
