"""Text of the unit that says which kernel each stub of a mixed source stands for."""

from __future__ import annotations

from collections.abc import Mapping

from .assembly import Layout, Text

_ROW = Layout("P P")
_TABLE = Layout("P P q")  # `Table` in mixed/launch.h
# As nvcc writes it: what __cudaRegisterFatBinary takes.
_WRAPPER = """\
    .section .nvFatBinSegment,"aw",%progbits
    .balign 8
.Lwrapper:
    .long 0x466243b1,1
    .quad .Lcubin_{},0
"""


def registration(tag: str, image: str | None, symbols: Mapping[str, str]) -> str:
    """Return the assembly text of a unit's table; that of its image, `image_text`, goes behind it.

    Parameters
    ----------
    tag : str
        Of the unit whose table it is, as its ``TVMFFI_CUBIN_MIXED_UNIT`` has it.
    image : str or None
        The name of the image that has the kernels, a fatbin, if there is any.
    symbols : mapping of str to str
        What the stubs of kernels and variables are called, and their symbols in the image.
    """
    text = Text()
    text.named(".Lrows", [_ROW.row(text.string(x), text.string(y)) for x, y in symbols.items()])
    wrapper = None if image is None else ".Lwrapper"
    row = _TABLE.row(wrapper, ".Lrows", len(symbols))
    text.hidden(f"tvmffi_cubin_mixed_table_{tag}", row)
    return text.finished(*([] if image is None else [_WRAPPER.format(image)]))
