"""`Unit`: one source as NVRTC compiles it, for one architecture at a time."""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass
from pathlib import Path

from . import compile_log
from .arch import is_ptx, number_of
from .cubin import Cubin
from .cuda_wheels import Cuda
from .errors import CompileError, CubinError
from .nvrtc_library import INVALID_OPTION, SUCCESS, NvrtcLibrary, Program
from .nvrtc_options import compile_options
from .toolchain import include_dir

__all__ = ["Unit", "shim_dir"]

# NVRTC searches quoted headers in the folder of the source's name, and the current folder must not
# decide what a source means. -no-source-include would stop headers from finding each other, too.
_NOWHERE = "/dev/null/kernel.cu"

_logger = logging.getLogger("tvmffi_cubin")


@dataclass(frozen=True)
class Unit:
    """One source with its options, whatever the architecture; see `tvmffi_cubin.nvrtc.compile`."""

    source: str
    name: str
    epilogue: str
    options: tuple[str, ...]
    name_expressions: tuple[str, ...]
    include_paths: tuple[Path, ...]
    source_include: bool

    def compile(
        self, library: NvrtcLibrary, cuda: Cuda, arch: str, target_type: str = "cubin"
    ) -> Cubin:
        """Compile for one architecture; of ``"compute_90"`` and the like PTX is made.

        Raises
        ------
        CompileError
            The source does not compile.
        ValueError
            NVRTC refuses an option.
        """
        target_type = "ptx" if is_ptx(arch) else target_type
        command = compile_options(
            # PTX is assembled along the way: what its base architecture lacks comes to light now
            # and not on some newer device.
            arch=f"sm_{number_of(arch)}" if is_ptx(arch) else arch,
            options=self.options,
            shims=shim_dir(),
            include_paths=self.include_paths,
            cuda_includes=cuda.include_dirs,
            target_type=target_type,
        )
        text = f"{self.source}\n{self.epilogue}" if self.epilogue else self.source
        alias = self.name
        if not self.source_include:
            text = f'#line 1 "{_escaped(self.name)}"\n{text}'
            alias = _NOWHERE
        with library.program(text.encode(), alias.encode()) as program:
            for expression in self.name_expressions:
                program.add_name_expression(expression.encode())
            result = program.compile([os.fsencode(option) for option in command])
            log = program.log().replace(_NOWHERE, self.name)
            if result != SUCCESS:
                raise self._failure(library, cuda, result, log, arch, command)
            image = _image(program, command, target_type)
            lowered = {item: program.lowered_name(item.encode()) for item in self.name_expressions}
        if log:
            own = [str(folder) for folder in cuda.include_dirs]
            level = logging.WARNING if compile_log.warns(log, headers=own) else logging.INFO
            _logger.log(level, "NVRTC on %s for %s:\n%s", self.name, arch, log)
        return Cubin(
            image=image,
            arch=arch,
            lowered_names=lowered,
            log=log,
            kind=target_type,
            cuda_version=".".join(map(str, library.version())),
        )

    def _failure(
        self,
        library: NvrtcLibrary,
        cuda: Cuda,
        result: int,
        log: str,
        arch: str,
        command: tuple[str, ...],
    ) -> CubinError | ValueError:
        if result == INVALID_OPTION:
            release = ".".join(map(str, library.version()))
            return ValueError(
                f"NVRTC {release} refuses an option: {log or library.error_text(result)}; "
                f"the options were: {' '.join(command)}"
            )
        text = compile_log.annotate(log, name=self.name, source=self.source) or library.error_text(
            result
        )
        advice = compile_log.hints(log, arch=arch, wheels=cuda.wheels)
        return CompileError(
            "\n".join(
                (f"{self.name} does not compile for {arch}:", text, *(f"Hint: {x}" for x in advice))
            ),
            log=log,
            source=self.source,
            options=command,
        )


def shim_dir() -> Path:
    """Return the folder of the headers that stand in for those that NVRTC lacks."""
    return include_dir() / "tvmffi_cubin" / "nvrtc"


def _image(program: Program, command: tuple[str, ...], target_type: str) -> bytes:
    image = program.output(target_type)
    if not image:
        raise ValueError(
            "NVRTC made no image: one of the options asks for another kind of output "
            f"({' '.join(command)}); leave out -dlto, -ptx and the like, and say target_type="
        )
    return image.rstrip(b"\0") if target_type == "ptx" else image


def _escaped(name: str) -> str:
    return name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
