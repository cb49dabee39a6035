"""The second time: the same path, no process, no compiler; and when it must be built anew."""

import os
from pathlib import Path

import pytest
from processes import in_new_process
from stub.cuda_array import cuda_array

import tvmffi_cubin as tc
from tvmffi_cubin.cache import files

SOURCE = 'extern "C" __global__ void k(float* x, int n) { x[0] = n; }'
FUNCTIONS = {"k": tc.Launch(grid="x.numel", block=1)}


def built(source=SOURCE, *, name="hits", **options) -> str:
    return tc.build_inline(name, source, **{"arch": "sm_90", "functions": FUNCTIONS} | options)


# Hits


def test_a_hit_in_a_new_process_imports_no_compiler_and_spawns_no_process():
    files._answers.clear()  # what is known of tools by another test's cache folder
    path = built()
    code = """
import os, subprocess, sys
import tvm_ffi  # which spawns a process itself
def refuse(*args, **kwargs):
    raise AssertionError(f"a process is spawned: {args}")
subprocess.Popen = os.system = os.posix_spawn = os.fork = refuse
import tvmffi_cubin as tc
source = sys.argv[1]
functions = {"k": tc.Launch(grid="x.numel", block=1)}
mod = tc.load_inline("hits", source, functions=functions, arch="sm_90")
mod.k
print(mod.path)
print(*sorted(name for name in sys.modules if "." in name or "_" in name))
"""
    found, names = in_new_process(code, SOURCE).split("\n")
    assert found == path
    forbidden = {
        *("sources.facts", "device", "kernels", "functions", "formats", "triton"),
        *("inline.build", "inline.assemble", "inline.images", "commands"),
        *("cuda.driver", "cuda.nvrtc", "cuda.program"),
        *("host.steps", "host.build", "host.process"),
        *("cache.history", "cache.info", "cache.publish", "cache.upkeep", "cache.remote"),
        *("launches.tensor_map", "module.occupancy", "module.configured"),
    }
    imported = set(names.split())
    assert imported.isdisjoint(f"tvmffi_cubin.{name}" for name in forbidden)
    assert "tvmffi_cubin.module" in imported


# Misses


def test_a_changed_header_builds_anew_and_back_again_hits(tmp_path):
    header = tmp_path / "answer.h"
    source = '#include "answer.h"\nextern "C" __global__ void k(float* x) { x[0] = ANSWER; }'
    options = {"extra_include_paths": [tmp_path], "functions": None}
    header.write_text("#define ANSWER 1\n")
    first = built(source, **options)
    assert built(source, **options) == first
    header.write_text("#define ANSWER 2\n")
    second = built(source, **options)
    assert second != first
    assert images_of(second) != images_of(first)
    header.write_text("#define ANSWER 1\n")
    assert built(source, **options) == first


def test_what_nobody_can_tell_the_headers_of_is_built_each_time(tmp_path, caplog):
    header = tmp_path / "answer.h"
    source = """
#define STRING(x) #x
#include STRING(answer.h)
extern "C" __global__ void k(float* x) { x[0] = ANSWER; }
"""
    options = {"extra_include_paths": [tmp_path], "functions": None}
    header.write_text("#define ANSWER 1\n")
    first = images_of(built(source, **options))
    header.write_text("#define ANSWER 2\n")
    assert images_of(built(source, **options)) != first
    assert "a header is included by STRING(...)" in caplog.text


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


# Where things go


def test_a_build_directory_gets_a_copy_that_loading_does_not_use(tmp_path, driver_stub):
    folder = tmp_path / "new" / "out"
    copy = built(build_directory=folder)
    assert copy == str(folder / "hits.so")
    mod = tc.load_inline("hits", SOURCE, functions=FUNCTIONS, arch="sm_90", build_directory=folder)
    assert mod.path == built() != copy
    assert Path(copy).read_bytes() == Path(mod.path).read_bytes()
    assert sorted(os.listdir(folder)) == ["hits.so"]
    Path(copy).write_bytes(b"broken")
    mod.k(cuda_array(driver_stub, 3), 1)
    assert driver_stub.launches()[0].grid == (3, 1, 1)
    assert built(build_directory=folder) == copy
    assert Path(copy).read_bytes() == Path(mod.path).read_bytes()
