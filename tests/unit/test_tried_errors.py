"""Which errors of mixed sources are shown, where a side is compiled more than once."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tvmffi_cubin.errors import BuildError
from tvmffi_cubin.mixed_errors import Tried


def test_what_comes_of_headers_that_were_left_out_first_is_not_the_user_s(tmp_path, monkeypatch):
    monkeypatch.setattr(Tried, "_told", lambda self, cut, error: error)
    first, second = (
        BuildError(name, command="g++", output=output, directory=str(tmp_path / name))
        for name, output in (
            ("first", "mixed_host.cc:1:2: error: 'f' was not declared in this scope\n"),
            ("second", "a.cu:3:1: error: reference to 'array' is ambiguous\n"),
        )
    )
    cut = SimpleNamespace(files=[SimpleNamespace(name="a.cu")], left_out=("thrust/sort.h",))
    whole = SimpleNamespace(files=cut.files, left_out=(), without=lambda *_: None)
    cut.with_left_out = lambda: whole
    tried = Tried("m")
    assert tried.again(cut, first) is whole
    with pytest.raises(BuildError) as caught:
        tried.again(whole, second)
    assert caught.value is first
