"""SIGINT and SIGTERM during and after NVRTC's first compilation in a process."""

import subprocess

import pytest
from processes import in_new_process

# glibc fills no more of the mask than this.
ACTIONS = """
import ctypes, signal
import tvmffi_cubin as tc

class Action(ctypes.Structure):
    _fields_ = [("handler", ctypes.c_void_p), ("mask", ctypes.c_uint64), ("_", ctypes.c_byte * 120),
                ("flags", ctypes.c_int), ("restorer", ctypes.c_void_p)]

RESTART = 0x10000000

def action(number):
    found = Action()
    ctypes.CDLL(None).sigaction(number, None, ctypes.byref(found))
    return found.handler, found.mask, bool(found.flags & RESTART)

signals = (signal.SIGINT, signal.SIGTERM)
came = []
for number in signals:
    signal.signal(number, lambda number, frame: came.append(int(number)))
before = [action(number) for number in signals]
"""

# What NVRTC does, with a moment to look at it.
LIBRARY = """
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static void Leave(int number) { exit(4); }

int Work(int ready, int go, int result) {
  char byte = 1;
  if (result == 5) return result;
  void (*interrupted)(int) = signal(SIGINT, SIG_IGN);
  if (interrupted != SIG_IGN) signal(SIGINT, Leave);
  void (*terminated)(int) = signal(SIGTERM, Leave);
  if (write(ready, &byte, 1) != 1) abort();
  while (read(go, &byte, 1) != 1) {
  }
  signal(SIGINT, interrupted);
  signal(SIGTERM, terminated);
  return result;
}
"""

WORK = """
import os, sys, threading, time
from tvmffi_cubin.kept_signals import KeptSignals

library = ctypes.CDLL(sys.argv[1])
ready, told_ready = os.pipe()
told_go, go = os.pipe()

def interrupt():
    os.read(ready, 1)
    while [action(number)[0] for number in signals] != [handler for handler, *_ in before]:
        time.sleep(0.001)
    for number in signals:
        os.kill(os.getpid(), number)
    os.write(go, b"x")

kept = KeptSignals(library.Work)
for result in map(int, sys.argv[2:]):
    thread = threading.Thread(target=interrupt, daemon=True)
    thread.start()
    print(kept.during(lambda: library.Work(told_ready, told_go, result), nothing_done=5))
"""

REST = """
print(came, [action(number) for number in signals] == before)
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("signals")
    (folder / "work.c").write_text(LIBRARY)
    command = ["cc", "-shared", "-fPIC", "-o", "libwork.so", "work.c"]
    subprocess.run(command, cwd=folder, check=True)
    return str(folder / "libwork.so")


def test_a_signal_amid_a_librarys_work_is_the_callers(library):
    printed = in_new_process(ACTIONS + WORK + REST, library, "0")
    assert printed.splitlines() == ["0", "[2, 15] True"]


def test_work_that_was_not_begun_is_not_the_first(library):
    printed = in_new_process(ACTIONS + WORK + REST, library, "5", "6")
    assert printed.splitlines() == ["5", "6", "[2, 15] True"]


def test_a_compilation_leaves_the_callers_signals_as_they_were():
    compiled = """
for body in ("", "x[0] = 1;"):
    source = 'extern "C" __global__ void k(int* x) { %s }' % body
    print(len(tc.nvrtc.compile(source, arch="sm_90").image) > 0)
"""
    printed = in_new_process(ACTIONS + compiled + REST)
    assert printed.splitlines() == ["True", "True", "[] True"]
