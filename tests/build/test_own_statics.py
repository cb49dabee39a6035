"""A module and a later build of its source in one process: each has its own static variables."""

import sys

import pytest
from processes import in_new_process

import tvmffi_cubin as tc

HOST = """
#include <tvm/ffi/function.h>
inline int& counter() { static int calls = 0; return ++calls; }
template <typename T> struct Initialised { static inline int value = VALUE; };
template <typename T> T templated = VALUE;
int count() { return counter(); }
int sum() { return Initialised<int>::value + templated<int>; }
tvm::ffi::Function adder() {
  return tvm::ffi::Function::FromTyped([](int x) { return x + VALUE; });
}
void refuse() { TVM_FFI_THROW(ValueError) << "refused"; }
"""
KERNEL = "__global__ void k(int* x) { *x = VALUE; }\nvoid run() { k<<<1, 1>>>(nullptr); }\n"
FUNCTIONS = ["count", "sum", "adder", "refuse"]


def load(kind, value, **options):
    if kind == "mixed":
        options.update(cuda_sources=(HOST + KERNEL).replace("VALUE", str(value)), arch="sm_90")
    else:
        options.update(cpp_sources=HOST.replace("VALUE", str(value)))
    return tc.load_inline("statics", functions=FUNCTIONS, **options)


@pytest.mark.parametrize("kind", ["mixed", "cpp"])
def test_a_module_and_its_next_build_count_for_themselves(kind):
    first = load(kind, 1)
    assert [first.count(), first.count(), first.sum()] == [1, 2, 2]
    second = load(kind, 20)
    assert [second.count(), second.sum()] == [1, 40]
    assert [first.count(), first.sum()] == [3, 2]


def test_what_a_module_has_made_outlives_it():
    script = f"""
import gc, sys
sys.path[:0] = {sys.path!r}
from test_own_statics import load
made, errors = [], []
for value in (1, 20):
    mod = load("cpp", value, keep_module_alive=False)
    made.append(mod.adder())
    try:
        mod.refuse()
    except ValueError as error:
        errors.append(error)
    del mod
    gc.collect()
print([f(1) for f in made], [str(e) for e in errors])
del made, errors
gc.collect()
"""
    assert in_new_process(script) == "[2, 21] ['refused', 'refused']"
