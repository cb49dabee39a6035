"""What `extra_ldflags` names is part of what is built: it counts by its content."""

from pathlib import Path

import pytest
from file_kit import compiled, write
from processes import run

import tvmffi_cubin as tc

KERNEL = 'extern "C" __global__ void k(float* x) { x[0] = 1; }'
SOURCE = 'extern "C" int part();\nint answer() { return part(); }'


def make_part(answer, archive=None):
    made = compiled("cc", write("part.c", f"int part(void) {{ return {answer}; }}"))
    if archive:
        Path(archive).parent.mkdir(exist_ok=True)
        Path(archive).unlink(missing_ok=True)
        run("ar", "rcD", archive, made)


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
    (here / "early").mkdir()
    monkeypatch.setenv("LIBRARY_PATH", f"{here}/early:{here}/lib")
    paths = []
    for value in (1, 2, 1):
        make_part(value, archive)
        paths.append(built(flags))
    assert paths[0] == paths[2] != paths[1]
    if flags == ["-lpart"]:
        make_part(3, "early/libpart.a")
        assert built(flags) not in paths


def test_only_a_version_script_takes_the_place_of_ours(here):
    Path("v.map").write_text("V1 { global: *; };")
    Path("version-script").mkdir()
    source = 'extern "C" int cudaOfMine() { return 1; }\nint answer() { return cudaOfMine(); }'

    def exported(flag):
        options = {"functions": "answer", "extra_ldflags": [flag]}
        path = tc.build_inline("linked", cpp_sources=source, **options)
        return "cudaOfMine" in run("nm", "-D", path)

    assert exported(f"-Wl,--version-script,{here}/v.map")
    assert not exported("-Lversion-script")


def test_a_symbol_that_is_missing_is_an_error_and_not_the_end_of_the_process(here):
    """Bound lazily, the first call of one ends the process."""
    options = {"extra_ldflags": [f"-L{here}", "-lsoon_missing", f"-Wl,-rpath,{here}"]}
    for name in ("part", "other"):
        # Of a name that no other test loads: the loader takes one that it has already for it.
        source = write("soon.c", f"int {name}(void) {{ return 1; }}")
        run("cc", "-shared", "-fPIC", "-o", "libsoon_missing.so", source)
        if name == "part":
            path = tc.build_inline("missing", cpp_sources=SOURCE, functions="answer", **options)
    with pytest.raises(tc.BuildError, match="undefined symbol: part"):
        tc.load_module(path)
