"""The environment of a build: what a compiler reads from it (for the key), what it is given."""

from __future__ import annotations

import os

# What gcc, clang, as, ld and NVRTC read beside the command line and that changes what they make.
_READ_BY_COMPILERS = (
    *("CCC_OVERRIDE_OPTIONS", "CPATH", "CPLUS_INCLUDE_PATH", "C_INCLUDE_PATH", "GNUTARGET"),
    *("LDEMULATION", "LD_RUN_PATH", "LIBRARY_PATH", "NIX_CFLAGS_COMPILE", "NIX_CFLAGS_LINK"),
    *("NIX_LDFLAGS", "NVRTC_APPEND_FLAGS", "SOURCE_DATE_EPOCH"),
)

# What says where they find their own programs. LD_LIBRARY_PATH is in no key: no linker takes from
# there what it links, and on clusters it is another for each user and job.
_PLACES_OF_TOOLS = ("COMPILER_PATH", "GCC_EXEC_PREFIX")

# Folders in which compilers look for headers after those of their flags.
_HEADER_FOLDERS = ("CPATH", "CPLUS_INCLUDE_PATH", "C_INCLUDE_PATH")

_REMOVED = (
    # Left behind by a `make -j` around this process: its job server is not open to ninja.
    *("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "NINJA_STATUS"),
    # nvcc is given these words by the build, which reads them where the caller is.
    *("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS"),
    # gcc would add to, or write, these files beside the depfile that it is asked for.
    *("DEPENDENCIES_OUTPUT", "SUNPRO_DEPENDENCIES"),
)


def compiler_environment() -> dict[str, str]:
    """Return the variables set now that change what a compiler makes; they belong in the key."""
    return _set(_READ_BY_COMPILERS)


def places_of_tools() -> dict[str, str]:
    """Return the variables set now that change which tools a compiler is made of."""
    return _set(_PLACES_OF_TOOLS)


def _set(names: tuple[str, ...]) -> dict[str, str]:
    return {name: value for name in names if (value := os.environ.get(name))}


def header_folder_flags() -> tuple[str, ...]:
    """Return the folders of headers that variables name, as flags."""
    lists = (os.environ.get(name, "").split(os.pathsep) for name in _HEADER_FOLDERS)
    found = dict.fromkeys(folder for folders in lists for folder in folders if folder)
    return tuple(word for folder in found for word in ("-isystem", folder))


def build_environment() -> dict[str, str]:
    """Return the environment for ninja: this process's, with messages in English."""
    kept = {name: value for name, value in os.environ.items() if name not in _REMOVED}
    # Where PATH is unset, programs are found in these folders; gcc finds no linker there itself.
    return {"PATH": os.defpath, **kept, "LC_ALL": "C"}
