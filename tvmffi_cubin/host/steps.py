"""`Step`: a command of a build, whose last step makes the result; and the ninja file."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from typing import NamedTuple

from .tools import find_binutil

PRECOMPILED = "tvmffi_cubin_precompiled.h"
"""The name of a precompiled header; compilers list it among the files that they read."""

VERSION_SCRIPT = "exports.map"
"""The file in the build folder that says which symbols stay local."""

# Shared objects must not interpose each other's images or the process's own driver and runtime
# entry points, or share our classes, which global symbols would do under RTLD_GLOBAL.
LOCAL_SYMBOLS = """\
{
  local:
    cu[A-Z]*;
    cuda[A-Z]*;
    __tvm_ffi__cubin_*;
    __tvmffi_cubin_*;
    _Z*tvmffi_cubin*;
};
"""


class Step(NamedTuple):
    """A command that makes a file from others; paths are absolute or within the build folder."""

    made: str
    command: tuple[str, ...]
    inputs: tuple[str, ...]
    after: tuple[str, ...] = ()  # words that come after the inputs
    depfile: str = ""  # where a C or C++ compiler lists what it has read
    prefix: str = ""  # the beginning of a source that stays the same from build to build

    @property
    def line(self) -> str:
        """The command as a line for a shell."""
        # Not ninja's `deps = gcc`, which deletes the depfile that the cache reads.
        depfile = ("-MD", "-MF", self.depfile) if self.depfile else ()
        words = (*self.command, *depfile, "-o", self.made, *self.inputs, *self.after)
        return shlex.join(words)


def compilation(
    source: str,
    command: Sequence[str],
    include_dirs: Sequence[str] = (),
    *,
    name: str = "",
    prefix: str = "",
) -> Step:
    """Return the step that compiles C or C++; the object is named `name`, or after the source."""
    stem = name or os.path.basename(source)
    folders = (word for folder in include_dirs for word in ("-I", folder))
    words = (*command, *folders, "-c")
    return Step(f"{stem}.o", words, (source,), depfile=f"{stem}.d", prefix=prefix)


def assembly(source: str) -> Step:
    """Return the step that assembles a text to an object named after the source."""
    return Step(f"{source}.o", (find_binutil("as"),), (source,))


def merge(made: str, objects: Sequence[str]) -> Step:
    """Return the step that merges objects into one."""
    return Step(made, (find_binutil("ld"), "-r"), tuple(objects))


def link(
    made: str,
    objects: Sequence[str],
    *,
    command: Sequence[str],
    flags: Sequence[str],
    required: Sequence[str] = (),
) -> Step:
    """Return the step in which the compiler driver links objects and libraries to a shared object.

    `flags` are the user's and those that host code needs; `required` are symbols that must be
    defined. Our symbols stay local (`LOCAL_SYMBOLS`).
    """
    # With lazy binding, the first call of a missing symbol would end the process; "now" makes it an
    # error at load time.
    options = ["-z,now", "-z,defs", f"--version-script={VERSION_SCRIPT}"]
    options += (f"--require-defined={symbol}" for symbol in required)
    words = (*command, "-shared", *(f"-Wl,{option}" for option in options))
    return Step(made, words, tuple(objects), tuple(flags))


def bare_link(made: str, objects: Sequence[str]) -> Step:
    """Return the step that links launchers with ``ld``, in a third of the time: no C runtime."""
    return Step(made, (find_binutil("ld"), "-shared", "-z", "now"), tuple(objects))


def ninja_text(steps: Sequence[Step]) -> str:
    """Return the ninja file of a build; paths in it are relative to the build folder.

    Commands are written out whole rather than with ninja's ``$in``: ninja rewrites paths there
    (``a/../b`` becomes ``b``, which is another file if ``a`` is a symbolic link).
    """
    parts = ["rule make\n  command = $run\n"]
    for step in steps:
        inputs, run = " ".join(map(_ninja_path, step.inputs)), step.line.replace("$", "$$")
        parts.append(f"build {_ninja_path(step.made)}: make {inputs}\n  run = {run}\n")
    parts.append(f"default {_ninja_path(steps[-1].made)}\n")
    return "\n".join(parts)


def _ninja_path(word: str) -> str:
    return word.replace("$", "$$").replace(" ", "$ ").replace(":", "$:")
