"""Answers about files are remembered exactly as long as the files stay the same."""

import os

import pytest

from tvmffi_cubin.cache import files, memo


class Question:
    """Counts how often it is asked."""

    def __init__(self, answer="g++ 12"):
        self.answer = answer
        self.asked = 0

    def __call__(self):
        self.asked += 1
        return self.answer


@pytest.fixture
def cache(tmp_path, monkeypatch):
    folder = tmp_path / "cache"
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(folder))
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


def memos(cache):
    return list((cache / "identity").glob("*.json"))


def test_a_file_is_asked_about_once_in_a_process(cache, compiler):
    question = Question()
    assert [memo.remember(compiler, question) for _ in range(3)] == ["g++ 12"] * 3
    assert question.asked == 1


def test_another_process_reads_the_memo(cache, compiler):
    memo.remember(compiler, Question())
    memo._answers.clear()
    question = Question("not asked")
    assert memo.remember(compiler, question) == "g++ 12"
    assert question.asked == 0


def test_a_changed_file_is_asked_about_again(cache, compiler):
    memo.remember(compiler, Question())
    compiler.write_text("other")
    assert memo.remember(compiler, Question("g++ 13")) == "g++ 13"
    memo._answers.clear()
    assert memo.remember(compiler, Question("not asked")) == "g++ 13"


def test_a_replaced_file_with_the_old_size_and_time_is_asked_about_again(cache, compiler):
    memo.remember(compiler, Question())
    info = os.stat(compiler)
    other = compiler.with_name("new")
    other.write_text("two")
    os.utime(other, ns=(info.st_atime_ns, info.st_mtime_ns))
    os.replace(other, compiler)
    assert memo.remember(compiler, Question("g++ 13")) == "g++ 13"


def test_questions_about_one_file_are_told_apart(cache, compiler):
    assert memo.remember(compiler, Question("1"), what="version") == "1"
    assert memo.remember(compiler, Question("2"), what="digest") == "2"
    assert memo.remember(compiler, Question("3"), what="version") == "1"


def test_a_change_to_any_of_several_files_is_seen(cache, tmp_path, compiler):
    launcher = tmp_path / "ccache"
    launcher.write_text("ccache")
    memo.remember([launcher, compiler], Question())
    compiler.write_text("other")
    assert memo.remember([launcher, compiler], Question("g++ 13")) == "g++ 13"


@pytest.mark.parametrize("damage", [b"", b"null", b"\xff\xfe", b"[" * 100_000])
def test_a_damaged_memo_is_made_again(cache, compiler, damage):
    memo.remember(compiler, Question())
    (written,) = memos(cache)
    written.write_bytes(damage)
    memo._answers.clear()
    assert memo.remember(compiler, Question("g++ 13")) == "g++ 13"
    memo._answers.clear()
    assert memo.remember(compiler, Question("not asked")) == "g++ 13"


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path, compiler, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(tmp_path / "file" / "cache"))
    memo._answers.clear()
    assert memo.remember(compiler, Question()) == "g++ 12"
    assert memo.remember(compiler, Question("not asked")) == "g++ 12"


def test_a_file_that_just_changed_is_remembered_by_this_process_alone(cache, compiler, monkeypatch):
    monkeypatch.setattr(files, "_SETTLED_NS", 10**18)
    memo.remember(compiler, Question())
    assert memo.remember(compiler, Question("not asked")) == "g++ 12"
    assert not memos(cache)


def test_a_file_that_changes_while_it_is_asked_about_is_not_remembered(cache, compiler):
    def question():
        compiler.write_text("changed meanwhile")
        return "old"

    assert memo.remember(compiler, question) == "old"
    assert memo.remember(compiler, Question("new")) == "new"


@pytest.mark.parametrize("mode", [0o770, 0o777])
def test_a_folder_that_others_may_write_is_neither_read_nor_written(cache, compiler, mode):
    memo.remember(compiler, Question("known"))
    cache.chmod(mode)
    memo._answers.clear()
    assert memo.remember(compiler, Question("asked")) == "asked"
    cache.chmod(0o700)
    memo._answers.clear()
    assert memo.remember(compiler, Question("asked")) == "known"
