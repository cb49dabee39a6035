"""`refuse_uncut`: kernels in headers that only the host compiler finds are no kernels for it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from .item_words import is_kernel
from .sources.reader import read
from .split import Split

__all__ = ["refuse_uncut"]

_KERNEL = "kernel"
# Not a member, nor what the C++ library calls by that name.
_NAMED = r"(?<!\.)(?<!->)(?<!\bstd::)\b{name}\b"
# Kernels are launched or passed: what is called is a function, which a branch of #if may have.
_NO_CALL = r"(?!\s*(?:<[^;<]*>\s*)?\()"


def refuse_uncut(cut: Split, read: Iterable[str]) -> None:
    """Refuse kernels that host code names and that are in headers which were not cut.

    Parameters
    ----------
    cut : Split
        The sources.
    read : iterable of str
        Files that the host compiler may read for them.

    Raises
    ------
    ValueError
        There is such a kernel; the message names it, and what makes NVRTC find the header.
    """
    nodes = [item for _, item, _ in cut.decided.nodes]
    own = {name for x in nodes if x.body or not is_kernel(x) for name in x.names}
    known = {file.name for file in cut.files}
    code = "\n".join(file.code for file in cut.files)
    for path in read:
        for name, line, what in () if path in known else _uncut(path):
            use = _NAMED.format(name=name) + (_NO_CALL if what == _KERNEL else "")
            if name in cut.decided.host_words - own and re.search(use, code):
                raise ValueError(
                    f"{path}:{line}: {what} {name} is in a header that only the host compiler "
                    "finds (CPATH, extra_cflags), which takes kernels for functions like any "
                    "other: name the header's folder in extra_include_paths"
                )


def _uncut(path: str) -> Iterator[tuple[str, int, str]]:
    """Iterate over the kernels in a header, and the functions if one of them launches any."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read()
    except OSError:
        return  # the compilers say what is wrong with it
    if "__global__" not in text and "<<<" not in text:
        return
    facts = read(text)
    for kernel in facts.kernels:
        if kernel.defined:
            yield kernel.name.partition("<")[0], kernel.line, _KERNEL
    if any(launch.in_host for launch in facts.launches):
        for function in facts.functions:
            if function.defined:
                name = function.qualified.rpartition("::")[2]
                yield name, function.line, "beside launches, the function"
