"""The command line's own part: usage, version, the cache commands."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import tvmffi_cubin
from tvmffi_cubin.__main__ import main


def test_without_a_command_it_shows_usage_and_fails(capsys):
    with pytest.raises(SystemExit) as exit_:
        main([])
    assert exit_.value.code == 2
    assert "usage: tvmffi-cubin" in capsys.readouterr().err


def test_help_lists_the_commands(capsys):
    with pytest.raises(SystemExit) as exit_:
        main(["--help"])
    assert exit_.value.code == 0
    output = capsys.readouterr().out
    for command in ("demo", "doctor", "compile", "inspect", "cache"):
        assert f"    {command} " in output


def test_it_runs_as_a_module():
    command = [sys.executable, "-m", "tvmffi_cubin", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"tvmffi-cubin {tvmffi_cubin.__version__}"


def test_cache_path_is_the_folder_in_use(monkeypatch, tmp_path: Path, capsys):
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(tmp_path / "c"))
    assert main(["cache", "path"]) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'c'}\n"
    assert not (tmp_path / "c").exists()


def test_a_path_that_is_no_text_is_printed_as_it_is(tmp_path: Path):
    command = [sys.executable, "-m", "tvmffi_cubin", "cache", "export", b"a\xff.tar"]
    environment = {"TVMFFI_CUBIN_CACHE_DIR": str(tmp_path), "PYTHONIOENCODING": "utf-8:strict"}
    done = subprocess.run(
        command, cwd=tmp_path, env={**os.environ, **environment}, capture_output=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"a\xff.tar: 0 entries\n", b"")


def test_cache_clear_says_what_it_removed(monkeypatch, tmp_path: Path, capsys):
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(tmp_path))
    entry = tmp_path / "entries" / "ab" / ("ab" + "0" * 62)
    entry.mkdir(parents=True)
    (entry / "k.so").write_bytes(bytes(3_150_000))
    assert main(["cache", "clear"]) == 0
    assert "1 entry removed, 3.2 MB freed" in capsys.readouterr().out
    assert not entry.exists()


def test_a_reader_that_went_away_is_no_traceback():
    read, write = os.pipe()
    os.close(read)
    script = "from tvmffi_cubin.__main__ import main; import sys; sys.exit(main(['cache', 'path']))"
    done = subprocess.run(
        [sys.executable, "-c", script], stdout=write, stderr=subprocess.PIPE, check=False
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (1, b"")


def test_a_closed_output_is_no_traceback(tmp_path: Path):
    command = 'exec "$0" -m tvmffi_cubin cache export a.tar >&-'
    done = subprocess.run(
        ["sh", "-c", command, sys.executable],
        cwd=tmp_path,
        env={**os.environ, "TVMFFI_CUBIN_CACHE_DIR": str(tmp_path / "c")},
        stderr=subprocess.PIPE,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert (tmp_path / "a.tar").exists()


def test_an_interrupted_command_is_no_traceback(monkeypatch, capsys):
    def interrupted() -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("tvmffi_cubin.commands.cache.cache_folder", interrupted)
    assert main(["cache", "path"]) == 130
    assert capsys.readouterr().err == "tvmffi-cubin: interrupted\n"
