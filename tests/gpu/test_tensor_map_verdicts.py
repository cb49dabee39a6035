"""What newer devices have of tensor maps: taken, or named where the device lacks it."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tensor_map_cases import TYPES, Tiled, driver_answer

import tvmffi_cubin as tc

TESTS = Path(__file__).parents[1]

torch = pytest.importorskip("torch", reason="the GPU tests compare with torch, which is missing")

if torch.cuda.is_available() and torch.cuda.get_device_capability()[0] < 9:
    pytest.skip("tensor maps need a device of 9.0", allow_module_level=True)

KERNEL = 'struct Map { char x[128]; }; extern "C" __global__ void mapped(Map map, int n) {}'


@pytest.fixture(scope="module")
def maps(tmp_path_factory):
    image = tc.nvrtc.compile(KERNEL)
    return tc.load(
        "gpu_verdicts", sources=[TESTS / "cpp" / "tensor_maps.cc"], embed_cubin={"kernels": image}
    )


@pytest.fixture(scope="module")
def base():
    return torch.zeros(1 << 20, dtype=torch.uint8, device="cuda")


def verdicts(maps, base, asked):
    """Our verdict and the driver's: whether each takes a map."""
    address = base.data_ptr() + asked.address % (1 << 20)
    asked = replace(asked, address=address)
    answer = driver_answer(ctypes.CDLL("libcuda.so.1"), asked)
    try:
        asked.make(maps)
    except ValueError:
        return False, answer == 0
    except tc.LaunchError:
        pass  # it passed our checks
    return True, answer == 0


def test_what_newer_devices_have_is_taken_or_named(maps, base):
    """Packed types and swizzles of larger atoms: printed, since it is the driver's to say."""
    newer = torch.cuda.get_device_capability()[0] >= 10
    for change in (
        *({"swizzle": n} for n in (4, 5, 6)),
        *({"type": n, "box": (1, 128)} for n in (13, 14, 15)),
    ):
        ours, theirs = verdicts(maps, base, replace(Tiled(), **change))
        name = TYPES[change["type"]] if "type" in change else f"swizzle {change['swizzle']}"
        print(f"{name}: we {ours}, the driver {theirs}")
        assert ours
        if newer:
            assert theirs, name


LARGER_ATOMS = ("128B_atom_32B", "128B_atom_32B_flip_8B", "128B_atom_64B")
ATOMS = """
import sys
sys.path.insert(0, sys.argv[1])
import torch
import tvmffi_cubin as tc
from gpu.tensor_map_reference import box_of, bytes_of, swizzled
from gpu.test_tensor_maps import load, random
x = random(40, 64)
for swizzle in ("128B_atom_32B", "128B_atom_32B_flip_8B", "128B_atom_64B"):
    box = (16, 32)
    expected = bytes_of(box_of(x, (2, 32), box))
    try:
        data = load(x, tc.TensorMap(box_dim=box, swizzle=swizzle), (2, 32), expected.numel())
        torch.cuda.synchronize()
    except tc.LaunchError as error:
        assert "compute capability 10.0" in str(error), error
        print(swizzle, "refused")
        continue
    if swizzle == "128B_atom_32B_flip_8B":
        same = torch.equal(data.sort().values, expected.sort().values)
    else:
        same = torch.equal(data, swizzled(expected, swizzle))
    print(swizzle, "as expected" if same else "differs")
"""


def test_swizzles_of_larger_atoms():
    # In a process of its own: what a device does with a mode that it lacks may end its context.
    done = subprocess.run(
        [sys.executable, "-c", ATOMS, str(TESTS)], capture_output=True, text=True, timeout=300
    )
    print(done.stdout, done.stderr[-2000:])
    assert done.returncode == 0
    if torch.cuda.get_device_capability()[0] < 10:
        assert done.stdout.split() == [x for name in LARGER_ATOMS for x in (name, "refused")]
    else:
        assert "differs" not in done.stdout
