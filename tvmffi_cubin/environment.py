"""The environment of a build: what a compiler reads from it (for the key), what it is given."""

from __future__ import annotations

import os

__all__ = ["build_environment", "compiler_environment"]

# What gcc, clang, as and ld read beside the command line and that changes what they make.
_READ_BY_COMPILERS = (
    "COMPILER_PATH",
    "CPATH",
    "CPLUS_INCLUDE_PATH",
    "C_INCLUDE_PATH",
    "GCC_EXEC_PREFIX",
    "LD_LIBRARY_PATH",
    "LD_RUN_PATH",
    "LIBRARY_PATH",
    "SOURCE_DATE_EPOCH",
)

# Left behind by a `make -j` around this process: its job server is not open to ninja.
_REMOVED = ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "NINJA_STATUS")


def compiler_environment() -> dict[str, str]:
    """Return the variables set now that change what a compiler makes; they belong in the key."""
    return {name: os.environ[name] for name in _READ_BY_COMPILERS if os.environ.get(name)}


def build_environment() -> dict[str, str]:
    """Return the environment for ninja: this process's, with messages in English."""
    environment = {name: value for name, value in os.environ.items() if name not in _REMOVED}
    # Where it is unset, programs are started from these folders; gcc finds no linker there itself.
    environment.setdefault("PATH", os.defpath)
    environment["LC_ALL"] = "C"
    # gcc would add to, or write, these files beside the depfile that it is asked for.
    environment.pop("DEPENDENCIES_OUTPUT", None)
    environment.pop("SUNPRO_DEPENDENCIES", None)
    return environment
