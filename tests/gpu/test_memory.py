"""Memory on a real device: shared, all that there is, and pinned."""

from __future__ import annotations

import pytest

import tvmffi_cubin as tc

torch = pytest.importorskip("torch", reason="the GPU tests compare with torch, which is missing")

from .counting import SOURCE  # noqa: E402


def test_all_of_the_shared_memory_may_be_asked_for_and_tensors_may_be_pinned():
    limit = torch.cuda.get_device_properties(0).shared_memory_per_block_optin
    mod = tc.load_inline("gpu_memory", SOURCE)
    x = torch.zeros(1, dtype=torch.int32).pin_memory()
    mod.large[1, 256, limit](x, limit // 4)
    torch.cuda.synchronize()
    assert x.item() == limit // 4 - 1
    with pytest.raises(tc.LaunchLimitError, match=str(limit)):
        mod.large[1, 256, limit + 1](x, 1)
