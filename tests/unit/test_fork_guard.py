"""Forks and ends beside compilers and linkers: who waits for whom, and nobody for ever."""

import subprocess
import sys

import pytest

START = """
import os, signal, threading
lock = threading.Lock()
os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)
from tvmffi_cubin import fork_guard
from tvmffi_cubin.fork_guard import not_forking

def fork():
    child = os.fork()
    if child == 0:
        with not_forking():
            os._exit(7)
    print("child:", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""

ITSELF = """
with not_forking():
    fork()
"""

# What a handler of a signal may do.
TWICE = """
with not_forking():
    with not_forking():
        fork()
"""

OTHER = """
inside, left = threading.Event(), []
def work():
    with not_forking():
        inside.set()
        while not fork_guard._guard.forking:
            pass
        left.append(True)
thread = threading.Thread(target=work)
thread.start()
inside.wait()
fork()
thread.join()
print(left)
"""

LOCK = """
locked = threading.Event()
def work():
    with lock:
        locked.set()
        while not fork_guard._guard.forking:
            pass
        with not_forking():
            pass
thread = threading.Thread(target=work)
thread.start()
locked.wait()
fork()
thread.join()
"""

INTERRUPTED = """
signal.signal(signal.SIGINT, signal.default_int_handler)  # shells have it ignored behind an &
inside, forked = threading.Event(), threading.Event()
def work():
    with not_forking():
        inside.set()
        while not fork_guard._guard.forking:
            pass
        os.kill(os.getpid(), signal.SIGINT)
        forked.wait()
thread = threading.Thread(target=work)
thread.start()
inside.wait()
fork()
forked.set()
thread.join()
with not_forking():
    fork()
"""


@pytest.mark.parametrize(
    ("code", "printed"),
    [
        pytest.param(ITSELF, "child: 7", id="the thread that is inside"),
        pytest.param(TWICE, "child: 7", id="the thread that is inside twice"),
        pytest.param(OTHER, "child: 7\n[True]", id="another thread, when all have left"),
        pytest.param(LOCK, "child: 7", id="another thread, that another hook waits for"),
        pytest.param(INTERRUPTED, "child: 7\nchild: 7", id="another thread, interrupted"),
    ],
)
def test_a_fork_goes_on(code, printed):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", START + code],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stdout.strip()) == (0, printed), done.stderr


END = """
inside = threading.Event()
def work():
    with not_forking():
        inside.set()
        while not fork_guard._guard.ending:
            pass
        print("left", flush=True)
    with not_forking():
        print("inside again", flush=True)
threading.Thread(target=work, daemon=True).start()
inside.wait()
"""


# Functions that were registered first are called last.
LATER = """
import atexit, threading
started = threading.Event()
def work():
    started.wait()
    with not_forking():
        print("inside", flush=True)
thread = threading.Thread(target=work, daemon=True)
def at_end():
    started.set()
    thread.join()
atexit.register(at_end)
"""


def test_a_process_ends_where_what_is_called_then_waits_for_a_thread_that_compiles():
    code = f"{LATER}{START}\nthread.start()"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "inside\n", "")


def test_a_process_ends_when_daemon_threads_have_left_and_lets_none_in_again():
    code = f"{START}{END}"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "left\n", "")
