"""`expansion`: a source as the preprocessor of one side leaves it, libraries as includes again."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

# Of libraries that a user's folders may hold as well: they are included, not cut.
_LIBRARY = re.compile(
    r"/(?:cutlass|cute|cub|thrust|nv|cooperative_groups|cuda/(?:std|__\w+))/|/cuda/\w+\Z"
)
_MARKER = re.compile(r'#(?:line)? (\d+) "((?:[^"\\]|\\.)*)"((?: \d)*)\Z')
_INCLUDE = re.compile(r'#\s*(?:include|include_next|import)\s*([<"][^>"]+[>"])?')


def expansion(
    output: str,
    is_kept: Callable[[str, str], bool],
    library_folders: Iterable[str] = (),
    own_folders: Iterable[str] = (),
) -> tuple[str, list[str]]:
    """Return the user's part of what a preprocessor has printed, and the files that it has read.

    It was run with ``-E -dI``. In the text `#line` says where each stretch comes from; what a
    library's header holds is an `#include` of it.

    `is_kept` says whether this side includes a library's header, of its name as written and its
    path, which is empty where something before has included it. Headers in `library_folders` are
    libraries', and those in `own_folders` the user's, whatever the preprocessor takes them for,
    but for libraries that have a folder of their name there.
    """
    theirs = tuple(f"{folder}/" for folder in library_folders)
    own = tuple(f"{folder}/" for folder in own_folders)
    lines: list[str] = []
    is_library: dict[str, bool] = {}  # by files
    is_user = False
    name, place = "", 0  # of the header that the last line includes, and where that line is

    def include(path: str) -> None:
        """Write the last directive again, where it was for a library's header."""
        end = "/" + name.replace("../", "").replace("./", "")
        same = (x for x in is_library if x.endswith(end) and not is_library[x])
        if name and (path or not any(same)) and is_kept(name, path):
            lines[place] = f'#include "{path}"' if name == path else f"#include <{name}>"

    for line in output.split("\n"):
        marker = _MARKER.match(line) if line.startswith("#") else None
        if marker:
            file, flags = _plain(marker[2]), marker[3].split()
            if file.startswith("<"):
                is_user = False
                continue
            if "1" in flags or file not in is_library:
                is_system = file.startswith(theirs) or ("3" in flags and not file.startswith(own))
                inside = min([file, *(file.removeprefix(x[:-1]) for x in own)], key=len)
                is_library[file] = is_system or _LIBRARY.search(inside) is not None
            if is_user and "1" in flags:
                if is_library[file]:
                    name = name or file
                    include(file)
                name = ""
            is_user = not is_library[file]
            if is_user:
                # gcc has a line of the includer's own between a directive and what it includes.
                quoted = file.replace("\\", "\\\\").replace('"', '\\"')
                lines.append(f'#line {max(1, int(marker[1]))} "{quoted}"')
        elif is_user:
            if line:  # a header that was read before is not entered
                include("")
                directive = _INCLUDE.match(line)
                name, place = (directive[1] or "")[1:-1] if directive else "", len(lines)
                line = "" if directive else line
            lines.append(line)
    include("")
    return "\n".join(lines) + "\n", [*is_library]


def without_marks(text: str) -> str:
    """Return a text without what only says where its lines come from."""
    return re.sub(r"(?m)^#line .*\n|^[ \t]*\n", "", text)


def _plain(name: str) -> str:
    """Return a file's name as it is, of the form with escapes and octal bytes."""
    data = name.encode("utf-8", "surrogateescape").decode("unicode_escape").encode("latin-1")
    return data.decode("utf-8", "surrogateescape")
