"""Build wheels that bring the object of the launcher's body: ``python scripts/wheel.py [FOLDER]``.

One for this machine's processor, and one for the other of x86_64 and aarch64 where a compiler for
it is installed (``aarch64-linux-gnu-g++``). With the object, a machine that has ``as`` and ``ld``
and no C++ compiler builds kernels.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, os.fspath(ROOT))

from tvmffi_cubin.cuda import libraries  # noqa: E402
from tvmffi_cubin.host import launcher, tools  # noqa: E402

MACHINES = ("x86_64", "aarch64")


def compilers() -> dict[str, tuple[str, ...]]:
    """Return the compiler for each machine that has one."""
    found = {os.uname().machine: tools.find_host_compiler().command}
    for machine in MACHINES:
        other = shutil.which(f"{machine}-linux-gnu-g++")
        if machine not in found and other is not None:
            found[machine] = (other,)
    return found


def build(machine: str, compiler: tuple[str, ...], folder: Path) -> None:
    """Build the wheel for a machine, from a copy: setuptools writes beside pyproject.toml."""
    with tempfile.TemporaryDirectory() as place:
        source = Path(place, "source")
        source.mkdir()
        for name in ("pyproject.toml", "README.md", "LICENSE"):
            shutil.copy(ROOT / name, source)
        for name in ("tvmffi_cubin", "include"):
            # What other processes keep beside the package comes and goes meanwhile.
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / name, source / name, ignore=ignored)
        built = source / "tvmffi_cubin" / "launcher"
        built.mkdir()
        includes = (source / "include", tools.tvm_ffi_paths().include)
        cuda = libraries.find_cuda().include_dirs[0]
        step = launcher.compilation(compiler, includes, os.fspath(cuda), machine)
        subprocess.run(step.line, shell=True, cwd=built, check=True)
        words = launcher.merge_command(compiler, source / "include")
        subprocess.run(words, cwd=built, check=True)
        (built / launcher.OBJECT).unlink()
        made = (built / "merged.o").rename(built / f"{machine}.o")
        made.with_suffix(".txt").write_text(launcher.headers_digest(source / "include", made))
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel"]
        tag = f"--config-settings=--build-option=--plat-name=linux_{machine}"
        options = ["--no-deps", "--no-build-isolation", tag, "-w", os.fspath(folder)]
        subprocess.run([*pip, *options, os.fspath(source)], cwd=place, check=True)


def main() -> None:
    """Build all that can be built here."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "dist").absolute()
    for machine, compiler in compilers().items():
        build(machine, compiler, folder)


if __name__ == "__main__":
    main()
