"""Text of the unit that says which kernel each stub of a mixed source stands for."""

from __future__ import annotations

from collections.abc import Mapping

from .assembly import quoted

# As nvcc writes it: what __cudaRegisterFatBinary takes.
_MAGIC, _VERSION = 0x466243B1, 1


def registration(tag: str, image: str | None, symbols: Mapping[str, str]) -> str:
    """Return the assembly text of a unit's table, see ``mixed/launch.h``.

    It goes behind that of the image, `assembly.image_text`.

    Parameters
    ----------
    tag : str
        Of the unit whose table it is, as its ``TVMFFI_CUBIN_MIXED_UNIT`` has it.
    image : str or None
        The name of the image that has the kernels, a fatbin, if there is any.
    symbols : mapping of str to str
        What the stubs of kernels and variables are called, and their symbols in the image.
    """
    labels = {
        text: f".Ltext_{n}" for n, text in enumerate(dict.fromkeys((*symbols, *symbols.values())))
    }
    lines = ['    .section .rodata,"a",%progbits']
    lines += [f"{label}:\n    .asciz {quoted(text)}" for text, label in labels.items()]
    if image is not None:
        lines += [
            '    .section .nvFatBinSegment,"aw",%progbits',
            "    .balign 8",
            f".Lwrapper:\n    .long {_MAGIC}, {_VERSION}\n    .quad .Lcubin_{image}, 0",
        ]
    name = f"tvmffi_cubin_mixed_table_{tag}"
    lines += ['    .section .data.rel.ro,"aw"', "    .balign 16", ".Lrows:"]
    lines += [f"    .quad {labels[x]}, {labels[symbol]}" for x, symbol in symbols.items()]
    wrapper = "0" if image is None else ".Lwrapper"
    lines += [
        "    .balign 16",
        f"    .globl {name}\n    .hidden {name}\n    .type {name}, %object\n{name}:",
        f"    .quad {wrapper}, .Lrows, {len(symbols)}",
        '    .section .note.GNU-stack,"",%progbits',
    ]
    return "\n".join(lines) + "\n"
