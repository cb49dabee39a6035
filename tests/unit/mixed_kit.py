"""Mixed sources cut in a test, with headers of a pretended CUDA."""

from __future__ import annotations

from pathlib import Path

from tvmffi_cubin.mixed_program import MixedSource, Program
from tvmffi_cubin.split import Split, split

HEADERS = (
    "cooperative_groups.h",
    "cub/block/block_reduce.cuh",
    "cub/warp/warp_reduce.cuh",
    "cuda/std/array",
    "cuda_fp16.h",
    "cuda_runtime.h",
    "cstdint",
    "mma.h",
    "type_traits",
)
SOURCES = Path(__file__).parent / "mixed"


def pretended_cuda(folder: Path) -> Path:
    """Make a folder of empty headers for NVRTC to find."""
    for name in HEADERS:
        header = folder / name
        header.parent.mkdir(parents=True, exist_ok=True)
        header.touch()
    return folder


def cut(*texts: str, folder: Path | None = None, include_dirs: tuple[Path, ...] = ()) -> Split:
    """Cut sources that are called a.cu, b.cu and so on."""
    names = [f"{letter}.cu" for letter, _ in zip("abcd", texts, strict=False)]
    device_dirs = () if folder is None else (str(folder),)
    sources = tuple(MixedSource(name, text) for name, text in zip(names, texts, strict=True))
    return split(Program(sources, tuple(map(str, include_dirs)), device_dirs))


def shown(text: str) -> str:
    """Return a text without blank lines, each line without the blanks around it."""
    lines = (line.strip() for line in text.split("\n"))
    return "\n".join(line for line in lines if line)


def host(*texts: str) -> str:
    """Return the host text of one source, or of the last of several, so shown."""
    return shown(cut(*texts).host.sources[-1].edited.text)


def device(*texts: str) -> str:
    """Return the device text of one source, or of the last of several, so shown."""
    return shown(cut(*texts).device.sources[-1].edited.text)
