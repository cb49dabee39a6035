"""Steps → ninja text."""

from __future__ import annotations

from collections.abc import Sequence

from .steps import Step

# ninja has no escape for "|" in a path, but does not look for it in a variable's value.
_HEADER = """\
ninja_required_version = 1.5
pipe = |

rule make
  command = $run
"""


def text(steps: Sequence[Step]) -> str:
    """Return the ninja file of a build; paths in it are relative to the build folder.

    Commands are written out whole rather than with ninja's ``$in``: ninja rewrites paths there
    (``a/../b`` becomes ``b``, which is another file where ``a`` is a symbolic link).
    """
    parts = [_HEADER]
    for step in steps:
        inputs, run = " ".join(map(_path, step.inputs)), step.line.replace("$", "$$")
        parts.append(f"build {_path(step.made)}: make {inputs}\n  run = {run}\n")
    parts.append(f"default {_path(steps[-1].made)}\n")
    return "\n".join(parts)


def _path(word: str) -> str:
    word = word.replace("$", "$$").replace(" ", "$ ").replace(":", "$:")
    return word.replace("|", "${pipe}")
