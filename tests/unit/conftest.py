"""What several files of unit tests share."""

import pytest

from tvmffi_cubin.cache import Cache


@pytest.fixture
def cache(tmp_path):
    return Cache(tmp_path / "cache")
