"""`run`: a plan and its files → a shared object, in a folder of its own."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

from . import config, idle, ninja
from .environment import build_environment
from .errors import BuildError, ToolchainError
from .plan import Assembly, BuildPlan

__all__ = ["jobs", "run", "shortened", "write_files"]

# How much of a compiler's output an error's text shows; the attribute has all of it.
_SHOWN = 16_000

# How many undefined symbols an error's text explains.
_NAMED = 8

# Why no program at all can be started.
_SHORT = (errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE)

# How long ninja may take to stop its children before it is killed itself, in seconds.
_GRACE = 5.0


def run(plan: BuildPlan, directory: Path, files: Mapping[str, bytes | str]) -> Path:
    """Write the files, build the plan, and return the path of what it makes.

    Parameters
    ----------
    plan : BuildPlan
        What to build.
    directory : Path
        An existing folder that nobody else uses. It is kept when the build fails.
    files : mapping of str to bytes or str
        The sources and images that the plan's relative paths name.

    Raises
    ------
    BuildError
        If a command fails or makes no file; its text has the command and what that printed.
    ToolchainError
        If there are C++ units, and no ninja.
    ValueError
        If a file's name leads out of the folder, or ``MAX_JOBS`` is no positive number.
    OSError
        If the files cannot be written.
    """
    lines = ninja.commands(plan)
    if all(isinstance(unit, Assembly) for unit in plan.units):
        # Two programs, one after the other: ninja takes half as long as both.
        command = ["/bin/sh", "-c", " && ".join(f"{{ {line}; }}" for line in lines.values())]
    else:
        command = [_find_ninja(), *jobs()]
    write_files(directory, {**files, **ninja.files(plan)})
    status, output = _run(command, directory)
    if status != 0:
        raise _failure(plan, status, command, output, directory)
    for made, line in lines.items():
        # Neither ninja nor the shell looks.
        if not os.path.exists(directory / made):
            raise _nothing_made(made, line, output, directory)
    return directory / plan.product


def _find_ninja() -> str:
    from . import toolchain

    return os.fspath(toolchain.find_ninja())


def jobs() -> list[str]:
    """Return ninja's options for ``MAX_JOBS``; raises ValueError where that is no number."""
    wanted = config.get("MAX_JOBS")
    if wanted is None:
        return []
    if not (wanted.isascii() and wanted.isdigit() and int(wanted) > 0):
        raise ValueError(f"MAX_JOBS must be a positive whole number, got {wanted!r}; unset it")
    return ["-j", str(int(wanted))]


def write_files(directory: Path, files: Mapping[str, bytes | str]) -> None:
    """Write files, named relative to a folder, and the folders that they lie in.

    Raises
    ------
    ValueError
        A name leads out of the folder.
    OSError
        One cannot be written.
    """
    for name, content in files.items():
        _write(directory, name, content)


def _write(directory: Path, name: str, content: bytes | str) -> None:
    if os.path.isabs(name) or ".." in name.split("/"):
        raise ValueError(f"file {name!r} leads out of the build folder; give a name inside it")
    path = os.path.join(directory, name)
    if "/" in name:
        os.makedirs(os.path.dirname(path), exist_ok=True)
    # Names that are no valid UTF-8 reach Python as lone surrogates; they go back as they came.
    data = content.encode("utf-8", "surrogateescape") if isinstance(content, str) else content
    # What is newer than what was made of it would be made again.
    if os.path.exists(path) and Path(path).read_bytes() == data:
        return
    with open(path, "wb", buffering=0) as file:
        view = memoryview(data)
        while view:
            view = view[file.write(view) :]


def _run(command: list[str], directory: Path) -> tuple[int, str]:
    try:
        process = subprocess.Popen(
            command,
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=build_environment(),
            # A terminal's Ctrl-C goes to this process alone, which then stops ninja in order.
            start_new_session=True,
        )
    except OSError as error:
        remedy = "install it with `pip install ninja`"
        if error.errno in _SHORT:
            remedy = "look at this process's limits (ulimit -a), and at memory"
        raise ToolchainError(
            f"cannot run ninja at {command[0]}: {error.strerror or error}; {remedy}"
        ) from error
    try:
        idle.spend()
        output, _ = process.communicate()
    except BaseException:
        _stop(process)
        raise
    return process.returncode, output.decode("utf-8", "replace")


def _stop(process: subprocess.Popen[bytes]) -> None:
    # ninja puts each compiler in a process group of its own, so that only ninja can end them all;
    # it does so when it is told to terminate.
    process.send_signal(signal.SIGTERM)
    try:
        process.communicate(timeout=_GRACE)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def _failure(
    plan: BuildPlan, status: int, command: list[str], output: str, directory: Path
) -> BuildError:
    failed, printed = _first_failure(output)
    failed = failed or " ".join(command)
    from .forwarders import explain_undefined, remedies
    from .torch_sources import torch_hint

    lines = [f"building {plan.product} failed (exit status {status})"]
    if names := explain_undefined(printed):
        lines += ["undefined symbols:", *(f"  {line}" for line in remedies(names[:_NAMED]))]
    lines += [f"command: {failed}", "output:", shortened(printed).rstrip("\n")]
    if "nvcc" in failed:
        from .cuda.nvcc import hints

        lines += [f"Hint: {hint}" for hint in hints(printed)]
    else:
        from .host_hints import wide_hints

        lines += [f"Hint: {hint}" for hint in wide_hints(printed)]
    lines += [f"Hint: {hint}" for hint in torch_hint(printed)]
    lines.append(f"folder (kept): {directory}")
    return BuildError(
        "\n".join(lines), command=failed, output=printed, directory=os.fspath(directory)
    )


def _nothing_made(made: str, command: str, output: str, directory: Path) -> BuildError:
    tool = command.split(" ", 1)[0]
    return BuildError(
        f"{tool} ended without an error and made no {made}: it is no compiler, or not told to be "
        "one; set CXX and CC to compilers, and look at the flags\n"
        f"command: {command}\noutput:\n{output.strip() or 'nothing'}\nfolder (kept): {directory}",
        command=command,
        output=output,
        directory=os.fspath(directory),
    )


def shortened(output: str) -> str:
    """Return a tool's output as an error's text shows it: of a very long one, both ends."""
    half = _SHOWN // 2
    left_out = len(output) - 2 * half
    if left_out <= 0:
        return output
    return f"{output[:half]}\n... ({left_out} characters left out) ...\n{output[-half:]}"


def _first_failure(output: str) -> tuple[str, str]:
    lines = output.splitlines(keepends=True)
    for index, line in enumerate(lines):
        if line.startswith("FAILED: ") and index + 1 < len(lines):
            # ninja names the command in the line after; the compiler's words follow, then ninja's.
            # Of several that were tried, those are the last one's.
            command = lines[index + 1].rstrip("\n").rpartition(ninja.OTHERWISE)[2]
            return command, "".join(lines[index + 2 :])
    return "", output
