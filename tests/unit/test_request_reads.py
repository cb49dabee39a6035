"""Whether a build may read files that its caller has only just written."""

import pytest

from tvmffi_cubin.inline.request import make_request, may_read_files


@pytest.mark.parametrize(
    "text",
    [
        '#include "x.h"',
        '#inclu\\\nde "x.h"',
        '#inclu\\ \r\nde "x.h"',
        "const char data[] = {\n#embed <x>\n};",
        'asm(".incbin \\"x\\"");',
        "import <x>;",
    ],
    ids=repr,
)
def test_a_source_that_may_read_a_file_is_known(text):
    for sources in ("cuda_sources", "cpp_sources", "kernel_sources"):
        made = make_request("m", **{sources: f"{text}\nint g();"})
        assert may_read_files(made)


def test_a_source_that_reads_no_file_is_known():
    assert not may_read_files(make_request("m", cpp_sources="// important\nint f(); \\\n"))


@pytest.mark.parametrize("flags", ["extra_cflags", "extra_cuda_cflags", "extra_ldflags"])
def test_flags_may_name_files(flags):
    assert may_read_files(make_request("m", cpp_sources="int f();", **{flags: ["-w"]}))
