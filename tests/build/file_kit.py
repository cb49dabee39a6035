"""Source files for the tests of `load` and `build`, and the compilers apart from this package."""

import subprocess
from pathlib import Path

from tvmffi_cubin.host.tools import tvm_ffi_paths

# Exports a function of up to two ints; tvm-ffi's macro does, too, but its headers take a second.
EXPORT = """
#include <tvm/ffi/c_api.h>
static inline int Call(int (*f)(), const TVMFFIAny*) {{ return f(); }}
static inline int Call(int (*f)(int), const TVMFFIAny* x) {{ return f(x[0].v_int64); }}
static inline int Call(int (*f)(int, int), const TVMFFIAny* x) {{
  return f(x[0].v_int64, x[1].v_int64);
}}
extern "C" int __tvm_ffi_{0}(void*, const TVMFFIAny* args, int, TVMFFIAny* result) {{
  result->type_index = kTVMFFIInt;
  result->v_int64 = Call({0}, args);
  return 0;
}}
"""
MACRO = "#include <tvm/ffi/function.h>\nTVM_FFI_DLL_EXPORT_TYPED_FUNC({0}, {0});\n"
ADD = "int add(int a, int b) { return a + b; }\n" + EXPORT.format("add")
SCALE = """
extern "C" __global__ void scale(float* x, float by, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= by;
}
"""


def write(path, text):
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def compiled(compiler, source, *options):
    """Compile a source outside of the package; return the object."""
    made = Path(source).with_suffix(".o")
    subprocess.run([compiler, "-fPIC", "-c", source, "-o", made, *options], check=True)
    return made


def include_flags():
    """Return the compiler flags that find tvm-ffi's headers."""
    return [f"-I{tvm_ffi_paths().include}"]


def linked(*objects):
    """Link objects as a user's own build would; return the shared object."""
    made = Path("linked.so").absolute()
    command = ["g++", "-shared", "-o", made, *objects, tvm_ffi_paths().library, "-Wl,-z,defs"]
    subprocess.run(command, check=True)
    return made
