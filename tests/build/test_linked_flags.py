"""What `extra_ldflags` names is part of what is built: it counts by its content."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import tvmffi_cubin as tc

KERNEL = 'extern "C" __global__ void k(float* x) { x[0] = 1; }'
SOURCE = 'extern "C" int part();\nint answer() { return part(); }'


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def make_part(answer, *, archive=None, shared=None):
    Path("part.c").write_text(f"int part(void) {{ return {answer}; }}")
    kind = ["-shared", "-o", shared] if shared else ["-c", "-o", "part.o"]
    Path(shared or archive or "part.o").parent.mkdir(exist_ok=True)
    subprocess.run(["cc", "-fPIC", *kind, "part.c"], check=True)
    if archive:
        Path(archive).unlink(missing_ok=True)
        subprocess.run(["ar", "rc", archive, "part.o"], check=True)


def answer(flags):
    options = {"functions": "answer", "extra_ldflags": flags}
    return tc.load_inline("linked", cpp_sources=SOURCE, **options).answer()


def built(flags):
    return tc.build_inline("linked", KERNEL, arch="sm_90", extra_ldflags=flags)


@pytest.mark.parametrize(
    ("flags", "archive"),
    [
        (["part.o"], None),
        (["-Llib", "-l:odd.name"], "lib/odd.name"),
        (["-Llib", "-Wl,--library=part"], "lib/libpart.a"),
        (["-lpart"], "lib/libpart.a"),
    ],
    ids=str,
)
def test_the_same_content_is_found_again_however_it_is_named(flags, archive, here, monkeypatch):
    monkeypatch.setenv("LIBRARY_PATH", str(here / "lib"))
    paths = []
    for value in (1, 2, 1):
        make_part(value, archive=archive)
        paths.append(built(flags))
    assert paths[0] == paths[2] != paths[1]


def test_only_a_version_script_takes_the_place_of_ours(here):
    Path("v.map").write_text("V1 { global: *; };")
    Path("version-script").mkdir()
    source = 'extern "C" int cudaOfMine() { return 1; }\nint answer() { return cudaOfMine(); }'

    def exported(flag):
        options = {"functions": "answer", "extra_ldflags": [flag]}
        path = tc.build_inline("linked", cpp_sources=source, **options)
        symbols = subprocess.run(["nm", "-D", path], check=True, capture_output=True, text=True)
        return "cudaOfMine" in symbols.stdout

    assert exported(f"-Wl,--version-script,{here}/v.map")
    assert not exported("-Lversion-script")


def test_a_symbol_that_is_missing_is_an_error_and_not_the_end_of_the_process(tmp_path):
    """Bound lazily, the first call of one ends the process."""
    (tmp_path / "part.c").write_text("int part(void) { return 1; }")
    # Of a name that no other test loads: the loader takes one that it has already for it.
    library = tmp_path / "libsoon_missing.so"
    command = ["cc", "-shared", "-fPIC", "-o", str(library), str(tmp_path / "part.c")]
    subprocess.run(command, check=True)
    source = 'extern "C" int part();\nint answer() { return part(); }'
    flags = [f"-L{tmp_path}", "-lsoon_missing", f"-Wl,-rpath,{tmp_path}"]
    path = tc.build_inline("missing", cpp_sources=source, functions="answer", extra_ldflags=flags)
    (tmp_path / "part.c").write_text("int other(void) { return 1; }")
    subprocess.run(command, check=True)
    with pytest.raises(tc.BuildError, match="undefined symbol: part"):
        tc.load_module(path)
