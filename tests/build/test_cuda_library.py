"""CUDA's libraries through ctypes: loaded once, and what their failing calls say."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest
from tvmffi_cubin.nvjitlink_library import NvJitLinkLibrary

from tvmffi_cubin.cuda.libraries import find_cuda
from tvmffi_cubin.cuda.nvfatbin import NvFatbinLibrary
from tvmffi_cubin.cuda.program import CudaLibrary, NvrtcLibrary
from tvmffi_cubin.errors import CubinError, ToolchainError

KINDS = (NvrtcLibrary, NvJitLinkLibrary, NvFatbinLibrary)


def path_of(kind: type[CudaLibrary]) -> Path:
    cuda = find_cuda()
    if kind is NvrtcLibrary:
        return cuda.nvrtc
    return cuda.require("nvjitlink" if kind is NvJitLinkLibrary else "nvfatbin")


@pytest.mark.parametrize("kind", KINDS)
def test_a_library_is_loaded_once_and_is_of_the_family_in_use(kind):
    library = kind.load(path_of(kind))
    assert type(library) is kind
    assert kind.load(path_of(kind)) is library
    assert library.version()[0] == find_cuda().major


@pytest.mark.parametrize("kind", KINDS)
def test_a_library_of_another_name_is_refused_with_the_remedy(kind):
    other = NvFatbinLibrary if kind is NvrtcLibrary else NvrtcLibrary
    with pytest.raises(ToolchainError, match=rf"^{kind.title} could not .*--force-reinstall"):
        kind.load(path_of(other))


def test_a_call_that_fails_says_so_in_the_librarys_own_words():
    library = NvrtcLibrary.load(path_of(NvrtcLibrary))
    with pytest.raises(CubinError, match=r"nvrtcDestroyProgram of .* failed: NVRTC_ERROR_\w+"):
        library.call("nvrtcDestroyProgram", ctypes.byref(ctypes.c_void_p()))


def test_a_call_that_fails_says_its_result_where_the_library_has_no_words():
    library = NvJitLinkLibrary.load(path_of(NvJitLinkLibrary))
    with pytest.raises(CubinError, match=r"nvJitLinkVersion of .* failed with error \d+"):
        library.call("nvJitLinkVersion", None, None)
