"""Each mixed source is built without nvcc, and its host functions launch what they say."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest
from mixed.case import BFloat16, Call, is_refused
from mixed.cases import CASES
from stub.cuda_array import cuda_array, cuda_copy
from stub.driver_stub import DriverStub
from tensor_allocator import tensor_allocator

import tvmffi_cubin as tc


@pytest.mark.parametrize("name", CASES)
def test_a_mixed_source_launches_what_it_says(name: str, driver_stub: DriverStub) -> None:
    case = CASES[name]
    mod = tc.load_inline(
        case.name, case.sources(), functions=case.functions, arch="sm_90a", **case.options
    )
    with driver_stub.stream() as stream, tensor_allocator(driver_stub):
        for call in case.calls():
            before = len(driver_stub.launches())
            with tc.use_stream(stream):
                check_result(mod, call, [on_device(driver_stub, arg) for arg in call.args])
            launches = driver_stub.launches()[before:]
            done = [(x.grid, x.block, x.dynamic_smem_bytes) for x in launches]
            assert done == [(whole(x.grid), whole(x.block), x.smem) for x in call.launches], (
                call.function
            )
            assert {x.stream for x in launches} <= {stream}
            for actual, said in zip(launches, call.launches, strict=True):
                assert said.kernel in (actual.kernel or "")
                for at, (form, value) in said.scalars.items():
                    assert scalar(actual.params[at], form) == pytest.approx(value), (call, at)


def check_result(mod: tc.Module, call: Call, args: list[Any]) -> None:
    if is_refused(call, mod[call.function], args):
        return
    result = mod[call.function](*args)
    if callable(call.returns):
        assert call.returns(result)
    elif isinstance(call.returns, list):
        assert list(result) == call.returns
    elif call.returns is not None:
        assert result == call.returns


def on_device(stub: DriverStub, arg: Any) -> Any:
    if isinstance(arg, BFloat16):
        made = cuda_array(stub, arg.values.shape, "bfloat16")
        made.numpy[...] = np.ascontiguousarray(arg.values).view("uint32") >> 16
        return made
    return cuda_copy(stub, arg) if isinstance(arg, np.ndarray) else arg


def whole(size: int | tuple[int, ...]) -> tuple[int, ...]:
    given = size if isinstance(size, tuple) else (size,)
    return (*given, 1, 1)[:3]


def scalar(data: bytes, form: str) -> object:
    values = struct.unpack(f"<{form}", data)
    return values if len(values) > 1 else values[0]
