"""Where tvm-ffi's own builds work, which some tests compare with."""

import re

import pytest
from tvm_ffi.libinfo import find_include_path

TVM_FFI_BUILDS = pytest.mark.skipif(
    re.fullmatch(r"[\w./+-]+", find_include_path()) is None,
    reason="tvm-ffi builds nothing where its own path has a space or a quote",
)
