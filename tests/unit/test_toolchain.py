"""The tools beside CUDA: where they are looked for, and what is said where they are not."""

import importlib.util
import sys

import pytest

from tvmffi_cubin.errors import ToolchainError
from tvmffi_cubin.host import toolchain
from tvmffi_cubin.host.tools import compiler_version


def make_program(path, text="#!/bin/sh\nexit 0\n"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.fixture
def bin_dir(tmp_path, monkeypatch):
    """The only folder on PATH, empty; no CXX."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.delenv("CXX", raising=False)
    return folder


class TestHostCompiler:
    def test_the_first_on_path_is_taken(self, bin_dir):
        clang = make_program(bin_dir / "clang++")
        assert toolchain.find_host_compiler().command == (str(clang),)
        gxx = make_program(bin_dir / "g++")
        assert toolchain.find_host_compiler().command == (str(gxx),)

    def test_cxx_may_hold_a_launcher_and_arguments(self, bin_dir, monkeypatch):
        ccache, gxx = make_program(bin_dir / "ccache"), make_program(bin_dir / "g++-12")
        monkeypatch.setenv("CXX", "ccache g++-12 -m64 '-DNAME=a b'")
        compiler = toolchain.find_host_compiler()
        assert compiler.command == (str(ccache), "g++-12", "-m64", "-DNAME=a b")
        assert compiler.files == (ccache, gxx)

    def test_none_is_an_error_that_names_the_packages(self, bin_dir):
        with pytest.raises(ToolchainError, match=r"apt install g\+\+.*conda install"):
            toolchain.find_host_compiler()

    def test_a_missing_cxx_is_named_rather_than_replaced(self, bin_dir, monkeypatch):
        make_program(bin_dir / "g++")
        monkeypatch.setenv("CXX", "icpx -O1")
        with pytest.raises(ToolchainError, match=r"CXX='icpx -O1': no program 'icpx'"):
            toolchain.find_host_compiler()


class TestIdentity:
    def test_it_is_target_and_version(self, bin_dir):
        text = (
            "#!/bin/sh\necho 'Using specs.' >&2\necho 'Target: x-y' >&2\necho 'gcc version 9' >&2\n"
        )
        gxx = make_program(bin_dir / "g++", text)
        found = compiler_version(toolchain.HostCompiler(gxx))
        assert found == "Target: x-y\ngcc version 9"

    def test_a_compiler_that_fails_is_an_error_with_its_output(self, bin_dir):
        gxx = make_program(bin_dir / "g++", "#!/bin/sh\necho broken\nexit 3\n")
        with pytest.raises(ToolchainError, match=r"status 3: broken"):
            compiler_version(toolchain.HostCompiler(gxx))


class TestNinja:
    @pytest.fixture(autouse=True)
    def _no_ninja(self, bin_dir, tmp_path, monkeypatch):
        monkeypatch.setattr(sys, "executable", str(tmp_path / "python" / "bin" / "python"))
        monkeypatch.setattr(sys, "prefix", str(tmp_path / "prefix"))
        monkeypatch.setattr(sys, "path", [str(tmp_path / "site")])
        monkeypatch.delitem(sys.modules, "ninja", raising=False)
        importlib.invalidate_caches()

    def test_the_one_beside_the_interpreter_needs_no_path(self, tmp_path, monkeypatch):
        monkeypatch.setenv("PATH", "")
        ninja = make_program(tmp_path / "python" / "bin" / "ninja", "\x7fELF")
        assert toolchain.find_ninja() == ninja

    def test_one_on_path_will_do(self, bin_dir):
        ninja = make_program(bin_dir / "ninja")
        assert toolchain.find_ninja() == ninja

    def test_none_is_an_error_that_names_the_package(self):
        with pytest.raises(ToolchainError, match="pip install ninja"):
            toolchain.find_ninja()


@pytest.mark.parametrize(
    ("find", "name"), [(toolchain.find_linker, "ld"), (toolchain.find_assembler, "as")]
)
def test_binutils_are_found_on_path_or_named(bin_dir, find, name):
    with pytest.raises(ToolchainError, match=f"'{name}' is not on PATH.*apt install binutils"):
        find()
    program = make_program(bin_dir / name)
    assert find() == program


class TestTvmFfi:
    def test_its_absence_is_an_error_that_names_the_package(self, monkeypatch, tmp_path):
        monkeypatch.setattr(sys, "path", [str(tmp_path)])
        monkeypatch.delitem(sys.modules, "tvm_ffi", raising=False)
        monkeypatch.setattr(sys, "meta_path", [importlib.machinery.PathFinder])
        with pytest.raises(ToolchainError, match="pip install apache-tvm-ffi"):
            toolchain.tvm_ffi_paths()


class TestIncludeDir:
    @pytest.mark.parametrize("place", ["package/include", "include"])
    def test_a_wheel_and_a_checkout_both_work(self, tmp_path, monkeypatch, place):
        (tmp_path / place / "tvmffi_cubin").mkdir(parents=True)
        monkeypatch.setattr(toolchain, "__file__", f"{tmp_path}/package/host/toolchain.py")
        assert toolchain.include_dir() == tmp_path / place

    def test_their_absence_is_an_error(self, tmp_path, monkeypatch):
        monkeypatch.setattr(toolchain, "__file__", f"{tmp_path}/package/host/toolchain.py")
        with pytest.raises(ToolchainError, match="force-reinstall tvmffi-cubin"):
            toolchain.include_dir()
