"""`inspect`: what it tells of a module, an object and an image; damaged files are ValueErrors."""

import contextlib
import json
import random
import struct
import subprocess
from pathlib import Path

import pytest
from file_kit import linked
from inline_source import SAXPY
from wrapper_sources import DRIVER, KERNELS

import tvmffi_cubin as tc
from tvmffi_cubin.__main__ import main

SOURCE = f"""{SAXPY}
extern "C" __global__ void fill(float* x, float value) {{ x[threadIdx.x] = value; }}
"""
FUNCTIONS = {
    "saxpy": tc.Launch(grid="ceil_div(n, 256)", block=256, args={"n": "x.numel"}, cluster=2),
    "fill": None,
}


@pytest.fixture(scope="module")
def module_so(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("inspect") / "libk.so"
    both = [tc.Launch(grid=1, block=block, kernel="fill") for block in (32, 64)]
    functions = {**FUNCTIONS, "both": both}
    tc.build_inline("k", SOURCE, functions=functions, arch=["sm_80", "sm_90"], output=path)
    return path


@pytest.fixture(scope="module")
def wrapper_o(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("inspect") / "wrapper.o"
    tc.build_inline("w", [KERNELS, DRIVER], arch="sm_90", output=path)
    return path


def test_a_module_tells_its_functions_and_launches(module_so: Path):
    found = tc.inspect(module_so)
    assert (found.kind, found.source) == ("module", str(module_so))
    assert found.size == module_so.stat().st_size
    saxpy, fill, both = found.functions.values()
    assert saxpy["params"] == [["a", "float"], ["x", "const float*"], ["y", "float*"]]
    (launch,) = saxpy["launches"]
    assert (launch["grid"], launch["args"]) == (["ceil_div(n, 256)"], {"n": "x.numel"})
    assert fill["launches"] == [{"kernel": "fill", "image": "kernels"}]
    assert [x["block"] for x in both["launches"]] == [[32], [64]]
    assert found.manifest["versions"]["tvmffi_cubin"] == tc.__version__


def test_its_views_are_text_and_json(module_so: Path, capsys):
    assert main(["inspect", str(module_so)]) == 0
    text = capsys.readouterr().out
    assert f"built with tvmffi_cubin {tc.__version__}, host_compiler " in text
    assert "\n  saxpy(float a, const float* x, float* y)\n" in text
    assert 'launches saxpy {"grid": ["ceil_div(n, 256)"], "block": [256], "args": {"n"' in text
    assert "launches fill with the shape that the caller passes\n" in text
    assert "\n\nimage kernels: fatbin for sm_80, sm_90, " in text
    assert main(["inspect", "--json", str(module_so)]) == 0
    values = json.loads(capsys.readouterr().out)
    assert values["manifest"]["functions"]["saxpy"]["launches"][0]["cluster"] == [2]
    older, newer = values["images"][0]["members"]
    assert (older["arch"], newer["arch"]) == ("sm_80", "sm_90")
    assert [kernel["demangled"] for kernel in older["kernels"]] == ["fill", "saxpy"]


def test_an_object_tells_its_images_and_functions(wrapper_o: Path):
    found = tc.inspect(wrapper_o)
    assert found.kind == "object"
    assert [(image.name, image.arch) for image in found.images] == [("kernels", "sm_90")]
    assert "add_one" in found.exports
    assert not any(found.functions.values())


def test_images_that_other_tools_embedded_are_found_by_their_symbols(here):
    cubin = tc.nvrtc.compile(SOURCE, arch="sm_90")
    Path("k.cubin").write_bytes(cubin.image)
    Path("k.s").write_text(
        '    .section .rodata,"a"\n    .globl __tvm_ffi__cubin_k\n__tvm_ffi__cubin_k:\n'
        '    .incbin "k.cubin"\n    .globl __tvm_ffi__cubin_k_end\n__tvm_ffi__cubin_k_end:\n'
    )
    subprocess.run(["as", "-o", "k.o", "k.s"], check=True)
    for file in ("k.o", linked("k.o")):
        found = tc.inspect(file)
        assert [(image.name, image.image) for image in found.images] == [("k", cubin.image)]
        assert {kernel.name for kernel in found.kernels} == {"saxpy", "fill"}


def test_an_image_is_inspected_from_bytes_and_as_a_cubin():
    cubin = tc.nvrtc.compile(SOURCE, arch="sm_90")
    for source in (cubin, cubin.image, bytearray(cubin.image)):
        found = tc.inspect(source)
        assert (found.kind, found.images[0].kernels) == ("cubin", cubin.kernels)
    ptx = tc.inspect(tc.nvrtc.compile(SOURCE, arch="compute_90"))
    assert (ptx.kind, ptx.images[0].arch) == ("ptx", "compute_90")
    unlinked = tc.nvrtc.compile(SOURCE, arch="sm_90", target_type="relocatable")
    assert tc.inspect(unlinked).kind == "relocatable"
    lto = tc.nvrtc.compile(SOURCE, arch="sm_90", target_type="ltoir")
    assert "It is not linked yet." in tc.inspect(lto).text()


def test_what_is_none_of_these_is_refused():
    for source, error, text in (
        (3, TypeError, "the argument of inspect .* bytes, a Cubin or a path, got int"),
        (b"__global__ void k() {}", ValueError, "bytes: not an image: it starts with b'__gl"),
        (b"\x7fELF", ValueError, "truncated"),
    ):
        with pytest.raises(error, match=text):
            tc.inspect(source)


def test_another_library_is_not_loaded(here, capsys):
    Path("loud.c").write_text("__attribute__((constructor)) void f(void) { __builtin_trap(); }\n")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", "loud.so", "loud.c"], check=True)
    assert main(["inspect", "loud.so"]) == 1
    error = capsys.readouterr().err
    assert error.startswith("tvmffi-cubin: error: loud.so: it has no image, manifest or fun")


def test_a_damaged_manifest_is_told(module_so: Path):
    data = bytearray(module_so.read_bytes())
    at = data.index(b'"ceil_div(n, 256)"')
    data[at + 1] ^= 1
    with pytest.raises(ValueError, match="its manifest is damaged"):
        tc.inspect(bytes(data))


def inspected(data: bytes) -> bool:
    """Whether damaged bytes can be read; anything but a ValueError fails the test."""
    with contextlib.suppress(ValueError):
        found = tc.inspect(data)
        return bool(found.text() and json.dumps(found.values()))
    return False


@pytest.mark.parametrize("which", ["module_so", "wrapper_o"])
def test_damaged_files_are_read_or_refused(which: str, request: pytest.FixtureRequest):
    data = request.getfixturevalue(which).read_bytes()
    note = data.index(b"tvmffi_cubin\0") - 12
    sections = struct.unpack_from("<Q", data, 40)[0]
    areas = [(0, 600), (note, note + 400), (sections, len(data) - 8), (0, len(data) - 8)]
    chance = random.Random(len(which))
    read = 0
    for _ in range(200):
        mutant = bytearray(data)
        for _ in range(chance.choice((1, 2, 8))):
            at = chance.randrange(*chance.choice(areas))
            word = chance.choice((0, 1, 2**31, 2**63, 2**64 - 1, chance.randrange(2**64)))
            mutant[at : at + 8] = struct.pack("<Q", word)
        read += inspected(bytes(mutant))
    assert 0 < read < 200
    for size in {*range(0, 200, 7), *range(0, len(data), max(1, len(data) // 50))}:
        inspected(data[:size])
