"""What several files of unit tests share."""

import pytest

from tvmffi_cubin.cache.store import Cache


@pytest.fixture
def cache(tmp_path):
    return Cache(tmp_path / "cache")
