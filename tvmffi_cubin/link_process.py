"""nvJitLink in a process of its own: it crashes on damaged inputs, and must not take ours along."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from .link_run import LinkOutcome, LinkRun
from .nvjitlink_library import NvJitLinkLibrary

__all__ = ["LinkCrash", "run_apart", "serve"]

_READY = b"ready\n"
# No environment variable and no site package may change what the child does.
_FLAGS = ("-I", "-S")
# Seconds of processor time, which a machine's load does not change. Damaged code may be read in a
# circle for ever; honest code is linked in milliseconds, and compiled in minutes at the worst.
_TO_LINK, _TO_COMPILE = 120, 3600
_BYTES_A_SECOND = 1_000_000


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
    limit = _limit(run)
    command = (python, *_FLAGS, child, os.fspath(library), str(limit))
    try:
        done = subprocess.run(command, input=run.pack(), capture_output=True, check=False)
    except OSError:
        return NvJitLinkLibrary.load(library).run(run)
    if not done.stdout.startswith(_READY):
        return NvJitLinkLibrary.load(library).run(run)
    # Not by the exit status, which is lost where the program ignores SIGCHLD.
    outcome = LinkOutcome.unpack(done.stdout[len(_READY) :])
    printed = done.stderr.decode("utf-8", "replace").strip()
    if outcome is None:
        raise LinkCrash(_end(done.returncode, limit), printed)
    # Of what is in fatbins and objects it prints alone that something is defined twice.
    return outcome._replace(remarks="\n".join(filter(None, (outcome.remarks, printed))))


def _python() -> str | None:
    """Return the path of this Python's program; None where the program is another one."""
    path = sys.executable or ""
    name = os.path.basename(path).lower()
    is_python = name.startswith(("python", "pypy")) and not getattr(sys, "frozen", False)
    return path if is_python else None


def _limit(run: LinkRun) -> int:
    compiles = "-lto" in run.options or "ptx" in run.kinds
    size = sum(map(len, run.inputs))
    return (_TO_COMPILE if compiles else _TO_LINK) + size // _BYTES_A_SECOND


def _end(status: int, limit: int) -> str:
    if -status == signal.SIGXCPU:
        return f"did not come to an end in {limit} s"
    if status >= 0:
        return f"ended its process with status {status}"
    try:
        return f"crashed ({signal.Signals(-status).name})"
    except ValueError:
        return f"crashed (signal {-status})"


def serve(library: str, limit: str) -> None:
    """Do what `run_apart` asks for; in the child."""
    import resource

    # The damage is the input's: nobody wants the memory of this process.
    for what, value in ((resource.RLIMIT_CORE, 0), (resource.RLIMIT_CPU, int(limit))):
        hard = resource.getrlimit(what)[1]
        soft = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(what, (soft, hard))
    # nvJitLink may print.
    answer = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    linker = NvJitLinkLibrary.load(Path(library))
    answer.write(_READY)
    answer.flush()
    run = LinkRun.unpack(sys.stdin.buffer.read())
    answer.write(linker.run(run).pack())
    answer.flush()
    # What nvJitLink does at the end of a process does not matter.
    os._exit(0)
