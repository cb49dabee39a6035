"""The wheel: what is in it, and the quick start from it, away from the checkout."""

from __future__ import annotations

import os
import sys
import sysconfig
import venv
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest
from processes import run

from tvmffi_cubin.kernels.elf import Elf

ROOT = Path(__file__).resolve().parents[2]
PURELIB = Path(sysconfig.get_path("purelib"))


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not (find_spec("wheel") or find_spec("setuptools.command.bdist_wheel")):
        pytest.skip("setuptools 70.1 is needed to build a wheel; run: pip install -e '.[test]'")
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, ROOT / "scripts" / "wheel.py", folder)
    (built,) = folder.glob(f"*_{os.uname().machine}.whl")
    return built


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the Python of an environment that has the wheel, and our dependencies by a path."""
    folder = tmp_path_factory.mktemp("empty")
    venv.create(folder, symlinks=True)
    python = folder / "bin" / "python"
    site = folder / "lib" / "python{}.{}".format(*sys.version_info) / "site-packages"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    # A path in a .pth file comes last, and the .pth files there (of an editable install) stay out.
    (site / "dependencies.pth").write_text(f"{PURELIB}\n")
    return python


def files(folder: Path) -> list[Path]:
    """Return the files of a checkout's folder, by their paths in it."""
    found = [x for x in folder.rglob("*") if x.is_file() and "__pycache__" not in x.parts]
    return [x.relative_to(folder) for x in found]


def test_the_wheel_holds_headers_templates_and_the_licence(wheel: Path):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    for folder, inside in (("include", "tvmffi_cubin/include"), ("tvmffi_cubin", "tvmffi_cubin")):
        wanted = {f"{inside}/{name}" for name in files(ROOT / folder)}
        assert wanted <= names, sorted(wanted - names)
    assert any(name.endswith("LICENSE") for name in names)
    assert not [name for name in names if name.startswith(("tests", "examples"))]


def test_the_wheel_is_for_this_machine_and_has_the_command(wheel: Path):
    assert wheel.name.endswith(f"-py3-none-linux_{os.uname().machine}.whl")
    with zipfile.ZipFile(wheel) as archive:
        (entry,) = [name for name in archive.namelist() if name.endswith("entry_points.txt")]
        assert b"tvmffi-cubin = tvmffi_cubin.__main__:main" in archive.read(entry)


def test_the_launcher_s_objects_need_no_library_of_a_compiler(wheel: Path):
    # Modules are linked by ld alone, which adds none; of aarch64 too where it was built.
    for built in wheel.parent.glob("*.whl"):
        machine = built.stem.rpartition("linux_")[2]
        with zipfile.ZipFile(built) as archive:
            elf = Elf(archive.read(f"tvmffi_cubin/launcher/{machine}.o"))
        wanted = {symbol.name for symbol in elf.symbols() if symbol.is_undefined}
        assert [name for name in wanted if name.startswith("__")] == []


def test_the_installed_wheel_runs_the_quick_start_away_from_the_checkout(installed, tmp_path):
    for name in ("quick_start.py", "own_wrapper.py", "gpu.py"):
        (tmp_path / name).write_bytes((ROOT / "examples" / name).read_bytes())
    environment = {
        **{key: value for key, value in os.environ.items() if not key.startswith("PYTHON")},
        "TVMFFI_CUBIN_DRIVER": "/nonexistent/libcuda.so.1",
        # They are for builds to come, and a process waits for them.
        "TVMFFI_CUBIN_PCH": "off",
    }
    where = run(
        installed,
        "-c",
        "from tvmffi_cubin.host import tools as t; print(t.__file__); print(t.include_dir())\n"
        "from tvmffi_cubin.host.launcher import shipped; print(shipped(t.include_dir()))",
        cwd=tmp_path,
        env=environment,
    ).splitlines()
    package = Path(where[0]).parents[1]
    assert installed.parents[1] in package.parents
    assert where[1] == str(package / "include")
    assert where[2] == str(package / "launcher" / f"{os.uname().machine}.o")
    for name in ("quick_start.py", "own_wrapper.py"):
        assert "built, not launched" in run(installed, name, cwd=tmp_path, env=environment)
    assert "cubin for sm_90a" in run(
        installed, "-m", "tvmffi_cubin", "demo", cwd=tmp_path, env=environment
    )
