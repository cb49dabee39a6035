"""What make says where something that it needs is missing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MAKE = shutil.which("make")

pytestmark = pytest.mark.skipif(MAKE is None, reason="make is missing; run: apt install make")


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """Return a folder that has all that the Makefile needs, to take things away from."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("sh", "rm", "touch"):
        (folder / name).symlink_to(shutil.which(name) or "")
    for name in ("g++", "ld", "as"):
        program(folder / name)
    (folder / "python3").symlink_to(sys.executable)
    return folder


def program(path: Path, text: str = "exit 0") -> None:
    path.unlink(missing_ok=True)
    path.write_text(f"#!{shutil.which('sh')}\n{text}\n")
    path.chmod(0o755)


def environment(programs: Path) -> dict[str, str]:
    # The suite may itself run under make, whose variables would reach this one.
    inherited = ("CXX", "PYTHON", "VENV", "GPU_PYTHON", "PYTEST_ARGS", "WORKERS", "MFLAGS")
    kept = {k: v for k, v in os.environ.items() if k not in inherited and not k.startswith("MAKE")}
    return {**kept, "PATH": str(programs)}


def check(programs: Path, *arguments: str) -> tuple[int, str]:
    done = subprocess.run(
        [MAKE or "", "--no-print-directory", "prerequisites", *arguments],
        cwd=ROOT,
        env=environment(programs),
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stderr


def test_all_there_is_no_word(programs: Path):
    assert check(programs) == (0, "")


@pytest.mark.parametrize(
    ("missing", "said"),
    [
        ("python3", "python3 is missing; run: sudo apt install python3 python3-venv"),
        ("g++", "there is no C++ compiler; run: sudo apt install g++"),
        ("ld", "there is no linker or assembler; run: sudo apt install binutils"),
        ("as", "there is no linker or assembler; run: sudo apt install binutils"),
    ],
)
def test_a_missing_program_is_named_with_its_package(programs: Path, missing: str, said: str):
    (programs / missing).unlink()
    status, error = check(programs)
    assert status != 0
    assert said in error


def test_nothing_is_installed_again_until_the_project_file_changes(tmp_path: Path, programs: Path):
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    log = tmp_path / "log"
    made = f'mkdir -p .venv/bin; cp "$0" .venv/bin/python; echo "$*" >> {log}'
    program(programs / "python3", f'case "$2" in venv) {made};; pip) echo "$*" >> {log};; esac')
    for name in ("mkdir", "cp"):
        (programs / name).symlink_to(shutil.which(name) or "")

    def demo() -> list[str]:
        log.write_text("")
        subprocess.run([MAKE or "", "demo"], cwd=tmp_path, env=environment(programs), check=True)
        return [line.split()[1] for line in log.read_text().splitlines()]

    assert demo() == ["venv", "pip"]
    assert demo() == []
    stamp = (tmp_path / ".venv" / ".installed").stat().st_mtime_ns + 10**9
    os.utime(tmp_path / "pyproject.toml", ns=(stamp, stamp))
    assert demo() == ["pip"]
