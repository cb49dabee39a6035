"""`run`: a plan and its files → a shared object, in a folder of its own."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping
from pathlib import Path

from .. import config
from ..errors import BuildError, ToolchainError
from . import ninja, process
from .environment import build_environment
from .plan import Assembly, BuildPlan

# How much of a compiler's output an error's text shows; the attribute has all of it.
_SHOWN = 16_000

_NINJA_FILE = "build.ninja"

# How many undefined symbols an error's text explains.
_NAMED = 8


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
        A command fails or makes no file; its text has the command and what that printed.
    ToolchainError
        There are C++ units, and no ninja.
    """
    lines = ninja.commands(plan)
    is_short = all(isinstance(unit, Assembly) for unit in plan.units)
    if is_short:
        # Two programs, one after the other: ninja takes half as long as both.
        command = ["/bin/sh", "-c", " && ".join(f"{{ {line}; }}" for line in lines.values())]
    else:
        command = [_find_ninja(), *jobs(), *(["-v"] if process.is_shown() else [])]
    write_files(directory, {**files, **ninja.version_script(plan)})
    if not is_short:
        write_files(directory, {_NINJA_FILE: ninja.text(plan)})
    try:
        status, output = process.run(
            command,
            environment=build_environment(),
            folder=directory,
            is_long=not is_short or process.is_shown(),
        )
    except OSError as error:
        raise ToolchainError(f"{command[0]} cannot be run: {error.strerror or error}") from error
    if status != 0:
        raise _failure(plan, status, command, output, directory)
    for made, line in lines.items():
        # Neither ninja nor the shell looks.
        if not os.path.exists(directory / made):
            tool = line.split(" ", 1)[0]
            reason = (
                f"{tool} ended without an error and made no {made}: it is no compiler, or not told "
                "to be one; set CXX and CC to compilers, and look at the flags"
            )
            raise _error(plan, [reason], line, output, directory)
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
    """Write files, named relative to a folder, and the folders that they lie in."""
    for name, content in files.items():
        if os.path.isabs(name) or ".." in name.split("/"):
            raise ValueError(f"file {name!r} leads out of the build folder; give a name inside it")
        path = Path(directory, name)
        if "/" in name:
            path.parent.mkdir(parents=True, exist_ok=True)
        # Names that are no valid UTF-8 reach Python as lone surrogates; they go back as they came.
        data = content.encode("utf-8", "surrogateescape") if isinstance(content, str) else content
        path.write_bytes(data)


_DEVICE_WIDE = (
    r"(?m)^[^\n:]*/(?:thrust|cub)/[^\n:]*:[\d:]+ (?:fatal )?error:"
    r"|error: [^\n]*\b(?:thrust|cub)\b"
)
_DEVICE_WIDE_HINT = (
    'only nvcc compiles the algorithms of Thrust, and of CUB for the whole device: compiler="nvcc"'
)


def _failure(
    plan: BuildPlan, status: int, command: list[str], output: str, directory: Path
) -> BuildError:
    failed, printed = _first_failure(output)
    failed = failed or " ".join(command)
    from ..sources.torch import torch_hint
    from .undefined import explain_undefined, remedies

    lines = [f"building {plan.product} failed (exit status {status})"]
    if names := explain_undefined(printed):
        lines += ["undefined symbols:", *(f"  {line}" for line in remedies(names[:_NAMED]))]
    if "nvcc" in failed:
        from ..cuda import nvcc

        hints = nvcc.hints(printed)
    else:
        hints = [_DEVICE_WIDE_HINT] if re.search(_DEVICE_WIDE, printed) else []
    hinted = [f"Hint: {hint}" for hint in (*hints, *torch_hint(printed))]
    return _error(plan, lines, failed, printed, directory, hinted)


def _error(
    plan: BuildPlan,
    lines: list[str],
    command: str,
    output: str,
    directory: Path,
    hints: list[str] | None = None,
) -> BuildError:
    write_files(directory, {_NINJA_FILE: ninja.text(plan)})
    said = shortened(output).strip() or "nothing"
    text = (
        *lines,
        *(f"command: {command}", "output:", said, *(hints or ())),
        f"folder (kept): {directory}",
        f"again, by hand: cd {shlex.quote(os.fspath(directory))} && ninja -v",
    )
    return BuildError(
        "\n".join(text), command=command, output=output, directory=os.fspath(directory)
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
