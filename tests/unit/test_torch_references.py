"""What the GPU tests compare mixed sources with: torch's results are NumPy's, on the CPU."""

from __future__ import annotations

import numpy as np
import pytest
from mixed.case import Case
from mixed.cases import CASES

torch = pytest.importorskip("torch", reason="the references of the GPU tests are torch's")

from mixed.torch_references import REFERENCES, as_torch  # noqa: E402


def test_each_function_that_computes_something_has_a_reference():
    computing = {
        (case.name, call.function)
        for case in CASES.values()
        for call in case.calls()
        if call.expected
    }
    assert {*REFERENCES} == computing


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_torch_computes_what_numpy_does(case: Case) -> None:
    for call in case.calls():
        if not call.expected:
            continue
        args = as_torch(call, "cpu")
        given = [arg.clone() if isinstance(arg, torch.Tensor) else arg for arg in args]
        found = REFERENCES[case.name, call.function].compute(*args)
        assert {*found} == {*call.expected}
        for at, expected in call.expected.items():
            result = found[at].to(torch.float64).numpy()
            assert result.shape == expected.shape
            np.testing.assert_allclose(
                result, expected, call.rtol, call.atol, err_msg=call.function
            )
        for arg, before in zip(args, given, strict=True):
            assert arg is before or torch.equal(arg, before), "the reference changed an argument"
