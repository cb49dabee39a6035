"""Text of the unit that says which kernel each stub of host code stands for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from string import Template

from .functions.assembly import quoted

__all__ = ["mixed_table_unit"]


def mixed_table_unit(
    tag: str,
    image: str | None,
    kernels: Mapping[str, str],
    variables: Mapping[str, str],
    lines: Sequence[tuple[str, int, int]] = (),
) -> str:
    """Return the assembly text of the table that stubs look into, see ``mixed/table.h``.

    It goes behind that of the image, `assembly.image_text`.

    Parameters
    ----------
    tag : str
        Of the unit whose table it is, as its ``TVMFFI_CUBIN_MIXED_UNIT`` has it.
    image : str or None
        The name of the image that has the kernels, if there is any.
    kernels : mapping of str to str
        What stubs register themselves by, and the kernels' symbols in the image.
    variables : mapping of str to str
        Device variables as host code names them, and their symbols.
    lines : sequence of (str, int, int)
        Files, in order; from which line on of what was compiled their lines are others now, and by
        how much.
    """
    rows = [*kernels.items(), *variables.items()]
    cells = [*(text for row in rows for text in row), *(file for file, _, _ in lines)]
    labels = {text: f".Ltext_{number}" for number, text in enumerate(dict.fromkeys(cells))}
    path = Path(__file__).parent / "templates" / "mixed_table.s.in"
    return Template(path.read_text(encoding="utf-8")).substitute(
        tag=tag,
        image="0" if image is None else f".Limage_{image}",
        strings="\n".join(_string(label, text) for text, label in labels.items()),
        kernels=_rows(kernels, labels),
        variables=_rows(variables, labels),
        num_kernels=len(kernels),
        num_variables=len(variables),
        lines="\n".join(
            f"    .quad {labels[file]}\n    .long {first}, {shift}" for file, first, shift in lines
        ),
        num_lines=len(lines),
    )


def _string(label: str, text: str) -> str:
    return f"{label}:\n    .asciz {quoted(text)}"


def _rows(table: Mapping[str, str], labels: Mapping[str, str]) -> str:
    return "\n".join(
        f"    .quad {labels[name]}, {labels[symbol]}" for name, symbol in table.items()
    )
