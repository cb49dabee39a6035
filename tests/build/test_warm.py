"""A run is recorded, built ahead by `tvmffi-cubin warm`, and answered where no compiler is."""

from __future__ import annotations

import json
import os
import sys

import pytest
from file_kit import ADD, write
from mixed_loader import ADD as MIXED
from processes import in_new_process

import tvmffi_cubin as tc
from tvmffi_cubin.__main__ import main
from tvmffi_cubin.cache.entry import Key
from tvmffi_cubin.inline.options import make_request
from tvmffi_cubin.inline.recording import arguments, read, request_of

KERNEL = 'extern "C" __global__ void k(float* x, int n) { x[0] = n; }'
WRAPPER = """
#include <tvm/ffi/container/tensor.h>
#include <tvmffi_cubin/tvmffi_cubin.h>
EMBED_CUBIN(kernels);
void launch(int n) {
  static auto kernel = EMBED_CUBIN_GET_KERNEL(kernels, "k");
  void *data = nullptr, *args[] = {&data, &n};
  tvmffi_cubin::CheckDriver(kernel.Launch(args, n, 1, nullptr));
}
"""
APPLICATION = """
import sys
import tvm_ffi
import tvmffi_cubin as tc
sys.path = [x for x in sys.path if x not in sys.argv[4:]]  # where NVIDIA's wheels are
kernel, wrapper, mixed = sys.argv[1:4]
def generate():
    return tc.nvrtc.compile(kernel, arch="sm_90a")
k = tc.Launch(grid="x.numel", block=1)
tc.load_inline("kernels", kernel, functions={"k": k})
tc.load_inline("named", kernel, arch=["sm_80", "sm_90"])
tc.load("files", sources=["add.cpp"], functions="add")
tc.load_inline("wrapper", [kernel, wrapper], functions="launch")
tc.load_inline("mixed", mixed, functions="vec_add")
tc.lazy("lazy", generate=generate, key=1).prepare()
"""


def test_a_recorded_run_starts_from_a_layer_without_compilers(
    here, capsys, monkeypatch, driver_stub
):
    monkeypatch.delenv("CXX", raising=False)
    write("add.cpp", ADD)
    texts = [KERNEL, WRAPPER, MIXED]
    common = {**os.environ, "TVMFFI_CUBIN_RECORD": "run"}
    for _ in range(2):
        in_new_process(APPLICATION, *texts, env={**common, "TVMFFI_CUBIN_ARCH": "sm_80"})

    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(here / "elsewhere"))
    assert main(["warm", "run", "--arch", "sm_80,sm_90a", "-o", "layer"]) == 0
    assert capsys.readouterr().out == "layer: 10 modules, 0 failed\n"

    common |= {"TVMFFI_CUBIN_CACHE": "require", "TVMFFI_CUBIN_CACHE_PATH": str(here / "layer")}
    common |= {"TVMFFI_CUBIN_CACHE_DIR": str(here / "none"), "TVMFFI_CUBIN_RECORD": "boot"}
    wheels = [x for x in sys.path if os.path.isdir(f"{x}/nvidia")]
    in_new_process(APPLICATION, *texts, *wheels, env={**common, "PATH": ""})
    lines = read("boot")
    assert len(lines) == 7
    assert {(line.outcome, line.where) for line in lines} == {("layer", str(here / "layer"))}
    assert lines[0].archs == ["sm_90a"]


def test_what_fails_is_reported_and_the_rest_is_built(here, capsys, monkeypatch):
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(here / "cache"))
    monkeypatch.setenv("TVMFFI_CUBIN_RECORD", "run")
    with pytest.raises(tc.CompileError):
        tc.build_inline("broken", KERNEL.replace("n;", "m;"), arch="sm_90")
    for _ in range(2):
        tc.build_inline("whole", KERNEL, extra_cuda_cflags=["-gencode=arch=compute_80,code=sm_80"])

    assert main(["warm", "run", "--arch", "sm_90,sm_100a"]) == 1
    out = capsys.readouterr().out
    assert "broken (sm_90): " in out
    assert out.endswith("/cache: 1 modules, 1 failed\n")

    assert main(["cache", "report", "run"]) == 0
    rows = [line.split()[:3] for line in capsys.readouterr().out.splitlines()]
    assert [row[2] for row in rows] == ["OUTCOME", "failed", "built", "hit", "in"]


CASES = {
    "blanks": {"cuda_sources": ["", KERNEL, " "], "cpp_sources": " ", "functions": []},
    "functions": {
        "functions": {
            "bare": None,
            "told": "What it does.",
            "one": tc.Launch(kernel="k", grid="n", block=(32, 2), args={"n": float("inf")}),
            "two": tc.Dispatch([tc.Launch(block=1), [tc.Launch(block=2), tc.Launch(block=3)]]),
        }
    },
    "flags": {
        "extra_cflags": ["-O1", "-Iinclude"],
        "extra_cuda_cflags": ["-rdc=true", "-dlto"],
        "extra_ldflags": ["-lm"],
        "extra_include_paths": ["include"],
    },
    "auto": {"compiler": "auto", "extra_cuda_cflags": ["-rdc=true"], "use_pch": False},
    "instances": {
        "name_expressions": ["f<1>"],
        "bound_params": ["n"],
        "output": "k.o",
        "arch": ("sm_90", "sm_80"),
    },
    "images": {
        "functions": {"f": tc.Launch(image=b"carried", params="")},
        "embed_cubin": {"a": tc.Cubin(b"image", "sm_90", {"f<1>": "f"}, signatures={"f": ""})},
        "device_libraries": [b"library"],
        "ptx": "keep",
    },
    "a file": {
        "cuda_sources": None,
        "embed_cubin": {"later": tc.ImageFile("later.cubin", generate=print)},
        "build_directory": "made",
        "functions": {"k": tc.Launch(image="later", params="float* x")},
    },
}


@pytest.mark.parametrize("case", CASES)
def test_a_request_is_the_same_in_a_record(case):
    request = make_request("same", **{"cuda_sources": KERNEL, **CASES[case]})
    values = json.loads(json.dumps(arguments(request, ["sm_90"])))
    again = request_of("same", **values)
    keys = [Key("test"), Key("test")]
    request.add_to(keys[0])
    again.add_to(keys[1])
    assert keys[0].fields() == keys[1].fields()
    assert request._replace(target=again.target).for_nvcc == again.for_nvcc


def test_no_line_of_a_record_is_told_with_its_place(here, capsys):
    write("run", "{}\n")
    assert main(["warm", "run"]) == 1
    assert "run:1: not a line of a record" in capsys.readouterr().err
