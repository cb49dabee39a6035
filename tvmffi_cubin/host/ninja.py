"""`BuildPlan` → ninja text; names every artifact."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from .plan import BuildPlan, Cxx, DeviceLink, Link, Merge, Unit, object_name

OTHERWISE = " 2>/dev/null || "
"""What is between two commands of which the second runs where the first fails, and alone speaks."""

_VERSION_SCRIPT = "exports.map"

# ninja has no escape for "|" in a path, but does not look for it in a variable's value.
_HEADER = """\
ninja_required_version = 1.5
pipe = |

rule make
  command = $run
"""


def version_script(plan: BuildPlan) -> dict[str, str]:
    """Return name and text of the linker's version script, if there is one."""
    if isinstance(plan.link, Merge) or not plan.link.local_symbols:
        return {}
    patterns = "".join(f"    {pattern};\n" for pattern in plan.link.local_symbols)
    return {_VERSION_SCRIPT: f"{{\n  local:\n{patterns}}};\n"}


def commands(plan: BuildPlan) -> dict[str, str]:
    """Return the shell command that makes each object, and the product last, by file name."""
    run = {object_name(unit): _command(unit) for unit in plan.units}
    run[plan.product] = _merge(plan, plan.link) if isinstance(plan.link, Merge) else _link(plan)
    return run


def text(plan: BuildPlan) -> str:
    """Return the ninja file of a plan; paths in it are relative to the build folder.

    Commands are written out whole rather than with ninja's ``$in``: ninja rewrites paths there
    (``a/../b`` becomes ``b``, which is another file where ``a`` is a symbolic link).
    """
    libraries = plan.link.libraries if isinstance(plan.link, Link) else ()
    inputs: dict[str, Sequence[str]] = {
        object_name(x): x.objects if isinstance(x, DeviceLink) else (x.source,) for x in plan.units
    }
    inputs[plan.product] = (*_objects(plan), *libraries, *version_script(plan))
    parts = [_HEADER]
    for made, run in commands(plan).items():
        line = " ".join(map(_path, inputs[made]))
        parts.append(f"build {_path(made)}: make {line}\n  run = {run.replace('$', '$$')}\n")
    parts.append(f"default {_path(plan.product)}\n")
    return "\n".join(parts)


def _command(unit: Unit) -> str:
    words, made = [*unit.command, *unit.flags], ("-o", object_name(unit))
    if isinstance(unit, DeviceLink):
        return _shell([*words, "-dlink", *made, *unit.objects])
    if isinstance(unit, Cxx):
        words += [word for folder in unit.include_dirs for word in ("-I", folder)]
        # ninja is not asked to keep the dependencies itself (deps = gcc): it would delete the
        # depfile, which the cache reads.
        words += ["-MD", "-MF", f"{unit.stem}.d", "-c"]
    return _shell([*words, *made, unit.source])


def _objects(plan: BuildPlan) -> list[str]:
    return [*map(object_name, plan.units), *plan.link.objects]


def _merge(plan: BuildPlan, merge: Merge) -> str:
    if not (merge.apart and merge.objects and plan.units):
        return _merged(merge, _objects(plan), plan.product)
    own = _merged(merge, list(map(object_name, plan.units)), plan.product)
    return f"{own} && {_merged(merge, merge.objects, merge.apart)}"


def _merged(merge: Merge, objects: Sequence[str], made: str) -> str:
    # ld would give a single object's sections other addresses, which not every loader takes.
    if len(objects) == 1:
        return _shell(["cp", "-f", *objects, made])
    return _shell([merge.linker, "-r", "-o", made, *objects])


def _link(plan: BuildPlan) -> str:
    link, objects = plan.link, _objects(plan)
    assert isinstance(link, Link)
    # Lazy binding would end the process at the first call of a symbol that is missing; "now" makes
    # it an error at load.
    options = ["-z,now", *(f"--version-script={name}" for name in version_script(plan))]
    if not link.bare:
        options.append("-z,defs")
    options += [f"--require-defined={symbol}" for symbol in link.required]
    command = [*link.command, "-shared", *(["-nostdlib"] if link.bare else [])]
    command += ["-o", plan.product, *objects, *[f"-Wl,{option}" for option in options]]
    command += link.libraries
    if link.bare:
        # Some compilers call their own small functions for atomics; those are no part of libc.
        command.append("-lgcc")
    tries = [[*command, *link.flags]] if link.command else []
    if link.linker and not link.flags:
        separate = [word for option in options for word in option.split(",")]
        own = [link.linker, "-shared", "-o", plan.product, *objects, *separate, *link.libraries]
        tries.insert(0, own)
    return OTHERWISE.join(map(_shell, tries))


def _shell(words: Sequence[str]) -> str:
    for word in words:
        if any(character in word for character in "\n\r\0"):
            raise ValueError(f"{word!r} has a character that a build file cannot express")
    return " ".join(map(shlex.quote, words))


def _path(word: str) -> str:
    word = word.replace("$", "$$").replace(" ", "$ ").replace(":", "$:")
    return word.replace("|", "${pipe}")
