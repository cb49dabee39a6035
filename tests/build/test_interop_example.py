"""The CuPy branch of its example, without CuPy: arrays and streams of the driver stand-in."""

from __future__ import annotations

import ctypes
import importlib.machinery
import importlib.util
import runpy
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from stub.cuda_array import CudaArray, cuda_array, cuda_copy
from stub.driver_stub import DriverStub
from stub.record import Launch

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


class Array(CudaArray):
    """The little of cupy.ndarray that the example uses."""

    def __imul__(self, factor: float) -> Array:
        self.numpy *= factor
        return self


class Stream:
    """The little of cupy.cuda.Stream that the example uses; one is current at a time."""

    device_id = 0
    current: Stream | None = None

    def __init__(self, handle: int) -> None:
        self.ptr = handle

    def __enter__(self) -> Stream:
        Stream.current = self
        return self

    def __exit__(self, *error: object) -> None:
        Stream.current = None


def as_cupy(array: CudaArray) -> CudaArray:
    array.__class__ = Array
    return array


@pytest.fixture
def stream(driver_stub: DriverStub, monkeypatch: pytest.MonkeyPatch) -> Stream:
    """A module called cupy, whose only stream this is."""
    with driver_stub.stream() as handle:
        stream = Stream(handle)
        cupy = ModuleType("cupy")
        cupy.__spec__ = importlib.machinery.ModuleSpec("cupy", None)
        cupy.asarray = lambda array: as_cupy(cuda_copy(driver_stub, array))
        cupy.empty_like = lambda array: as_cupy(cuda_array(driver_stub, array.shape, "float64"))
        cupy.asnumpy = lambda array: array.numpy.copy()
        cupy.cuda = ModuleType("cupy.cuda")
        cupy.cuda.Stream = lambda non_blocking: stream
        cupy.cuda.get_current_stream = lambda: Stream.current
        monkeypatch.setitem(sys.modules, "cupy", cupy)
        # By its path: tests/gpu may be imported under the same name.
        spec = importlib.util.spec_from_file_location("gpu", EXAMPLES / "gpu.py")
        gpu = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(gpu)
        monkeypatch.setitem(sys.modules, "gpu", gpu)
        yield stream


def hypotenuse(launch: Launch) -> None:
    *addresses, n = launch.values("PPPi")
    a, b, c = (np.frombuffer((ctypes.c_double * n).from_address(address)) for address in addresses)
    c[:] = np.hypot(a, b)


def test_every_launch_is_on_the_stream_of_cupy(
    driver_stub: DriverStub, stream: Stream, capsys: pytest.CaptureFixture[str]
) -> None:
    driver_stub.set_kernel("_Z10hypotenusePKdS0_Pdi", hypotenuse)
    runpy.run_path(str(EXAMPLES / "cupy_numpy_interop.py"), run_name="__main__")
    assert [launch.stream for launch in driver_stub.launches()] == [stream.ptr] * 2
    assert capsys.readouterr().out.endswith("on arrays of CuPy: the numbers are NumPy's\n")
