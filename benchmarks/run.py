"""Measures this package and its peers side by side, prints a table, writes JSON.

    python benchmarks/run.py [--output FILE] [--repeats N]

Each "source to first result" is a process of its own, with caches in a fresh folder; peers that
are not installed are left out. See cold.py and launch.py for what is timed.
"""

from __future__ import annotations

import argparse
import compileall
import importlib.util
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent


def compile_bytecode() -> None:
    """Compile the package's bytecode, as pip does when it installs one; peers have theirs."""
    found = importlib.util.find_spec("tvmffi_cubin")
    for folder in (found and found.submodule_search_locations) or ():
        compileall.compile_dir(folder, quiet=2)


def run(script: str, *arguments: str, folder: str) -> str | None:
    """Run a script with all caches in `folder`; None where it fails."""
    environment = {
        **os.environ,
        "TVMFFI_CUBIN_CACHE_DIR": f"{folder}/ours",
        "TVM_FFI_CACHE_DIR": f"{folder}/tvm_ffi",
        "CUPY_CACHE_DIR": f"{folder}/cupy",
    }
    done = subprocess.run(
        [sys.executable, HERE / script, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        print(f"left out: {script} {' '.join(arguments)}: {done.stderr.strip()[-300:]}")
        return None
    return done.stdout


def cold(peer: str, repeats: int, *, fresh: bool = True) -> float | None:
    """Return the median of several runs, each of a new source where `fresh`; the first is not
    counted: it fills what a machine fills once (disk caches, the launcher's own object)."""
    samples = []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(repeats + 1):
            text = run("cold.py", peer, str(number) if fresh else "same", folder=folder)
            if text is None:
                return None
            samples.append(float(text.split()[-1]))
    return statistics.median(samples[1:])


def first_ever(repeats: int) -> float | None:
    """Return the median where the launcher's own object has to be compiled too; it is kept beside
    the package, from where it is moved away meanwhile."""
    found = importlib.util.find_spec("tvmffi_cubin")
    package = Path(next(iter((found and found.submodule_search_locations) or ["."])))
    kept, aside = package / "__pycache__" / "launcher", package / "__pycache__" / "launcher-aside"
    samples = []
    if kept.exists():
        kept.rename(aside)
    try:
        for number in range(repeats):
            shutil.rmtree(kept, ignore_errors=True)
            with tempfile.TemporaryDirectory() as folder:
                text = run("cold.py", "tvmffi_cubin", str(number), folder=folder)
            if text is None:
                return None
            samples.append(float(text.split()[-1]))
    finally:
        if aside.exists():
            shutil.rmtree(kept, ignore_errors=True)
            aside.rename(kept)
    return statistics.median(samples)


def empty_cache(repeats: int) -> float | None:
    """Return the median over empty cache folders, as on a machine whose user is new."""
    samples = []
    for number in range(repeats):
        with tempfile.TemporaryDirectory() as folder:
            text = run("cold.py", "tvmffi_cubin", f"empty {number}", folder=folder)
        if text is None:
            return None
        samples.append(float(text.split()[-1]))
    return statistics.median(samples)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", default="benchmark.json")
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args()
    few = max(1, options.repeats // 4)
    compile_bytecode()
    seconds = {
        "tvmffi_cubin, no wrapper, fresh source": cold("tvmffi_cubin", options.repeats),
        "tvmffi_cubin, the same, first of an installation": first_ever(few),
        "tvmffi_cubin, the same, an empty cache folder": empty_cache(few),
        "tvmffi_cubin, own wrapper, fresh source": cold("tvmffi_cubin_wrapper", few),
        "tvmffi_cubin, cache hit (load_inline alone)": cold(
            "tvmffi_cubin_load", options.repeats, fresh=False
        ),
        "CuPy RawKernel, fresh source": cold("cupy", options.repeats),
        "tvm_ffi load_inline (nvcc), fresh source": cold("tvm_ffi_nvcc", few),
        "tvm_ffi nvrtc_compile + load_inline, fresh source": cold("tvm_ffi_cubin", few),
    }
    with tempfile.TemporaryDirectory() as folder:
        text = run("launch.py", folder=folder)
    launches = json.loads(text[text.index("{") :]) if text else {}
    result = {"seconds": seconds, "launch_us": launches}
    Path(options.output).write_text(json.dumps(result, indent=1))
    print(f"\n{'source to first result, fresh process':55s} ms")
    for name, value in seconds.items():
        print(f"{name:55s} {'-' if value is None else f'{value * 1000:.2f}'}")
    print(f"\n{'launch of an empty kernel':55s} us")
    for name, value in launches.items():
        print(f"{name:55s} {value:.2f}")


if __name__ == "__main__":
    main()
