"""Exported functions of mixed sources take and refuse what tvm-ffi's own exports do."""

from __future__ import annotations

import pytest

import tvmffi_cubin as tc

FUNCTIONS = r"""
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/optional.h>

int64_t add(int64_t a, int b) { return a + b; }
double half_of(double x) { return x / 2; }
void nothing() {}
tvm::ffi::String greet(const tvm::ffi::String& name, bool loud) {
  return name + (loud ? "!" : ".");
}
tvm::ffi::Any same(tvm::ffi::Any value) { return value; }
int64_t kind(tvm::ffi::AnyView value) { return value.type_index(); }
tvm::ffi::Array<int64_t> twice(tvm::ffi::Array<int64_t> values) {
  tvm::ffi::Array<int64_t> made;
  for (int64_t value : values) made.push_back(2 * value);
  return made;
}
int64_t given(tvm::ffi::Optional<int64_t> value) { return value.has_value() ? *value : -1; }
int64_t dims(tvm::ffi::TensorView x) { return x.ndim(); }
int64_t called(tvm::ffi::Function function) { return function(20).cast<int64_t>() + 1; }
void fails() { TVM_FFI_THROW(KeyError) << "no such key"; }
void standard() { throw std::runtime_error("of C++'s own"); }
"""
NAMES = [
    "add",
    "half_of",
    "nothing",
    "greet",
    "same",
    "kind",
    "twice",
    "given",
    "dims",
    "called",
    "fails",
    "standard",
]
CALLS = [
    ("add", (40, 2)),
    ("add", ()),
    ("add", (1, 2, 3)),
    ("add", ("a", 2)),
    ("add", (1, None)),
    ("add", (1.5, 2)),
    ("half_of", (3,)),
    ("half_of", ([],)),
    ("nothing", ()),
    ("nothing", (1,)),
    ("greet", ("you", True)),
    ("greet", (7, True)),
    ("same", ("x",)),
    ("same", (None,)),
    ("kind", (1,)),
    ("twice", ([1, 2],)),
    ("twice", ([1, "b"],)),
    ("given", (None,)),
    ("given", (3,)),
    ("given", ("s",)),
    ("dims", (5,)),
    ("called", (lambda x: 2 * x,)),
    ("called", (3,)),
    ("fails", ()),
    ("standard", ()),
]


@pytest.fixture(scope="module")
def mixed() -> tc.Module:
    kernel = "__global__ void touch(float* x) { x[threadIdx.x] += 1.f; }\n"
    launch = "void launch() { touch<<<1, 32>>>(nullptr); }\n"
    source = kernel + FUNCTIONS + launch
    return tc.load_inline("mixed_exports", source, functions=[*NAMES, "launch"], arch="sm_90")


@pytest.fixture(scope="module")
def plain() -> tc.Module:
    return tc.load_inline("plain_exports", cpp_sources=FUNCTIONS, functions=NAMES)


def outcome(mod: tc.Module, name: str, args: tuple[object, ...]) -> object:
    """Return what a call returns, or its error: kind and text."""
    try:
        value = mod[name](*args)
    except Exception as error:
        return type(error).__name__, str(error)
    return list(value) if name == "twice" else value


@pytest.mark.parametrize(("name", "args"), CALLS)
def test_a_call_ends_as_with_tvm_ffis_own_export(
    mixed: tc.Module, plain: tc.Module, name: str, args: tuple[object, ...]
) -> None:
    assert outcome(mixed, name, args) == outcome(plain, name, args)


def test_the_error_names_function_argument_and_types(mixed: tc.Module) -> None:
    with pytest.raises(TypeError) as caught:
        mixed.add("a", 2)
    assert str(caught.value) == (
        "Mismatched type on argument #0 when calling: `add(0: int, 1: int) -> int`. "
        "Expected `int` but got `ffi.SmallStr`"
    )
