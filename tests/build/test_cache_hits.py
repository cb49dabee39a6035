"""The second time: the same path, no process, no compiler; and when it must be built anew."""

import logging
from pathlib import Path

import pytest
from file_kit import write
from processes import in_new_process
from stub.cuda_array import cuda_array

import tvmffi_cubin as tc
from tvmffi_cubin.cache import files
from tvmffi_cubin.cache.store import counts, events

SOURCE = 'extern "C" __global__ void k(float* x, int n) { x[0] = n; }'
FUNCTIONS = {"k": tc.Launch(grid="x.numel", block=1)}


def built(source=SOURCE, *, name="hits", **options) -> str:
    return tc.build_inline(name, source, **{"arch": "sm_90", "functions": FUNCTIONS} | options)


def test_a_hit_in_a_new_process_imports_no_compiler_and_spawns_no_process():
    files._answers.clear()  # what is known of tools by another test's cache folder
    path = built()
    code = """
import os, subprocess, sys
import tvm_ffi  # which spawns a process itself
subprocess.Popen = os.system = os.posix_spawn = os.fork = None
import tvmffi_cubin as tc
functions = {"k": tc.Launch(grid="x.numel", block=1)}
mod = tc.load_inline("hits", sys.argv[1], functions=functions, arch="sm_90")
mod.k
print(mod.path)
print(*sys.modules)
"""
    found, names = in_new_process(code, SOURCE).split("\n")
    assert found == path
    forbidden = {
        *("sources.facts", "device", "kernels", "functions", "formats", "triton"),
        *("inline.build", "inline.images", "commands"),
        *("cuda.nvrtc", "cuda.program"),
        *("host.steps", "host.build", "host.process"),
        *("cache.info", "cache.publish", "cache.upkeep", "cache.remote"),
        *("launches.tensor_map", "module.occupancy", "module.configured"),
    }
    imported = set(names.split())
    assert imported.isdisjoint(f"tvmffi_cubin.{name}" for name in forbidden)
    assert "tvmffi_cubin.module" in imported


def test_what_nobody_can_tell_the_headers_of_is_built_each_time(tmp_path, caplog):
    header = tmp_path / "answer.h"
    source = """
#define HEADER(x, y) <x##y>
#include HEADER(answer, .h)
extern "C" __global__ void k(float* x) { x[0] = ANSWER; }
"""
    options = {"extra_include_paths": [tmp_path], "functions": None}
    header.write_text("#define ANSWER 1\n")
    first = images_of(built(source, **options))
    header.write_text("#define ANSWER 2\n")
    assert images_of(built(source, **options)) != first
    assert "an #include of HEADER(...) names" in caplog.text


@pytest.mark.parametrize("host", ["", "int f() { k<<<1, 1>>>(nullptr); return 0; }"])
def test_a_librarys_header_that_macros_name_counts_by_its_content(host, tmp_path):
    header = write(tmp_path / "cute/one/answer.h", "#define ANSWER 1\n")
    text = """
#define ROOT cute/KIND
#define KIND one
#define PART(name) <ROOT/name>
#include PART(answer.h)
"""
    write(tmp_path / "cute/all.h", text)
    source = f"""#include <cute/all.h>
__global__ void k(float* x) {{ x[0] = ANSWER; }}
{host}"""
    options = {"extra_include_paths": [tmp_path], "functions": ["f"] if host else None}
    first = built(source, **options)
    assert built(source, **options) == first
    header.write_text("#define ANSWER 2\n")
    assert built(source, **options) != first


@pytest.mark.parametrize("flags", [["-I", "inc"], ["-include", "inc/answer.h"]])
def test_a_relative_path_in_the_flags_is_another_one_in_another_folder(
    flags, tmp_path, monkeypatch
):
    include = "" if "-include" in flags else "#include <answer.h>\n"
    source = f'{include}extern "C" __global__ void k(float* x) {{ x[0] = ANSWER; }}'
    images = {}
    for answer in (1, 2):
        header = tmp_path / str(answer) / "inc" / "answer.h"
        header.parent.mkdir(parents=True)
        header.write_text(f"#define ANSWER {answer}\n")
        monkeypatch.chdir(header.parent.parent)
        images[answer] = images_of(built(source, functions=None, extra_cuda_cflags=flags))
    assert images[1] != images[2]
    header.write_text("#define ANSWER 1\n")
    assert images_of(built(source, functions=None, extra_cuda_cflags=flags)) == images[1]


def images_of(path: str) -> bytes:
    return (Path(path).parent / "kernels.cubin").read_bytes()


def test_a_build_directory_gets_a_copy_that_loading_does_not_use(tmp_path, driver_stub):
    copy = Path(built(build_directory=tmp_path))
    assert copy == tmp_path / "hits.so"
    options = {"functions": FUNCTIONS, "arch": "sm_90", "build_directory": tmp_path}
    mod = tc.load_inline("hits", SOURCE, **options)
    assert mod.path == built() != str(copy)
    copy.write_bytes(b"broken")
    mod.k(cuda_array(driver_stub, 3), 1)
    assert driver_stub.launches()[0].grid == (3, 1, 1)
    assert built(build_directory=tmp_path) == str(copy)
    assert copy.read_bytes() == Path(mod.path).read_bytes()


# What `cache_info` and the log say of look-ups


@pytest.fixture
def info(here, monkeypatch, caplog):
    """A cache of the test's own, counted from now on; returns `cache_info`."""
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(here / "cache"))
    caplog.set_level(logging.DEBUG, "tvmffi_cubin")
    write("f.c", "#include <x.h>\nint f(void) { return X; }\n")
    write("inc/x.h", "#define X 1\n")
    counts.clear()
    events.clear()
    return tc.cache_info


def built_in_c(name: str = "seen", **options) -> str:
    return tc.build(name, **{"sources": "f.c", "extra_include_paths": ["inc"]} | options)


def test_hits_misses_builds_and_failures_are_counted(info, here, monkeypatch):
    found = info()
    assert (found.folder, found.mode, found.events) == (str(here / "cache"), "on", ())
    for _ in range(3):
        built_in_c()
    found = info()
    assert (found.hits, found.misses, found.builds, found.remote_hits) == (2, 1, 1, 0)
    assert [f"{x.name} {x.outcome}" for x in found.events] == ["seen built", "seen hit", "seen hit"]
    assert "2 hits, 1 misses: 1 built" in str(found)
    write("f.c", "int f(void) { return y; }\n")
    with pytest.raises(tc.BuildError):
        built_in_c()
    assert (info().events[-1].outcome, info().misses, info().builds) == ("failed", 2, 1)
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE", "off")
    built_in_c("off", sources=write("g.c", "int g;"))
    assert info().events[-1].reason == "TVMFFI_CUBIN_CACHE=off"


def test_a_miss_says_which_field_differs_from_the_nearest_entry(info, caplog):
    built_in_c()
    built_in_c(extra_cflags=["-O1"])
    built_in_c(extra_cflags=["-O3"])
    told = 'compared with the nearest entry, extra_cflags is ["-O3"], was ["-O1"]'
    assert info().events[-1].reason.endswith(told)
    assert told in caplog.text


def test_hits_of_layers_and_of_the_process_s_own_folder_are_told(info, here, monkeypatch):
    built_in_c()
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_PATH", str(here / "cache"))
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(here / "other"))
    built_in_c()
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE", "read")
    built_in_c("more")
    built_in_c("more")
    assert [x.outcome for x in info().events] == ["built", "layer", "built", "private"]
    assert (info().layers, info().mode, info().hits) == ((str(here / "cache"),), "read", 2)


def test_where_nothing_may_be_built_a_miss_is_an_error_that_says_what_differs(info, monkeypatch):
    built_in_c(extra_cflags=["-O1"])
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE", "require")
    built_in_c(extra_cflags=["-O1"])
    told = "seen is not in the cache, and .*=require forbids .*: .*extra_cflags is .*O3.*, was .*O1"
    with pytest.raises(tc.CacheError, match=told):
        built_in_c(extra_cflags=["-O3"])
    assert [x.outcome for x in info().events] == ["built", "hit", "failed"]
