"""`expansion`: a source preprocessed for one side, with library headers as includes again."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

# Libraries that a user's folders may also hold: they are included, not cut.
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
    """Return the user's part of a preprocessor's output, and the files that it read.

    The preprocessor ran with ``-E -dI``. In the text, `#line` tells where each stretch comes from,
    and an `#include` replaces the content of a library's header.

    `is_kept` says whether this side includes a library's header, given its name as written and its
    path, which is empty if the header was included before. Headers in `library_folders` are
    libraries', and those in `own_folders` the user's, whatever the preprocessor takes them for,
    except for libraries that have a folder of their name there.
    """
    theirs = tuple(f"{folder}/" for folder in library_folders)
    own = tuple(f"{folder}/" for folder in own_folders)
    lines: list[str] = []
    is_library: dict[str, bool] = {}  # by file
    is_user = False
    name, place = "", 0  # of the header that the last line includes, and that line's index

    def include(path: str) -> None:
        """Restore the last directive if it included a library's header."""
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
                # gcc prints a line of the includer's own between a directive and what it includes.
                quoted = file.replace("\\", "\\\\").replace('"', '\\"')
                lines.append(f'#line {max(1, int(marker[1]))} "{quoted}"')
        elif is_user:
            if line:  # a header read before is not entered again
                include("")
                directive = _INCLUDE.match(line)
                name, place = (directive[1] or "")[1:-1] if directive else "", len(lines)
                line = "" if directive else line
            lines.append(line)
    include("")
    return "\n".join(lines) + "\n", [*is_library]


def without_marks(text: str) -> str:
    """Return a text without ``#line`` and blank lines, which only place its other lines."""
    return re.sub(r"(?m)^#line .*\n|^[ \t]*\n", "", text)


def _plain(name: str) -> str:
    """Return a file's name, decoded from the form with escapes and octal bytes."""
    data = name.encode("utf-8", "surrogateescape").decode("unicode_escape").encode("latin-1")
    return data.decode("utf-8", "surrogateescape")
