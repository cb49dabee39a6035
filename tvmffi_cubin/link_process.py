"""nvJitLink in a process of its own: it crashes on damaged inputs, and must not take ours along."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

from . import tool_process
from .link_run import LinkOutcome, LinkRun
from .nvjitlink_library import NvJitLinkLibrary

__all__ = ["LinkCrash", "run_apart", "serve"]

_READY = b"ready\n"
# What nvJitLink prints begins after this: before, the loader or Python may have complained.
_PRINTING = b"\0printing\n"
# No site package and none of Python's own environment variables may change what the child does.
# With them PYTHONDONTWRITEBYTECODE is passed over, so nothing is written at all.
_FLAGS = ("-I", "-S", "-B")
# Seconds of processor time, which a machine's load does not change. Damaged code may be read in a
# circle for ever; honest code is linked in milliseconds, and compiled in minutes at the worst.
_TO_LINK, _TO_COMPILE = 120, 3600
_BYTES_A_SECOND = 1_000_000
# Seconds after which a child is killed that did not take the first signal as its end.
_GRACE = 5


class LinkCrash(Exception):
    """nvJitLink ended its process, or never came to an end.

    Attributes
    ----------
    what : str
        What it did, such as ``"crashed (SIGSEGV)"``.
    output : str
        What it printed before.
    """

    def __init__(self, what: str, output: str) -> None:
        super().__init__(what)
        self.what = what
        self.output = output


def run_apart(library: Path, run: LinkRun) -> LinkOutcome:
    """Run nvJitLink in a process of its own; what it prints there is among its remarks.

    Where no Python can be started (a program in which Python is embedded, a sandbox), it runs in
    this one.

    Parameters
    ----------
    library : Path
        libnvJitLink.
    run : LinkRun
        What to link.

    Raises
    ------
    LinkCrash
        It ended the process, or took longer than any honest input takes.
    ToolchainError
        The library cannot be loaded.
    """
    python = _python()
    if python is None:
        return NvJitLinkLibrary.load(library).run(run)
    child = os.path.join(os.path.dirname(os.path.abspath(__file__)), "link_child.py")
    soft, hard = limits = _limits(run)
    command = (python, *_FLAGS, child, os.fspath(library), *map(str, limits))
    before = _time_of_children()
    try:
        done = tool_process.when_free(
            lambda: subprocess.run(command, input=run.pack(), capture_output=True, check=False)
        )
    except OSError:
        return NvJitLinkLibrary.load(library).run(run)
    if not done.stdout.startswith(_READY):
        return NvJitLinkLibrary.load(library).run(run)
    # Not by the exit status, which is lost where the program ignores SIGCHLD.
    outcome = LinkOutcome.unpack(done.stdout[len(_READY) :])
    printed = done.stderr.rpartition(_PRINTING)[2].decode("utf-8", "replace").strip()
    if outcome is None:
        # More than the child's own, where the program has other children that end meanwhile.
        used = _time_of_children() - before
        raise LinkCrash(_end(done.returncode, soft, is_over=used + 1 > hard), printed)
    # Of what is in fatbins and objects it prints alone that something is wrong.
    return outcome._replace(remarks="\n".join(filter(None, (outcome.remarks, printed))))


def _python() -> str | None:
    """Return the path of this Python's program; None where the program is another one."""
    path = sys.executable or ""
    name = os.path.basename(path).lower()
    is_python = name.startswith(("python", "pypy")) and not getattr(sys, "frozen", False)
    return path if is_python else None


def _limits(run: LinkRun) -> tuple[int, int]:
    """Return the seconds after which the child gets SIGXCPU, and those after which SIGKILL."""
    # Fatbins, objects and libraries may hold PTX.
    compiles = "-lto" in run.options or not {"relocatable"}.issuperset(run.kinds)
    seconds = _TO_COMPILE if compiles else _TO_LINK
    seconds += sum(map(len, run.inputs)) // _BYTES_A_SECOND
    allowed = resource.getrlimit(resource.RLIMIT_CPU)[1]
    if allowed == resource.RLIM_INFINITY:
        return seconds, seconds + _GRACE
    return min(seconds, allowed), min(seconds + _GRACE, allowed)


def _time_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _end(status: int, limit: int, *, is_over: bool) -> str:
    if -status == signal.SIGXCPU or (-status == signal.SIGKILL and is_over):
        return f"did not come to an end in {limit} s"
    if -status == signal.SIGKILL:
        return "was killed (SIGKILL)"
    if status >= 0:
        return f"ended its process with status {status}"
    try:
        return f"crashed ({signal.Signals(-status).name})"
    except ValueError:
        return f"crashed (signal {-status})"


def serve(library: str, soft: str, hard: str) -> None:
    """Do what `run_apart` asks for, within two limits of processor time in seconds; in the child.

    SIGXCPU is sent at the soft one, SIGKILL at the hard one.
    """
    # A program that ignores or blocks it has its children begin so.
    signal.signal(signal.SIGXCPU, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGXCPU})
    resource.setrlimit(resource.RLIMIT_CPU, (int(soft), int(hard)))
    # The damage is the input's: nobody wants the memory of this process.
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    # nvJitLink may print.
    answer = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    linker = NvJitLinkLibrary.load(Path(library))
    answer.write(_READY)
    answer.flush()
    run = LinkRun.unpack(sys.stdin.buffer.read())
    os.write(2, _PRINTING)
    answer.write(linker.run(run).pack())
    answer.flush()
    # What nvJitLink does at the end of a process does not matter.
    os._exit(0)
