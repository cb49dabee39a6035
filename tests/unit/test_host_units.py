"""What units of host code begin with."""

import pytest

from tvmffi_cubin.host.units import common_mixed_prefix, mixed_prefix

FP16, CUBIN = "#include <cuda_fp16.h>", "#include <tvm/ffi/extra/cuda/cubin_launcher.h>"


@pytest.mark.parametrize(
    ("text", "more"),
    [
        ("", []),
        (f"#include <tvm/ffi/function.h>\n{FP16}\n#include <cuda_runtime.h>\n", [FP16]),
        (f"// why\n/* more\n words */ #include <vector> // why\n\n{CUBIN}", [CUBIN]),
        (f"{FP16}\nint x;\n{CUBIN}\n", [FP16]),
        (f'{FP16}\n#include "own.h"\n{CUBIN}\n', [FP16]),
        (f"#include <config.h>\n{CUBIN}\n", []),
        (f"#define USE_IT\n{CUBIN}\n", []),
        (f"#ifdef A\n{FP16}\n#endif\n", []),
        (f"// a line that goes on \\\n{FP16}\n", []),
        (f"/* never closed {FP16}\n", []),
    ],
)
def test_mixed_units_begin_with_what_all_have_then_with_packages_headers_of_the_source(text, more):
    assert mixed_prefix(text, ()) == "\n".join((common_mixed_prefix(()), *more))
