"""Mixed sources on a real device: they compute what NumPy does, and the same through nvcc."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from mixed.case import BFloat16, Call, Case, is_refused
from mixed.cases import CASES

import tvmffi_cubin as tc

torch = pytest.importorskip("torch", reason="its tensors are the arguments")

Builds = dict[str, Future[str]]


def build(case: Case, **options: Any) -> str:
    return tc.build_inline(
        case.name, case.sources(), functions=case.functions, **case.options, **options
    )


@pytest.fixture(scope="module")
def nvcc_builds(request: pytest.FixtureRequest) -> Iterator[Builds]:
    """Every case by nvcc, which takes some seconds for each: several at once."""
    wanted = {
        item.callspec.params["case"].name
        for item in request.session.items
        if item.originalname == test_nvcc_makes_the_same_of_it.__name__
    }
    with ThreadPoolExecutor(8) as pool:
        yield {
            name: pool.submit(build, CASES[name], compiler="nvcc")
            for name in CASES
            if name in wanted
        }
        pool.shutdown(cancel_futures=True)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_mixed_source_computes_what_numpy_does(case: Case) -> None:
    mod = tc.load_module(build(case))
    for call in case.calls():
        check(mod, call)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_nvcc_makes_the_same_of_it(case: Case, nvcc_builds: Builds) -> None:
    try:
        mod = tc.load_module(nvcc_builds[case.name].result())
    except tc.ToolchainError as error:
        pytest.skip(f"no nvcc: {error}")
    for call in case.calls():
        if call.as_nvcc:
            check(mod, call)


def check(mod: tc.Module, call: Call) -> None:
    args = [on_device(arg) for arg in call.args]
    if is_refused(call, mod[call.function], args):
        return
    result = mod[call.function](*args)
    actual = {
        at: torch.from_dlpack(result) if at == -1 else args[at] for at in sorted(call.expected)
    }
    for at, expected in call.expected.items():
        values = actual[at].to(torch.float64).cpu().numpy()
        np.testing.assert_allclose(values, expected, call.rtol, call.atol, err_msg=call.function)
    returns = call.returns if call.computed is None else call.computed
    if callable(returns):
        assert returns(result)
    elif isinstance(returns, list):
        assert list(result) == returns
    elif returns is not None:
        assert result == pytest.approx(returns) if isinstance(returns, float) else result == returns


def on_device(arg: Any) -> Any:
    if isinstance(arg, BFloat16):
        return torch.tensor(arg.values).to("cuda", torch.bfloat16)
    return torch.tensor(arg).to("cuda") if isinstance(arg, np.ndarray) else arg
