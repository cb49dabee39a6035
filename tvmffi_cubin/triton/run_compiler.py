"""Runs Triton's compiler; what it raises becomes an error of this package."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import CompileError
from .installed import Installed
from .wanted import Wanted

__all__ = ["parse_options", "run_compiler"]


def parse_options(
    triton: Installed, fn: Any, backend: Any, options: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the options as Triton's compiler takes them.

    Raises
    ------
    TypeError, ValueError
        There is no such option, or Triton refuses a value.
    """
    given = {name: value for name, value in options.items() if value is not None}
    knobs = triton.knobs
    debug = given.get("debug", getattr(fn, "debug", None)) or knobs.runtime.debug
    given["debug"] = bool(debug)
    try:
        parsed = vars(backend.parse_options(dict(given)))
    except Exception as error:
        raise ValueError(
            f"options: Triton refuses {given}: {error or type(error).__name__}"
        ) from error
    for name in given:
        if name not in parsed:
            known = ", ".join(sorted(parsed))
            raise TypeError(
                f"options: Triton {triton.version} has no option {name!r}; it has {known}"
            )
    return dict(parsed)


def run_compiler(
    triton: Installed, fn: Any, wanted: Wanted, target: Any, options: Mapping[str, Any]
) -> Any:
    """Compile a function, without a GPU and without launching.

    Returns
    -------
    triton.compiler.CompiledKernel
        What Triton made.

    Raises
    ------
    CompileError
        Triton, or its assembler, refuses; the message has its text.
    """
    source = triton.source_class(fn)(fn, wanted.signature, wanted.constexprs, wanted.attrs)
    try:
        return triton.compiler.compile(source, target=target, options=dict(options))
    except Exception as error:
        text = str(error) or repr(error)
        is_own = isinstance(error, triton.errors.TritonError)
        log = text if is_own else f"{type(error).__name__}: {text}"
        if "PassManager" in text:
            log += " (Triton's passes write the reason to the process's error stream)"
        raise CompileError(
            f"Triton {triton.version} does not compile {fn.__name__} for sm_{target.arch}:\n{log}",
            log=log,
            source=getattr(fn, "src", ""),
        ) from error
