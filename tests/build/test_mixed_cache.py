"""What a change of a mixed source compiles anew, and which lines it tells afterwards."""

from __future__ import annotations

from cache_crowd import counting_compiler
from mixed_loader import ADD, load

import tvmffi_cubin as tc
from tvmffi_cubin.inline import mixed_sides


def test_a_change_of_one_side_compiles_that_side_alone(tmp_path, monkeypatch, driver_stub):
    compiled = []
    compile_device = mixed_sides.compile_device

    def counted(*args):
        compiled.append(args)
        return compile_device(*args)

    monkeypatch.setattr(mixed_sides, "compile_device", counted)
    with counting_compiler(tmp_path / "bin", monkeypatch) as compiler:

        def built(source):
            """Return how often each side was compiled for a source."""
            before = (compiler.runs("mixed_host.cc"), len(compiled))
            path = tc.build_inline(
                "sides", source, functions=["vec_add"], arch="sm_90", use_pch=False
            )
            after = (compiler.runs("mixed_host.cc"), len(compiled))
            return path, tuple(new - old for new, old in zip(after, before, strict=True))

        first, counts = built(ADD)
        assert counts == (1, 1)
        # Lines of the kernel move the host's code, and change nothing of it.
        device, counts = built(ADD.replace("x[i] + y[i]", "\n      x[i] +\n      2 * y[i]"))
        assert counts == (0, 1)
        # Lines that only the host's code has move the kernel, and change nothing of it.
        text = ADD.replace("(n + kThreads - 1) / kThreads", "(n + 127) / 128 + 1")
        host, counts = built(f"int before() {{\n  return 1;\n}}\n{text}")
        assert counts == (1, 0)
        assert len({first, device, host}) == 3
        calls = len(compiler.log.read_text().splitlines())
        assert built(ADD) == (first, (0, 0))
        assert len(compiler.log.read_text().splitlines()) == calls


def test_a_macro_of_a_header_tells_the_line_that_it_is_in_now(tmp_path, driver_stub):
    (tmp_path / "line.h").write_text("#define hereabouts(x) ((x) + __LINE__)\n")
    source = """#include "line.h"
    __global__ void k(int* x) {
      *x = 1;
    }
    int f(int n) { k<<<1, 1>>>(nullptr); return hereabouts(n); }"""

    def line(text):
        return load(text, ["f"], name="there", extra_include_paths=[str(tmp_path)]).f(0)

    assert (line(source), line(source.replace("*x = 1", "\n*x = 2"))) == (5, 6)
