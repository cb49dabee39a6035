"""`run`: steps and files → a shared object or an object, in its own folder."""

from __future__ import annotations

import errno
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from .. import config
from ..config import build_environment
from ..errors import BuildError, shortened
from . import process
from .process import Later
from .steps import LOCAL_SYMBOLS, VERSION_SCRIPT, Step, ninja_text
from .tools import find_ninja

_NINJA_FILE = "build.ninja"
# Symbols that a linker reports as undefined or required, and the remedy for each. The first form is
# what `forwarders.refusing_flags` turns a name into.
_UNDEFINED = {
    r"__wrap_(\w+)": "{0} would pass kernels too few parameters, since the module has "
    "bound_params: launch with CubinKernel",
    r"__tvm(?:_ffi__cubin|ffi_cubin_image)_(\w+?)(?:_end)?\b": "no image is embedded as {0!r}; "
    "pass it as embed_cubin={{{0!r}: ...}}",
    r"__tvm_ffi_(?!_cubin_)(\w+)": "no kernel is named {0!r} and no file exports such a function; "
    "add TVM_FFI_DLL_EXPORT_TYPED_FUNC({0}, {0}); after its definition, or remove it from "
    "functions",
}


def run(steps: Sequence[Step], directory: Path, files: Mapping[str, bytes | str]) -> Path:
    """Write the files to a folder, run the steps, and return the path of the last step's output.

    Raises BuildError, and ToolchainError if there is no ninja.
    """
    jobs = config.get("MAX_JOBS")
    options = [*(["-j", jobs] if jobs else []), *(["-v"] if process.is_shown() else [])]
    command = [find_ninja(), *options]
    more = {VERSION_SCRIPT: LOCAL_SYMBOLS, _NINJA_FILE: ninja_text(steps)}
    write_files(directory, {**files, **more})
    ended = process.run(command, folder=directory, is_long=True)
    _check(steps, directory, command, *ended)
    return directory / steps[-1].made


class Assembling(process.Program):
    """Assembly and linking of a text by programs that start before the text is known.

    Starting them takes as long as their work. With ninja, the build takes half as long again.
    """

    def __init__(self, steps: Sequence[Step], directory: Path) -> None:
        self._steps, self._directory = steps, directory
        # Without a file name, the assembler reads its standard input. GNU ld reads a version script
        # before anything else, so it waits for one, which has no effect; other linkers find that
        # there is no object yet, and are run again.
        unit, link = steps[0]._replace(inputs=()).line, steps[-1].line
        waiting = f"{link} --version-script=/dev/stdin"
        line = f"{{ {unit} && echo '{{ local: none; }};'; }} | {waiting} || {link}"
        command = ("/bin/sh", "-c", line)
        super().__init__(command, build_environment(), directory, shown=command)

    def assemble(self, files: Mapping[str, bytes | str]) -> None:
        """Write the files, and feed the assembler its text, which is one of them."""
        write_files(self._directory, files)
        text = str(files[self._steps[0].inputs[0]])
        # In a thread: an assembler that complains about every line blocks until its output is read.
        Later(partial(self.give, text.encode()))

    def finish(self) -> None:
        """Wait for the result; raises as `run` does."""
        lines = [" && ".join(step.line for step in self._steps)]
        _check(self._steps, self._directory, lines, *self.result())


def _check(
    steps: Sequence[Step], directory: Path, command: Sequence[str], status: int, output: str
) -> None:
    """Raise BuildError if a command failed, or OSError if the disk is full."""
    if status == 0:
        return
    if full := re.search(r"No space left on device|Disk quota exceeded", output):
        raise OSError(errno.ENOSPC, full[0], os.fspath(directory))
    found = re.search(r"(?m)^FAILED: .*\n(.*)\n", output)
    failed, printed = (found[1], output[found.end() :]) if found else (" ".join(command), output)
    write_files(directory, {_NINJA_FILE: ninja_text(steps)})
    text = (
        f"building {steps[-1].made} failed (exit status {status}):",
        *(shortened(printed).strip(), *_hints(failed, printed)),
        *(f"command: {failed}", f"folder (kept): {directory}"),
        f"to rerun: cd {shlex.quote(os.fspath(directory))} && ninja -v",
    )
    raise BuildError(
        "\n".join(filter(None, text)),
        command=failed,
        output=printed,
        directory=os.fspath(directory),
    )


def write_files(directory: Path, files: Mapping[str, bytes | str]) -> None:
    """Write files, named relative to a folder."""
    for name, content in files.items():
        # Names that are not valid UTF-8 reach Python as lone surrogates; they go back as they came.
        data = content.encode("utf-8", "surrogateescape") if isinstance(content, str) else content
        Path(directory, name).write_bytes(data)


def _hints(command: str, printed: str) -> list[str]:
    from ..sources.mistakes import mistakes

    said = "\n".join(re.findall(r"(?m)^.*(?:undefined|required symbol).*$", printed))
    found = [
        remedy.format(name)
        for pattern, remedy in _UNDEFINED.items()
        for name in dict.fromkeys(re.findall(pattern, said))
    ]
    if "nvcc" in command:
        from ..cuda.hints import hints

        found += hints(printed)
    return [f"Hint: {hint}" for hint in (*found, *mistakes(printed))]
