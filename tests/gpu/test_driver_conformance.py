"""The driver at hand answers as the stand-in does: tests against that one mean something."""

from __future__ import annotations

import ctypes
import json
import subprocess
import sys
from pathlib import Path

import pytest
from stub.conformance import expected_answers
from stub.images import write_images

from tvmffi_cubin import nvrtc

TESTS = Path(__file__).parents[1]


def test_the_driver_answers_as_recorded(tmp_path: Path) -> None:
    driver, value = ctypes.CDLL("libcuda.so.1"), ctypes.c_int()
    capability = []
    for attribute in (75, 76):
        driver.cuDeviceGetAttribute(ctypes.byref(value), attribute, 0)
        capability.append(value.value)
    if capability != [9, 0]:
        pytest.skip(f"the answers were recorded on a device of 9.0, this is one of {capability}")
    if nvrtc.version() < (12, 8):
        pytest.skip(
            "its images for sm_100 need NVRTC 12.8, TVMFFI_CUBIN_CUDA asks for an older one"
        )
    command = [sys.executable, "-m", "stub.conformance", "libcuda.so.1"]
    done = subprocess.run(
        [*command, str(write_images(tmp_path))],
        cwd=TESTS,
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout) == expected_answers()
