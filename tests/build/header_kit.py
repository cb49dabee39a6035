"""Sources that include headers, and what compiles them for sm_90a."""

from tvmffi_cubin import nvrtc

KERNEL = 'extern "C" __global__ void k(float* x) { x[0] = 1; }\n'


def compile_it(source, **arguments):
    return nvrtc.compile(source, **{"arch": "sm_90a", **arguments})


def includes(headers):
    return "".join(f"#include <{header}>\n" for header in headers)
