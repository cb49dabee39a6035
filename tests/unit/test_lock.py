"""The lock of one builder: forks and Ctrl-C."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from tvmffi_cubin.cache import publish
from tvmffi_cubin.cache.publish import builder_lock


def at(folder: Path) -> str:
    return str(folder / "locks" / "x.lock")


def test_it_is_free_again_although_a_child_was_forked_meanwhile(tmp_path):
    read, write = os.pipe()
    with builder_lock(at(tmp_path), patience=0):
        child = os.fork()
        if child == 0:
            os.close(write)
            os.read(read, 1)  # lives until the test has ended
            os._exit(0)
    try:
        with builder_lock(at(tmp_path), patience=0) as held:
            assert held
    finally:
        os.close(write)
        os.waitpid(child, 0)


def test_ctrl_c_ends_the_wait_for_another_builder(tmp_path):
    with builder_lock(at(tmp_path), patience=0) as held:
        assert held
        main, began = threading.get_ident(), time.monotonic()
        threading.Timer(0.2, signal.pthread_kill, (main, signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt), builder_lock(at(tmp_path), patience=60):
            pass
        assert time.monotonic() - began < 10
        assert len(publish._held) == 1
