"""The environment of a build: what a compiler reads from it (for the key), what it is given."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator, Mapping

__all__ = [
    "build_environment",
    "compiler_environment",
    "header_folder_flags",
    "places_of_tools",
    "variables",
    "with_variables",
]

# What gcc, clang, as, ld and NVRTC read beside the command line and that changes what they make.
_READ_BY_COMPILERS = (
    "CCC_OVERRIDE_OPTIONS",
    "CPATH",
    "CPLUS_INCLUDE_PATH",
    "C_INCLUDE_PATH",
    "GNUTARGET",
    "LDEMULATION",
    "LD_RUN_PATH",
    "LIBRARY_PATH",
    "NIX_CFLAGS_COMPILE",
    "NIX_CFLAGS_LINK",
    "NIX_LDFLAGS",
    "NVRTC_APPEND_FLAGS",
    "SOURCE_DATE_EPOCH",
)

# What says where they find their own programs. LD_LIBRARY_PATH is in no key: no linker takes from
# there what it links, and on clusters it is another for each user and job.
_PLACES_OF_TOOLS = ("COMPILER_PATH", "GCC_EXEC_PREFIX")

# Folders in which compilers look for headers after those of their flags.
_HEADER_FOLDERS = ("CPATH", "CPLUS_INCLUDE_PATH", "C_INCLUDE_PATH")

# Left behind by a `make -j` around this process: its job server is not open to ninja.
_REMOVED = ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "NINJA_STATUS")

# nvcc is given these words by the build, which reads them where the caller is.
_OF_NVCC = ("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS")

_of_thread = threading.local()


def variables() -> Mapping[str, str]:
    """Return the variables that this thread's builds have: the process's, or `with_variables`'."""
    found: Mapping[str, str] = getattr(_of_thread, "variables", os.environ)
    return found


@contextlib.contextmanager
def with_variables(kept: Mapping[str, str]) -> Iterator[None]:
    """Have this thread's builds see variables as they were.

    What goes on in the background belongs to a key that was made of them; the program may have set
    others meanwhile, for its next build.
    """
    _of_thread.variables = kept
    try:
        yield
    finally:
        del _of_thread.variables


def compiler_environment() -> dict[str, str]:
    """Return the variables set now that change what a compiler makes; they belong in the key."""
    return _set(_READ_BY_COMPILERS)


def places_of_tools() -> dict[str, str]:
    """Return the variables set now that change which tools a compiler is made of."""
    return _set(_PLACES_OF_TOOLS)


def header_folder_flags() -> tuple[str, ...]:
    """Return the folders of headers that variables name, as flags."""
    lists = (variables().get(name, "").split(os.pathsep) for name in _HEADER_FOLDERS)
    found = dict.fromkeys(folder for folders in lists for folder in folders if folder)
    return tuple(word for folder in found for word in ("-isystem", folder))


def _set(names: tuple[str, ...]) -> dict[str, str]:
    return {name: value for name in names if (value := variables().get(name))}


def build_environment() -> dict[str, str]:
    """Return the environment for ninja: this process's, with messages in English."""
    removed = (*_REMOVED, *_OF_NVCC)
    environment = {name: value for name, value in variables().items() if name not in removed}
    # Where it is unset, programs are started from these folders; gcc finds no linker there itself.
    environment.setdefault("PATH", os.defpath)
    environment["LC_ALL"] = "C"
    # gcc would add to, or write, these files beside the depfile that it is asked for.
    environment.pop("DEPENDENCIES_OUTPUT", None)
    environment.pop("SUNPRO_DEPENDENCIES", None)
    return environment
