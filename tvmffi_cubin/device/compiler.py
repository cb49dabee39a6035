"""`Compiler`: the units of a request to device code, with what NVRTC tells of their kernels."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..cuda import nvrtc
from ..cuda.options import nvrtc_options
from ..errors import CompileError
from ..kernels.cubin import Cubin
from .instances import wanted_instances
from .probe import Probe, Target, plan, squeeze
from .units import Unit

if TYPE_CHECKING:
    from ..inline.request import Request


class Compiled(NamedTuple):
    """A unit, what it was compiled to, the probe that was in it, and all that was tried."""

    unit: Unit
    cubin: Cubin
    probe: Probe
    tried: tuple[Target, ...]


class Compiler(NamedTuple):
    """Compiles the units of a request for one architecture; see `nvrtc.compile`."""

    request: Request
    units: tuple[Unit, ...]
    arch: str
    target_type: str

    def compile_all(self) -> list[Compiled]:
        """Compile all units, several at a time; the error is that of the first that fails."""
        homes: dict[str, list[str]] = {}
        for expression in dict.fromkeys(wanted_instances(self.request)):
            homes.setdefault(self._home(expression).name, []).append(expression)
        if len(self.units) == 1:
            return [self._build(self.units[0], homes.get(self.units[0].name, []))]
        from ..cuda.program import in_parallel

        return in_parallel(lambda unit: self._build(unit, homes.get(unit.name, [])), self.units)

    def ask_again(self, done: Compiled, more: Sequence[Target]) -> Compiled:
        """Compile a unit once more to learn the types of further kernels that may be its own."""
        targets = dict.fromkeys((*done.probe.targets, *more))
        return self._tried(done.unit, Probe(tuple(targets), done.probe.hidden))

    def _build(self, unit: Unit, wanted: Sequence[str]) -> Compiled:
        try:
            return self._tried(unit, plan(unit.facts.kernels, wanted), wanted)
        except CompileError as error:
            if wanted:
                self._plain(unit)  # for the unit's own errors
                raise self._instance_failure(wanted, error) from None
            raise

    def _tried(self, unit: Unit, planned: Probe, wanted: Sequence[str] = ()) -> Compiled:
        """Compile with a probe, else with what of it compiles, else without."""
        probe = planned
        while probe.name_expressions:
            names = tuple(dict.fromkeys((*wanted, *probe.name_expressions)))
            try:
                cubin = self._compile(unit, names, probe.epilogue)
                return Compiled(unit, cubin, probe, planned.targets)
            except CompileError as error:
                probe = probe.surviving(error.log) if probe is planned else Probe()
        return Compiled(unit, self._plain(unit, wanted), probe, planned.targets)

    def _plain(self, unit: Unit, wanted: Sequence[str] = ()) -> Cubin:
        """Compile without a probe: an error is the user's own."""
        try:
            return self._compile(unit, wanted)
        except CompileError as error:
            from .hints import other_units_hints, with_hints

            raise with_hints(error, other_units_hints(error.log, unit, self.units)) from None

    def _compile(
        self, unit: Unit, name_expressions: Sequence[str] = (), epilogue: str = ""
    ) -> Cubin:
        return nvrtc.compile(
            unit.text,
            name=unit.name,
            arch=self.arch,
            options=nvrtc_options(self.request.cuda_cflags),
            name_expressions=name_expressions,
            include_paths=unit.include_paths,
            source_include=unit.is_file,
            prologue=unit.prologue,
            epilogue=epilogue,
            target_type=self.target_type,
            use_pch=self.request.use_pch,
        )

    def _home(self, expression: str) -> Unit:
        """Return the unit that has what an expression names."""
        name = squeeze(expression).lstrip("&:").partition("<")[0]
        for unit in self.units:
            defined = [kernel.qualified for kernel in unit.facts.kernels if kernel.defined]
            if name in (*defined, *(found.qualified for found in unit.facts.definitions)):
                return unit
        # A header or a macro has it: there is nothing but to try.
        for unit in self.units[:-1]:
            with contextlib.suppress(CompileError):
                self._compile(unit, (expression,))
                return unit
        return self.units[-1]

    def _instance_failure(
        self, wanted: Sequence[str], error: CompileError
    ) -> CompileError | ValueError:
        """Return the error for instances of which one does not compile, or is of no kernel."""
        if "detected during" in error.log or "nv_mangled_name" not in error.log:
            return error  # NVRTC found the template, and something wrong in its body
        kernels = (kernel.qualified for unit in self.units for kernel in unit.facts.kernels)
        declared = ", ".join(dict.fromkeys(kernels)) or "none"
        # NVRTC quotes what it cannot read, and not what it can.
        failed = [name for name in wanted if f"nv_mangled_name {name}\n" in error.log] or wanted
        listed = ", ".join(map(repr, failed[:8])) + (", ..." if len(failed) > 8 else "")
        return ValueError(
            f"{listed}: no instance of the source's kernels, which are: {declared}; that of an "
            f"embedded image is named with it, Launch(image=...). NVRTC says:\n{error.log}"
        )
