"""Machine code as text, by NVIDIA's nvdisasm."""

from __future__ import annotations

import os
import re
import tempfile

from ..cuda.libraries import find_program
from ..errors import ToolchainError
from ..host import process
from ..kernels.cubin import Cubin


def sass(cubin: Cubin) -> dict[str, str]:
    """Return the machine code of an image's kernels, by symbol; of a fatbin's newest cubin."""
    nvdisasm = find_program("nvdisasm")
    if nvdisasm is None:
        raise ToolchainError(
            "there is no nvdisasm, neither on PATH nor among NVIDIA's wheels or in a toolkit; run: "
            "pip install nvidia-cuda-nvdisasm"
        )
    image = [x for x in (cubin.members or (cubin,)) if x.kind == "cubin"]
    if not image:
        raise ValueError(f"{cubin.name or 'the image'} holds no machine code: it is {cubin.kind}")
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(image[-1].image)
        file.flush()
        status, text = process.run([str(nvdisasm), "-c", file.name], environment=os.environ)
    if status != 0:
        raise ToolchainError(f"{nvdisasm} does not read the image: {text.strip()}")
    sections = re.split(r"^//-+ \.(\S+) +-+$", text, flags=re.MULTILINE)
    found = zip(sections[1::2], sections[2::2], strict=True)
    return {x.removeprefix("text."): y.strip("\n") for x, y in found if x.startswith("text.")}
