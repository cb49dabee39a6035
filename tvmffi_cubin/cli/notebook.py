"""``%%cuda``: a notebook cell as CUDA source, after ``%load_ext tvmffi_cubin``."""

from __future__ import annotations

from typing import Any

import tvmffi_cubin

from ..cache.info import cache_info
from ..errors import CubinError
from ..inline.calls import load_inline


def load_ipython_extension(shell: Any) -> None:
    """Register the IPython magic ``%%cuda``.

    The cell is the source. Its first line holds further arguments of `load_inline`, in Python
    syntax: ``%%cuda arch="sm_90a", functions={"k": tc.Launch(grid=1, block=32)}``. The module's
    functions become variables in the notebook. A build displays a table of what the kernels use; a
    cache hit displays nothing. An error shows only the compiler's message, with the cell's line
    numbers.
    """
    shell.register_magic_function(lambda line, cell: _cuda(shell, line, cell), "cell", "cuda")


def _cuda(shell: Any, line: str, cell: str) -> None:
    builds = cache_info().builds
    try:  # like the notebook's own code
        options = eval(f"dict({line})", {"tc": tvmffi_cubin, **shell.user_ns})
    except (NameError, SyntaxError) as error:
        from IPython.core.error import UsageError

        raise UsageError(
            f'%%cuda {line}: {error}; pass arguments of load_inline, as in %%cuda arch="sm_90a"'
        ) from None
    try:
        # The newline stands for the magic, which is the cell's first line.
        module = load_inline(options.pop("name", "cell"), f"\n{cell}", **options)
    except (CubinError, TypeError, ValueError) as error:
        message = [type(error).__name__, str(error)]
        error._render_traceback_ = lambda *_: [": ".join(message)]  # type: ignore[method-assign,union-attr]
        raise
    shell.push({name: module[name] for name in module._names})
    if cache_info().builds > builds:
        from IPython.display import display

        display(module)  # type: ignore[no-untyped-call]
