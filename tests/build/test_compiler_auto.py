"""compiler="auto": what NVRTC builds is NVRTC's; what it refuses nvcc builds, once."""

import logging
import subprocess

import pytest
from nvcc_kit import FakeNvcc

import tvmffi_cubin as tc

KERNEL = 'extern "C" __global__ void one(float* x) { x[0] = 1; }'
MIXED = KERNEL + "\nint run() { one<<<1, 1>>>(nullptr); return 3; }"
# The stand-in alone declares that.
OF_NVCC = "int run() { return cudaOfTheFake(); }"
OPTIONS = {"compiler": "auto", "arch": "sm_90"}


@pytest.fixture(scope="module")
def toolkit(tmp_path_factory, _own_environment) -> FakeNvcc:
    return FakeNvcc(tmp_path_factory.mktemp("toolkit") / "cuda")


@pytest.fixture
def fake(toolkit, monkeypatch) -> FakeNvcc:
    """The stand-in, as the nvcc to use."""
    for name in ("NVCC_CCBIN", "NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS", "CXX"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TVMFFI_CUBIN_NVCC", str(toolkit.path))
    toolkit.commands()
    return toolkit


def test_what_nvrtc_builds_is_what_nvrtc_has_built(fake):
    built = tc.build_inline("ours", MIXED, functions="run", **OPTIONS)
    assert built == tc.build_inline("ours", MIXED, functions="run", arch="sm_90")
    assert fake.commands() == []


def test_what_nvrtc_refuses_nvcc_builds_once_and_says_why(fake, caplog, monkeypatch):
    with caplog.at_level(logging.WARNING, "tvmffi_cubin"):
        mod = tc.load_inline("theirs", OF_NVCC, functions={"run": "Seven."}, **OPTIONS)
    assert (mod.run(), mod.run.__doc__) == (7, "Seven.")
    (said,) = caplog.messages
    assert said.startswith("theirs is built by nvcc, because of: ")
    assert "cudaOfTheFake" in said
    assert len(fake.commands()) == 1

    with monkeypatch.context() as patch:
        patch.setattr(subprocess, "Popen", None)
        again = tc.load_inline("theirs", OF_NVCC, functions={"run": "Seven."}, **OPTIONS)
    assert again.path == mod.path
    assert len(caplog.messages) == 1
    with pytest.raises(tc.BuildError):
        tc.load_inline("theirs", OF_NVCC, functions={"run": "Seven."}, arch="sm_90")


def test_without_nvcc_the_error_is_ours_and_says_where_nvcc_comes_from(fake, monkeypatch):
    monkeypatch.setenv("TVMFFI_CUBIN_NVCC", "/nowhere")
    with pytest.raises(tc.BuildError, match="(?s)cudaOfTheFake.*Hint: nvcc may build it: .*/nowh"):
        tc.load_inline("nobody", OF_NVCC, functions="run", **OPTIONS)


@pytest.mark.parametrize(
    ("source", "options"),
    [(KERNEL.replace("1;", "nothing;"), {}), (OF_NVCC, {"functions": "run", "lto": True})],
)
def test_kernels_alone_and_options_of_nvrtc_are_for_nvrtc(fake, source, options):
    with pytest.raises((tc.CompileError, tc.BuildError)):
        tc.load_inline("mistake", source, **options, **OPTIONS)
    assert fake.commands() == []


def test_what_neither_builds_is_an_error_of_both(fake):
    with pytest.raises(tc.BuildError, match=r"bad.*failed") as failed:
        tc.load_inline("bad", "int f() { return nothing; }", functions="f", **OPTIONS)
    assert failed.value.command.startswith(str(fake.path))
    assert "nothing" in str(failed.value.__cause__)


def test_nvcc_builds_a_managed_variable(fake, caplog):
    theirs = "#ifdef OF_THE_FAKE\nint run() { return 7; }\n#else\n"
    ours = "__managed__ int seen;\n" + MIXED.replace("= 1", "= seen")
    mod = tc.load_inline("managed", f"{theirs}{ours}\n#endif", functions="run", **OPTIONS)
    assert mod.run() == 7
    told = "managed is built by nvcc, because of: managed.cu:4: seen is a __managed__ variable"
    assert told in caplog.messages
