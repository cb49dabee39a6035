"""Answers about files are remembered exactly as long as the files stay the same."""

import os

import pytest

from tvmffi_cubin.cache import files, memo


@pytest.fixture
def cache(tmp_path, monkeypatch):
    folder = tmp_path / "cache"
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(folder))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "session"))
    (tmp_path / "session").mkdir()
    # The files of these tests are new; a real compiler is not.
    monkeypatch.setattr(files, "_SETTLED_NS", -(10**18))
    memo._answers.clear()
    yield folder
    memo._answers.clear()


@pytest.fixture
def compiler(tmp_path):
    path = tmp_path / "g++"
    path.write_text("one")
    return path


def asked(paths, answer="g++ 12", *, anew=True, **options):
    """Ask as another process does; return the answer, and whether it came by asking."""
    if anew:
        memo._answers.clear()
    asked = []
    text = memo.remember(paths, lambda: asked.append(1) or answer, **options)
    return text, bool(asked)


def test_a_file_is_asked_about_once(cache, compiler):
    assert asked(compiler) == ("g++ 12", True)
    assert asked(compiler, "other") == ("g++ 12", False)
    assert asked(compiler, "other", anew=False) == ("g++ 12", False)
    assert asked(compiler, "digest", what="digest") == ("digest", True)
    assert asked(compiler, "other") == ("g++ 12", False)


@pytest.mark.parametrize("how", ["other", "replaced"])
def test_a_change_of_any_of_several_files_is_seen(cache, tmp_path, compiler, how):
    launcher = tmp_path / "ccache"
    launcher.write_text("ccache")
    asked([launcher, compiler])
    if how == "other":
        compiler.write_text("other")
    else:  # with the old size and time
        info = os.stat(compiler)
        other = compiler.with_name("new")
        other.write_text("two")
        os.utime(other, ns=(info.st_atime_ns, info.st_mtime_ns))
        os.replace(other, compiler)
    assert asked([launcher, compiler], "g++ 13", anew=False) == ("g++ 13", True)
    assert asked([launcher, compiler]) == ("g++ 13", False)


def test_where_the_cache_is_not_written_a_folder_of_the_session_has_it(
    tmp_path, cache, compiler, monkeypatch
):
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE", "read")
    assert asked(compiler) == ("g++ 12", True)
    assert asked(compiler) == ("g++ 12", False)
    assert not cache.exists()
    (tmp_path / "session" / f"tvmffi_cubin-{os.geteuid()}").chmod(0o777)
    assert asked(compiler) == ("g++ 12", True)
