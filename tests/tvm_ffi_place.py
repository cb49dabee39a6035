"""Where tvm-ffi's own builds work, which some tests compare with."""

import re

import pytest
from tvm_ffi.libinfo import find_include_path

# tvm-ffi writes its paths into commands unquoted.
TVM_FFI_BUILDS = pytest.mark.skipif(
    re.search(r"""[\s'"$`\\&;|<>()*?]""", find_include_path()) is not None,
    reason="tvm-ffi builds nothing where its own path has a character that a shell reads",
)
