"""nvFatbin, and fatbins and PTX that were made elsewhere."""

from __future__ import annotations

import os
import struct

import pytest
from fatbin_builder import PTX, SPECIFIC, Row, fatbin
from several_architectures import (
    EVERYTHING,
    SOURCE,
    THREE,
    as_new_as_nvrtc,
    launched,
    needs_sm_100a,
)
from stub.cuda_array import cuda_array
from stub.driver_stub import DriverStub

import tvmffi_cubin as tc
from tvmffi_cubin import nvrtc

pytestmark = needs_sm_100a


@pytest.fixture
def driver_stub(driver_stub: DriverStub) -> DriverStub:
    return as_new_as_nvrtc(driver_stub)


# Fatbins and PTX that were made elsewhere


def embedded(image, **kernels: str) -> tc.Module:
    functions = {k: tc.Launch(grid=1, block=1, params=v) for k, v in kernels.items()}
    images = {"image": image}
    return tc.load_inline("embedded", embed_cubin=images, functions=functions, ptx="keep")


@pytest.mark.parametrize("arch", [THREE, "compute_80", EVERYTHING])
def test_kernels_of_a_given_image_are_launched_by_declared_parameters(arch, driver_stub):
    given = nvrtc.compile(SOURCE, arch=arch)
    mod = embedded(given.image, add="float* x, int n")
    assert mod.cubins["image"].archs == given.archs
    mod.add(cuda_array(driver_stub, 4), 9)
    assert struct.unpack("<i", driver_stub.launches()[0].params[1]) == (9,)


def test_a_kernel_that_cannot_be_read_says_why():
    data = fatbin(Row(80, b"\x28\xb5\x2f\xfd", flags=0x8000, full=99))
    with pytest.raises(
        ValueError, match="no kernel 'add'.*; image 'image': the member for sm_80: "
    ):
        embedded(data, add="float* x")


@pytest.mark.parametrize("kinds", [("relocatable",), ("relocatable", "ltoir")])
def test_a_fatbin_of_code_that_is_yet_to_be_linked_is_refused(kinds):
    made = [nvrtc.compile(SOURCE, arch="sm_90", target_type=kind).image for kind in kinds]
    rows = [Row(90, x, kind=8 if x.startswith(b"\xed") else 2) for x in made]
    with pytest.raises(ValueError, match="embed_cubin.*yet to be linked.*device_libraries"):
        embedded(fatbin(*rows), add="float* x, int n")


# nvFatbin itself


def test_hand_made_fatbins_are_what_nvfatbin_makes(driver_stub):
    new, ptx = nvrtc.compile(SOURCE, arch="sm_90a"), nvrtc.compile(SOURCE, arch="compute_80")
    made = fatbin(Row(90, new.image, flags=SPECIFIC), Row(80, ptx.image, PTX))
    embedded(made, add="float* x, int n").add(cuda_array(driver_stub, 4), 9)
    assert launched(driver_stub) == [(0, "sm_90a")]
    assert os.path.exists(embedded(made, add="float* x, int n").path)
