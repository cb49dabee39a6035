"""Which headers a source begins with, and what ends them."""

import pytest

from tvmffi_cubin import host_unit
from tvmffi_cubin.leading_includes import leading_includes
from tvmffi_cubin.sources.sort import HostSource
from tvmffi_cubin.sources.source import Source


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", ()),
        ("#include <a.h>\n#include <b/c.h>\nint x;\n#include <d.h>\n", ("a.h", "b/c.h")),
        ("// words\n/* more\n words */ #include <a.h> // why\n\n #  include\t<b>\n", ("a.h", "b")),
        ("#include <a.h>", ("a.h",)),
        ('#include <a.h>\n#include "own.h"\n#include <b.h>\n', ("a.h",)),
        ("#include <a.h>\n#define B 1\n#include <b.h>\n", ("a.h",)),
        ("#ifdef A\n#include <a.h>\n#endif\n", ()),
        ("#include <a.h> int x;\n", ()),
        ("// a line that goes on \\\n#include <a.h>\n", ()),
        ("/* never closed #include <a.h>\n", ()),
    ],
)
def test_includes_count_up_to_the_first_thing_that_may_change_their_meaning(text, names):
    assert leading_includes(text) == names


def prefix(text: str) -> str:
    return host_unit.prefix([HostSource("a.cu", Source(text))], (), is_cuda=True)


def test_headers_of_known_packages_are_precompiled_with_those_that_every_wrapper_has():
    text = "#include <vector>\n#include <tvm/ffi/extra/cuda/cubin_launcher.h>\n#include <own.h>\n"
    more = prefix(text).removeprefix(prefix(""))
    assert more == "\n#include <tvm/ffi/extra/cuda/cubin_launcher.h>"


def test_headers_behind_a_macro_of_the_users_are_not():
    text = "#define USE_IT\n#include <tvm/ffi/extra/cuda/cubin_launcher.h>\n"
    assert prefix(text) == prefix("")


def test_headers_behind_a_header_of_somebody_else_are_not():
    text = "#include <config.h>\n#include <tvm/ffi/extra/cuda/cubin_launcher.h>\n"
    assert prefix(text) == prefix("")


def test_units_of_mixed_sources_have_their_common_headers_first_and_once():
    common = host_unit.common_mixed_prefix(())
    text = "#include <tvm/ffi/function.h>\n#include <cuda_fp16.h>\n#include <cuda_runtime.h>\n"
    assert host_unit.mixed_prefix("", ()) == common
    assert host_unit.mixed_prefix(text, ()) == f"{common}\n#include <cuda_fp16.h>"
