"""The layouts that TVM's tables have had, newest first."""

from __future__ import annotations

from dataclasses import dataclass

from .function_info import FunctionInfo
from .tags import DYNAMIC_SMEM, FLAGS, Tag, read_tags

__all__ = ["LAYOUTS", "Layout", "find_layout", "flags_as_tags", "tags_and_flags"]

PDL, COOPERATIVE = "use_programmatic_dependent_launch", "use_cooperative_launch"
_SPELLED = {PDL: "use_programtic_dependent_launch", COOPERATIVE: COOPERATIVE}
_FLAG_FIELDS = {
    DYNAMIC_SMEM: "dynamic_smem_bytes",
    PDL: FLAGS[PDL],
    COOPERATIVE: FLAGS[COOPERATIVE],
}


@dataclass(frozen=True)
class Layout:
    """What a table of some time says of a function beside its name and types.

    Attributes
    ----------
    name : str
        What it is called here.
    tags : str
        The field of the JSON form that has the tags.
    has_extra_tags, has_launch_fields : bool
        Whether there are ``arg_extra_tags``; ``cuda_launch_fields`` and ``cuda_kernel_attrs``,
        before which the binary form has a marker.
    flags : tuple of str
        Booleans that stood in the place of tags, in the order of the binary form.
    is_plain : bool
        Whether its time had no tags but those of grids and blocks.
    """

    name: str
    tags: str = "launch_param_tags"
    has_extra_tags: bool = False
    has_launch_fields: bool = False
    flags: tuple[str, ...] = ()
    is_plain: bool = False


LAYOUTS = {
    layout.name: layout
    for layout in (
        Layout("v2", has_extra_tags=True, has_launch_fields=True),
        Layout("v1", has_extra_tags=True),
        Layout("v0"),
        Layout("thread_axis", "thread_axis_tags", is_plain=True),
        Layout("flag", "thread_axis_tags", flags=(DYNAMIC_SMEM,), is_plain=True),
        Layout("flags", "thread_axis_tags", flags=(DYNAMIC_SMEM, PDL, COOPERATIVE)),
        Layout("v1_flags", has_extra_tags=True, flags=(PDL, COOPERATIVE)),
    )
}


def find_layout(name: object) -> Layout:
    """Return a layout by its name; raises TypeError, ValueError."""
    if not isinstance(name, str):
        raise TypeError(f"layout is a str, got {type(name).__name__}")
    if name not in LAYOUTS:
        raise ValueError(f"layout {name[:80]!r} is none of {', '.join(LAYOUTS)}")
    return LAYOUTS[name]


def flags_as_tags(tags: list[str], flags: dict[str, bool]) -> list[str]:
    """Return tags with those that flags of an old table stand for."""
    first = [f"tir.{_SPELLED[name]}" for name in (PDL, COOPERATIVE) if flags.get(name)]
    return [*first, *tags, *([f"tir.{DYNAMIC_SMEM}"] if flags.get(DYNAMIC_SMEM) else [])]


def tags_and_flags(info: FunctionInfo, layout: Layout) -> tuple[list[str], dict[str, bool]]:
    """Return what a layout has of a function's tags: tags, and flags.

    Raises
    ------
    ValueError
        The function says what the layout cannot; the message names it.
    """
    where = f"function {info.name!r}: the layout {layout.name!r} has no"
    if not layout.has_launch_fields:
        for name in ("cuda_launch_fields", "cuda_kernel_attrs"):
            if getattr(info, name):
                raise ValueError(f"{where} {name}; the layout 'v2' has")
    if not layout.has_extra_tags and any(info.arg_extra_tags):
        raise ValueError(f"{where} arg_extra_tags, by which a tensor map is told; 'v1' has")
    fields = {_FLAG_FIELDS[name] for name in layout.flags}
    read = read_tags(info.launch_param_tags)
    kept = [(tag, meaning) for tag, meaning in read if meaning.field not in fields]
    for tag, meaning in kept:
        if layout.is_plain and not _is_plain(meaning):
            raise ValueError(f"{where} {tag!r}; the layout 'v0' has")
    on = {meaning.field for _, meaning in read}
    return [tag for tag, _ in kept], {name: _FLAG_FIELDS[name] in on for name in layout.flags}


def _is_plain(meaning: Tag) -> bool:
    return meaning.field in ("grid", "block")
