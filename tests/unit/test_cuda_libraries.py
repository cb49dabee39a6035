"""Which build of a library of CUDA's is used: read from wherever the file says it."""

import pytest

from tvmffi_cubin.cuda import libraries
from tvmffi_cubin.cuda.libraries import Cuda

BUILD = bytes(range(20))


@pytest.mark.parametrize("before", [0, 64, 8192, 1 << 20])
@pytest.mark.parametrize("after", [0, 16])
def test_the_build_counts_where_the_note_is_first_or_last(tmp_path, before, after):
    library = tmp_path / "libnvrtc.so.12"
    library.write_bytes(bytes(before) + libraries._BUILD_ID + BUILD + bytes(after))
    cuda = Cuda(12, {"nvrtc": str(library)})
    assert cuda.identity("nvrtc") == f"nvrtc 12, build {BUILD.hex()}"


def test_a_library_that_does_not_say_its_build_is_known_by_its_size(tmp_path):
    library = tmp_path / "libnvrtc.so.12"
    library.write_bytes(bytes(9000))
    assert Cuda(12, {"nvrtc": str(library)}).identity("nvrtc") == "nvrtc 12 of 9000 bytes"
