"""`FunctionTable`: TVM's table of the kernels of a module, by name."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..atomic import write_output
from .binary_form import write_functions
from .function_info import FunctionInfo
from .json_form import FUNCTIONS, written_functions
from .layouts import Layout, find_layout

if TYPE_CHECKING:
    from ..launch import Launch

__all__ = ["FunctionTable"]

_VERSION = {"tvm_version": "0.1.0"}
_PREFIX = re.compile(r"tirx?\.(?=use_)")


@dataclass(frozen=True, eq=False)
class FunctionTable(Mapping[str, FunctionInfo]):
    """The functions of a module; a mapping that compares as a dict does.

    Parameters
    ----------
    functions : sequence of FunctionInfo, or mapping of str to FunctionInfo
        In the order in which they are written.
    layout : str
        That in which the table is written where no other is asked for, and which it had where it
        was read: ``"v2"`` (the newest), ``"v1"`` (with ``arg_extra_tags``), ``"v0"``,
        ``"thread_axis"``, ``"flag"``, ``"flags"``, ``"v1_flags"``.
    extra : mapping of str to object
        What stands beside the functions in the JSON form, such as ``"tvm_version"``.

    Raises
    ------
    TypeError, ValueError
        There is no such layout, or a function is called by another name than its own.
    """

    functions: Mapping[str, FunctionInfo] = field(default_factory=dict)
    layout: str = "v2"
    extra: Mapping[str, Any] = field(default_factory=lambda: dict(_VERSION))

    def __post_init__(self) -> None:
        find_layout(self.layout)
        object.__setattr__(self, "functions", _by_name(self.functions))
        if not isinstance(self.extra, Mapping):
            raise TypeError(f"FunctionTable: extra is a mapping, got {type(self.extra).__name__}")

    def __getitem__(self, name: str) -> FunctionInfo:
        """Return a function by its name."""
        return self.functions[name]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names, in order."""
        return iter(self.functions)

    def __len__(self) -> int:
        """Return how many functions there are."""
        return len(self.functions)

    def launches(self) -> dict[str, Launch]:
        """Return how each function launches: for ``load_inline(functions=..., embed_cubin=...)``.

        A function takes the kernel's arguments and then the values of its launch, in the order of
        the tags or fields; flags take none. Values of tags that are 0 count as 1, as in TVM.

        Raises
        ------
        ValueError
            A function has an argument or a launch that a `tvmffi_cubin.Launch` has not; the message
            names both.
        """
        from .made_launch import made_launches

        return made_launches(self.values())

    def to_json(self, layout: str | None = None) -> dict[str, Any]:
        """Return the table as JSON values, such as `read_table` takes.

        Parameters
        ----------
        layout : str, optional
            One that a TVM of an older time reads. Default: the table's own.

        Raises
        ------
        TypeError, ValueError
            There is no such layout, or it cannot say what the table says.
        """
        return {**self.extra, FUNCTIONS: written_functions(self.values(), self._layout(layout))}

    def write(self, path: str | os.PathLike[str], layout: str | None = None) -> None:
        """Write the table as TVM's ``k.tvm_meta.json`` has it.

        Parameters
        ----------
        path : path
            The file; what was there is replaced.
        layout : str, optional
            As of `to_json`.

        Raises
        ------
        OSError
            The file cannot be written.
        TypeError, ValueError
            As of `to_json`; or a field that is not known is no JSON.
        """
        try:
            text = json.dumps(self.to_json(layout), indent=2, allow_nan=False) + "\n"
        except RecursionError:
            raise ValueError("fields that are not known are nested too deeply") from None
        write_output(Path(path), text.encode())

    def to_bytes(self, layout: str | None = None) -> bytes:
        """Return the table in its binary form, as it is in a module that TVM has saved.

        Parameters
        ----------
        layout : str, optional
            As of `to_json`.

        Raises
        ------
        TypeError, ValueError
            As of `to_json`; or a function has fields that are not known here.
        """
        return write_functions(
            self.values(), find_layout(self.layout if layout is None else layout)
        )

    def with_prefix(self, prefix: str) -> FunctionTable:
        """Return the table with the tags' other prefix: ``"tirx"``, or ``"tir"`` for older TVMs.

        Raises
        ------
        ValueError
            It is neither.
        """
        if prefix not in ("tir", "tirx"):
            raise ValueError(f"prefix is 'tir' or 'tirx', got {prefix!r}")
        functions = [
            replace(
                info,
                launch_param_tags=[_PREFIX.sub(f"{prefix}.", x) for x in info.launch_param_tags],  # type: ignore[arg-type]
            )
            for info in self.values()
        ]
        return replace(self, functions=functions)  # type: ignore[arg-type]

    def _layout(self, name: str | None) -> Layout:
        return find_layout(self.layout if name is None else name)


def _by_name(functions: Any) -> dict[str, FunctionInfo]:
    if isinstance(functions, Mapping):
        for name, info in functions.items():
            if isinstance(info, FunctionInfo) and info.name != name:
                raise ValueError(f"the table calls function {info.name!r} by the name {name!r}")
        functions = functions.values()
    if isinstance(functions, str | bytes) or not isinstance(functions, Iterable):
        raise TypeError(
            f"FunctionTable: functions is a sequence of FunctionInfo, got "
            f"{type(functions).__name__}"
        )
    found: dict[str, FunctionInfo] = {}
    for info in functions:
        if not isinstance(info, FunctionInfo):
            raise TypeError(f"FunctionTable: wanted a FunctionInfo, got {type(info).__name__}")
        if info.name in found:
            raise ValueError(f"FunctionTable: function {info.name!r} is there twice")
        found[info.name] = info
    return found
