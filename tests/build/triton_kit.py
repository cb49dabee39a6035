"""What tests of Triton's kernels share; skipped, with the reason, where Triton is missing."""

import os
import struct
from typing import Any

import pytest
from stub.driver_stub import DriverStub, Launch

import tvmffi_cubin as tc

triton: Any = pytest.importorskip(
    "triton", reason="Triton is not installed; run: pip install 'tvmffi-cubin[triton]'"
)

VERSION = tuple(map(int, triton.__version__.split(".")[:2]))
"""The version of the Triton that is tested."""

CLUSTER, POLICY, PDL, COOPERATIVE = 4, 5, 6, 2


@pytest.fixture(scope="module", autouse=True)
def triton_cache(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A cache of Triton's for these tests alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRITON_CACHE_DIR", str(tmp_path_factory.mktemp("triton")))
        patch.delenv("TRITON_INTERPRET", raising=False)
        yield


def load(name: str, **functions: Any) -> tc.Module:
    """Return a module of Triton functions."""
    return tc.load_inline(name, functions=functions)


def only(stub: DriverStub) -> Launch:
    """Return the one launch."""
    (launch,) = stub.launches()
    return launch


def flag(value: int = 1) -> bytes:
    """Return the bytes of an attribute that is a number."""
    return struct.pack("<i", value).ljust(64, b"\0")


def dims(x: int, y: int = 1, z: int = 1) -> bytes:
    """Return the bytes of an attribute that has dimensions."""
    return struct.pack("<3I", x, y, z).ljust(64, b"\0")


os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")  # else it warns
