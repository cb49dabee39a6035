"""`UnitCompiler`: the units of a request to device code that is yet to be linked."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from ..cuda import nvrtc
from ..cuda.options import nvrtc_options
from ..cuda.parallel import in_parallel
from ..errors import CompileError
from ..kernels.cubin import Cubin
from ..sources.facts import SourceFacts
from .hints import other_units_hints, with_hints
from .instances import wanted_instances
from .probe import Probe, Target, plan, plan_targets, squeeze
from .signatures import instance_failure, try_probe
from .units import DeviceUnit

if TYPE_CHECKING:
    from ..inline.request import Request

__all__ = ["CompiledUnit", "UnitCompiler"]


@dataclass(frozen=True)
class CompiledUnit:
    """A unit, what it was compiled to, the probe that was in it, and all that was tried."""

    unit: DeviceUnit
    cubin: Cubin
    probe: Probe
    tried: tuple[Target, ...] = ()


@dataclass(frozen=True)
class UnitCompiler:
    """Compiles units for one architecture.

    Attributes
    ----------
    request : Request
        Options, header folders, and the template instances that are wanted.
    units : tuple of DeviceUnit
        In order.
    arch : str
        Such as ``"sm_90a"``.
    target_type : str
        What is made of each, see `tvmffi_cubin.nvrtc.compile`.
    """

    request: Request
    units: tuple[DeviceUnit, ...]
    arch: str
    target_type: str

    @cached_property
    def facts(self) -> SourceFacts:
        """The kernels of all units, with lines as if the units were one text."""
        kernels = []
        lines = 0
        for unit in self.units:
            kernels += [k._replace(line=lines + k.line) for k in unit.facts.kernels]
            lines += unit.text.count("\n") + unit.prologue.count("\n") + 1
        return self.units[0].facts._replace(kernels=tuple(kernels))

    def compile_all(self) -> list[CompiledUnit]:
        """Compile all units, several at a time.

        Raises
        ------
        CompileError
            One does not compile: the first of those that do not.
        ValueError
            A wanted instance is one of no unit's kernels.
        """
        wanted = self._homes(tuple(dict.fromkeys(wanted_instances(self.request))))
        return in_parallel(lambda unit: self._build(unit, wanted.get(unit.name, [])), self.units)

    def ask_again(self, done: CompiledUnit, more: Sequence[Target]) -> CompiledUnit:
        """Compile a unit once more to learn the types of further kernels that may be its own."""
        keep = [x for x in done.probe.name_expressions if x in done.cubin.lowered_names]
        probe = plan_targets([*done.probe.targets, *more], keep)
        try:
            return CompiledUnit(done.unit, self._attempt(done.unit, probe), probe)
        except CompileError as error:
            rest = probe.surviving(error.log)
        if not {*rest.targets} <= {*done.probe.targets}:
            with contextlib.suppress(CompileError):
                return CompiledUnit(done.unit, self._attempt(done.unit, rest), rest)
        return done

    def _build(self, unit: DeviceUnit, wanted: Sequence[str]) -> CompiledUnit:
        planned = plan(unit.facts, wanted)
        try:
            cubin, probe = try_probe(lambda probe: self._attempt(unit, probe, wanted), planned)
        except CompileError as error:
            if not wanted:
                raise self._with_hints(unit, error) from None
            self._check(unit)
            raise instance_failure(wanted, self.facts, error) from None
        return CompiledUnit(unit, cubin, probe, planned.targets)

    def _attempt(self, unit: DeviceUnit, probe: Probe, wanted: Sequence[str] = ()) -> Cubin:
        names = tuple(dict.fromkeys([*wanted, *probe.name_expressions]))
        return self._compile(unit, epilogue=probe.epilogue, name_expressions=names)

    def _compile(
        self, unit: DeviceUnit, *, epilogue: str = "", name_expressions: Sequence[str] = ()
    ) -> Cubin:
        first, last = unit.folders
        return nvrtc.compile(
            unit.text,
            name=unit.name,
            arch=self.arch,
            options=nvrtc_options(self.request.cuda_cflags),
            name_expressions=name_expressions,
            include_paths=(*first, *self.request.include_paths, *last),
            source_include=unit.source.path is not None,
            prologue=unit.prologue,
            epilogue=epilogue,
            target_type=self.target_type,
            use_pch=self.request.use_pch,
        )

    def _check(self, unit: DeviceUnit) -> None:
        """Compile a unit as it is, for its own errors."""
        try:
            self._compile(unit)
        except CompileError as error:
            raise self._with_hints(unit, error) from None

    def _with_hints(self, unit: DeviceUnit, error: CompileError) -> CompileError:
        return with_hints(error, other_units_hints(error.log, unit, self.units))

    def _homes(self, wanted: Sequence[str]) -> dict[str, list[str]]:
        """Return the instances that each unit is to make, by the unit's name."""
        homes: dict[str, list[str]] = {}
        for expression in wanted:
            homes.setdefault(self._home(expression).name, []).append(expression)
        return homes

    def _home(self, expression: str) -> DeviceUnit:
        """Return the unit that has what an expression names."""
        if len(self.units) == 1:
            return self.units[0]
        base = squeeze(expression).lstrip("&:").partition("<")[0]
        for defined in (True, False):
            for unit in self.units:
                kernels = (k.qualified for k in unit.facts.kernels if k.defined or not defined)
                others = (d.qualified for d in unit.facts.definitions)
                if base in (*kernels, *others):
                    return unit
        # A header or a macro has it: there is nothing but to try.
        failure = None
        for unit in self.units:
            try:
                self._compile(unit, name_expressions=(expression,))
                return unit
            except CompileError as error:
                failure = failure or error
        for unit in self.units:
            self._check(unit)
        assert failure is not None
        raise instance_failure((expression,), self.facts, failure)
