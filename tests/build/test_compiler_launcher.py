"""The example for compiler authors: its description over the driver stand-in, to the byte."""

from __future__ import annotations

import ast
import ctypes
from pathlib import Path

from stub.cuda_array import cuda_array
from stub.driver_stub import DriverStub
from stub.encoded_map import EncodedMap

import tvmffi_cubin as tc

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "compiler_launcher.py"
PDL = 6


def constants() -> dict[str, str]:
    """The texts that the example consists of."""
    assigned = [x for x in ast.parse(EXAMPLE.read_text()).body if isinstance(x, ast.Assign)]
    return {ast.unparse(x.targets[0]): ast.literal_eval(x.value) for x in assigned}


def test_the_whole_of_it_is_under_80_lines():
    text = EXAMPLE.read_text()
    assert len([line for line in text.splitlines() if "[docs:" not in line]) < 80


def test_its_kernels_are_launched_on_the_stream_and_device_that_the_call_says(
    driver_stub: DriverStub,
):
    texts = constants()
    cubin = tc.nvrtc.nvrtc_compile(texts["DEVICE_CODE"], arch="sm_90a")
    mod = tc.load_description(texts["DESCRIPTION"].encode(), name="acme", embed_cubin=cubin)
    x, y = (cuda_array(driver_stub, (100, 48), device=1) for _ in range(2))
    sums = cuda_array(driver_stub, 100, device=1)
    with driver_stub.stream(1) as stream:
        mod.normalize(x, sums, y, ctypes.c_void_p(stream), 1)
        first, second = driver_stub.launches()
    assert [first.kernel, second.kernel] == ["acme_sums_kernel_f32", "acme_sums_kernel_1_f32"]
    assert [(one.stream, one.device) for one in (first, second)] == [(stream, 1)] * 2
    assert [one.grid for one in (first, second)] == [(4, 1, 1), (100, 1, 1)]
    assert [one.block for one in (first, second)] == [(32, 1, 1), (128, 1, 1)]
    assert [list(one.attributes) for one in (first, second)] == [[], [PDL]]
    made = EncodedMap.of(first.params[0])
    assert (made.address, made.dims, made.box) == (x.data_ptr, (48, 100), (32, 32))
    address = {name: one.data_ptr.to_bytes(8, "little") for name, one in
               {"x": x, "sums": sums, "y": y}.items()}  # fmt: skip
    rows, columns = ((100).to_bytes(4, "little"), (48).to_bytes(4, "little"))
    assert first.params[1:] == (address["sums"], rows, columns)
    assert second.params == (address["x"], address["sums"], address["y"], columns)
