"""`find_kernels`: the kernels of a CUDA source and where in its text they stand."""

from __future__ import annotations

from dataclasses import dataclass

from .facts import KernelFact, read


@dataclass(frozen=True)
class KernelText:
    """A kernel as a source writes it: defined, declared, or an instance of a template.

    Positions are offsets in the source, such as ``source[k.params_start : k.params_end]``.

    Attributes
    ----------
    name : str
        With namespaces, and with the arguments of an explicit instantiation or specialization.
    params : tuple of (str, str)
        Each parameter's type and name as written; an unnamed one has an empty name.
    line : int
        The line of the name, from 1.
    is_template : bool
        Whether it is a template, and not an instance of one.
    params_start, params_end : int
        The text between the parentheses of the parameters.
    body_start : int or None
        After the brace that opens the body; None without a body.
    """

    name: str
    params: tuple[tuple[str, str], ...]
    line: int
    is_template: bool
    params_start: int
    params_end: int
    body_start: int | None


def find_kernels(source: str) -> tuple[KernelText, ...]:
    """Return the kernels in a CUDA source, in order: for tools that change its text.

    Branches that NVRTC never sees are skipped. For any other ``#if``, all branches count.

    Parameters
    ----------
    source : str
        CUDA C++ source text.

    Raises
    ------
    TypeError
        `source` is no str.
    ValueError
        A kernel cannot be located: a macro spells its declaration, or the text cannot be parsed.
        The message names kernel and line.
    """
    if not isinstance(source, str):
        raise TypeError(
            f"find_kernels takes the text of a source, a str, got {type(source).__name__}: read a "
            "file with pathlib.Path(...).read_text()"
        )
    return tuple(_kernel_text(kernel) for kernel in read(source).kernels)


def _kernel_text(kernel: KernelFact) -> KernelText:
    if kernel.params is None or kernel.span is None:
        raise ValueError(
            f"line {kernel.line}: the declaration of kernel {kernel.qualified!r} is spelled by a "
            "macro, or cannot be parsed: write it out"
        )
    start, end, body = kernel.span
    return KernelText(
        name=kernel.qualified,
        params=tuple((param.type_text, param.name) for param in kernel.params),
        line=kernel.line,
        is_template=kernel.template_params is not None,
        params_start=start,
        params_end=end,
        body_start=body,
    )
