"""What `load_module` says of paths that are no module."""

from __future__ import annotations

from pathlib import Path

import pytest

import tvmffi_cubin as tc


@pytest.mark.parametrize("name", ["module.so", "module", "module.txt"])
def test_a_file_that_is_no_shared_object_is_a_build_error(tmp_path: Path, name: str):
    path = tmp_path / name
    path.write_text("no shared object")
    with pytest.raises(tc.BuildError) as caught:
        tc.load_module(path)
    assert f"{path} does not load" in str(caught.value)
    assert "Build it again" in str(caught.value)


def test_a_file_that_is_not_there_says_so(tmp_path: Path):
    with pytest.raises(FileNotFoundError):
        tc.load_module(tmp_path / "module.so")


def test_a_file_that_was_built_again_is_loaded_as_it_is_now(tmp_path: Path):
    answers = []
    for answer in (1, 2, 2, 3):
        source = f"int answer() {{ return {answer}; }}"
        path = tc.build_inline(
            "again", source, functions=["answer"], output=tmp_path / "again.so", use_pch=False
        )
        mod = tc.load_module(path)
        assert mod.path == path
        answers.append(mod.answer())
    assert answers == [1, 2, 2, 3]
