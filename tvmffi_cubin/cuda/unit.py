"""`Unit`: one source as NVRTC compiles it, for one architecture at a time."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from ..errors import CompileError, CubinError
from ..kernels.cubin import Cubin
from ..toolchain import include_dir
from . import program
from .arch import is_ptx, number_of
from .libraries import Cuda
from .options import compile_options, random_seed
from .program import INVALID_OPTION, SUCCESS, Nvrtc

if TYPE_CHECKING:
    from ..nvrtc_pch import Headers

# NVRTC searches quoted headers in the folder of the source's name, and the current folder must not
# decide what a source means. -no-source-include would stop headers from finding each other, too.
_NOWHERE = "/dev/null/kernel.cu"

# Headers that read fast, which NVIDIA's wheels have: where a source includes no others, nothing is
# gained by precompiling, nor by importing what decides on it.
_FAST = r"[ \t]*[<\"](?:cuda_(?:fp4|fp6|fp8|fp16|bf16|runtime)|cuda|mma)\.h[>\"]"

_logger = logging.getLogger("tvmffi_cubin")


class _Outcome(NamedTuple):
    """What came out of one compilation; no image where it failed."""

    result: int
    log: str
    image: bytes = b""
    lowered_names: Mapping[str, str] = MappingProxyType({})


class Unit(NamedTuple):
    """One source with its options, whatever the architecture; see `tvmffi_cubin.nvrtc.compile`."""

    source: str
    name: str
    prologue: str
    epilogue: str
    options: tuple[str, ...]
    name_expressions: tuple[str, ...]
    include_paths: tuple[Path, ...]
    source_include: bool
    use_pch: bool = False

    def compile(self, nvrtc: Nvrtc, cuda: Cuda, arch: str, target_type: str = "cubin") -> Cubin:
        """Compile for one architecture; of ``"compute_90"`` and the like PTX is made."""
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
        done = program.apart(
            lambda call: self._compile_with_headers(nvrtc, cuda, command, target_type, call)
        )
        log = done.log.replace(_NOWHERE, self.name)
        own = [str(folder) for folder in cuda.include_dirs]
        if done.result != SUCCESS:
            raise self._failure(nvrtc, cuda, done.result, log, arch, command)
        if not done.image:
            raise ValueError(
                "NVRTC made no image: one of the options asks for another kind of output "
                f"({' '.join(command)}); leave out -dlto, -ptx and the like, and say target_type="
            )
        if log:
            from .log import warns

            level = logging.WARNING if warns(log, headers=own) else logging.INFO
            _logger.log(level, "NVRTC on %s for %s:\n%s", self.name, arch, log)
        return Cubin(
            image=done.image.rstrip(b"\0") if target_type == "ptx" else done.image,
            arch=arch,
            lowered_names=done.lowered_names,
            log=log,
            kind=target_type,
            cuda_version=".".join(map(str, nvrtc.version())),
        )

    def _compile_with_headers(
        self,
        nvrtc: Nvrtc,
        cuda: Cuda,
        command: tuple[str, ...],
        target_type: str,
        call: program.Call,
    ) -> _Outcome:
        if not self.use_pch or not self._may_be_heavy:
            return self._run(nvrtc, command, target_type, call)
        from ..nvrtc_pch import headers

        folder = os.path.dirname(os.path.abspath(self.name)) if self.source_include else None
        packages = [os.fspath(path) for path in (shim_dir(), *cuda.include_dirs)]
        with headers(
            nvrtc, self._text[0], command, alias=self._alias, packages=packages, folder=folder
        ) as found:
            done = self._run(nvrtc, command, target_type, call, found)
        if found is not None and (found.is_stale or found.may_be_blamed(done.result, done.log)):
            return self._run(nvrtc, command, target_type, call)
        return done

    @property
    def _may_be_heavy(self) -> bool:
        """Whether something is included that may take long to read."""
        text, _ = self._text
        if any("include" in option for option in self.options):
            return True
        if "include" not in text:
            return False
        included = re.findall(r"^[ \t]*#[ \t]*include\b(.*)", text, re.MULTILINE)
        return not all(re.match(_FAST, header) for header in included)

    @property
    def _text(self) -> tuple[str, str | None]:
        """What is compiled before the epilogue, and the name of its first lines, if they need one.

        What is precompiled must not begin with a ``#line``.
        """
        name = None if self.source_include else _escaped(self.name)
        if not self.prologue:
            return self.source, name
        rest = f"{line_directive(self.name)}{self.source}"
        # As `line_directive` writes it.
        first = re.match(r'#line 1 "((?:[^"\\]|\\.)*)"\n', self.prologue)
        if first is None:
            return f"{self.prologue}\n{rest}", name
        return f"{self.prologue[first.end() :]}\n{rest}", first[1]

    @property
    def _alias(self) -> str:
        return self.name if self.source_include else _NOWHERE

    def _run(
        self,
        nvrtc: Nvrtc,
        command: tuple[str, ...],
        target_type: str,
        call: program.Call,
        headers: Headers | None = None,
    ) -> _Outcome:
        text, name = self._text
        text = f"{text}\n{self.epilogue}" if self.epilogue else text
        if headers is not None:
            text = headers.text(text, name)
            command = (*command, *headers.options)
        elif name is not None:
            text = f'#line 1 "{name}"\n{text}'
        if nvrtc.has_random_seed:
            # Only now: units with one set of precompiled headers have different seeds.
            given = (self.name, self.prologue, self.source)
            command = (*command, *random_seed(self.options, given))
        # The name of a file may be no UTF-8.
        data = text.encode("utf-8", "surrogateescape")
        with nvrtc.program(data, os.fsencode(self._alias), call) as made:
            for expression in self.name_expressions:
                made.add_name_expression(expression.encode())
            result = made.compile([os.fsencode(option) for option in command])
            log = made.log()
            if headers is not None:
                log = headers.note(made, log, self.name)
            if result != SUCCESS:
                return _Outcome(result, log)
            lowered = {item: made.lowered_name(item.encode()) for item in self.name_expressions}
            return _Outcome(result, log, made.output(target_type), lowered)

    def _failure(
        self,
        nvrtc: Nvrtc,
        cuda: Cuda,
        result: int,
        log: str,
        arch: str,
        command: tuple[str, ...],
    ) -> CubinError | ValueError:
        if result == INVALID_OPTION:
            release = ".".join(map(str, nvrtc.version()))
            return ValueError(
                f"NVRTC {release} refuses an option: {log or nvrtc.error_text(result)}; "
                f"the options were: {' '.join(command)}"
            )
        from .headers import header_hints
        from .log import annotate, hints, host_header_problem, missing_header_hint

        if problem := host_header_problem(log, self.source, cuda):
            lines = f"(NVRTC's {log.count(chr(10))} lines about it are in the error's log.)"
            text = f"{problem}.\n{lines}"
        else:
            text = annotate(log, name=self.name, source=self.source) or nvrtc.error_text(result)
            advice = (*missing_header_hint(log, cuda), *header_hints(log), *hints(log, arch=arch))
            text = "\n".join((text, *(f"Hint: {hint}" for hint in dict.fromkeys(advice))))
        return CompileError(
            f"{self.name} does not compile for {arch}:\n{text}",
            log=log,
            source=self.source,
            options=command,
        )


def shim_dir() -> Path:
    """Return the folder of the headers that stand in for those that NVRTC lacks."""
    return include_dir() / "tvmffi_cubin" / "nvrtc"


def line_directive(name: str) -> str:
    """Return the directive after which the compiler takes lines for those of a source."""
    return f'#line 1 "{_escaped(name)}"\n'


def _escaped(name: str) -> str:
    return name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
