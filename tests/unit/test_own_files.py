"""The package's own files are in every key as they were imported, and are seen to change."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import tvmffi_cubin

CODE = """
import sys
from pathlib import Path
from tvmffi_cubin.inline.tools import find_tools, package_change
def identity():
    return find_tools(needs_cuda=False).package_identity
if "early" in sys.argv:
    Path(sys.argv[1]).write_text("# changed\\n")
first = identity()
print(first)
if len(sys.argv) == 2:
    Path(sys.argv[1]).write_text("// changed\\n")
    assert identity() == first
    print(package_change())
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the package and its headers, which a new process imports."""
    place = tmp_path / "place"
    own = Path(tvmffi_cubin.__file__).parent
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(own, place / "tvmffi_cubin", ignore=ignore)
    shutil.copytree(own.parent / "include", place / "include", ignore=ignore)
    # A new process imports what is in the folder it starts in.
    monkeypatch.chdir(place)
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(tmp_path / "cache"))
    return place


def asked(*arguments: object) -> list[str]:
    """Return what a new process prints of the package's identity."""
    command = [sys.executable, "-c", CODE, *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


@pytest.mark.parametrize("name", ["tvmffi_cubin/kernels/types.py", "include/tvmffi_cubin/kernel.h"])
def test_the_content_of_each_file_counts(name: str, package: Path):
    first = asked()
    text = (package / name).read_text()
    (package / name).write_text(text + "\n")
    assert asked() != first
    (package / name).write_text(text)
    assert asked() == first


@pytest.mark.parametrize(
    "name", ["tvmffi_cubin/inline/assemble.py", "include/tvmffi_cubin/kernel.h"]
)
def test_a_change_after_the_import_is_told(name: str, package: Path):
    _, told = asked(package / name)
    assert told == "tvmffi_cubin itself changed while it was in use: start the process again"


def test_a_change_between_the_import_and_the_first_look_is_in_no_other_key(package: Path):
    early = asked(package / "tvmffi_cubin/kernels/types.py", "early")
    assert asked() != early
