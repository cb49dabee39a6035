"""Paths in a caller's flags: which words are some, and where relative ones start.

That is the current folder, while builds run elsewhere. A word counts as a path only where that is
certain: a wrong guess would break flags that work.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

FILE = "file"
FOLDER = "folder"
LIBRARY = "library"
LIBRARY_FOLDER = "library folder"
_OTHER = ""


class Word(NamedTuple):
    """A word of a flag: an option, if it has one, and a value, if that is in the same word.

    Attributes
    ----------
    option, value : str
        Put together they are the word.
    kind : str
        What the value is: `FILE`, `FOLDER`, `LIBRARY_FOLDER`, `LIBRARY` (a name), or empty.
    """

    option: str
    value: str
    kind: str


# As gcc and clang spell them, with the value in the same word or in the next.
_PATHS = {
    "-include": FILE,
    "-imacros": FILE,
    "-iquote": FOLDER,
    "-isystem": FOLDER,
    "-isysroot": FOLDER,
    "-idirafter": FOLDER,
    "-I": FOLDER,
    "-L": LIBRARY_FOLDER,
    "-l": LIBRARY,
}
# The word after these is none of the compiler's own options, nor a file, but for -T.
_VALUED = {
    *("-A", "-B", "-D", "-F", "-G", "-J", "-U", "-e", "-h", "-o", "-u", "-x", "-z"),
    *("-MF", "-MQ", "-MT", "-Tbss", "-Tdata", "-Ttext", "-Xassembler", "-Xclang", "-Xpreprocessor"),
    *("-arch", "-aux-info", "-dumpbase", "-dumpbase-ext", "-dumpdir", "-framework", "-imultilib"),
    *("-include-pch", "-iprefix", "-isystem-after", "-iwithprefix", "-iwithprefixbefore"),
    *("-mllvm", "-specs", "-target", "-wrapper", "--param", "--specs", "--sysroot"),
}
# The linker's options that name a script or a list, with one dash or two.
_SCRIPTS = {
    *("T", "script", "dT", "default-script", "version-script", "dynamic-list"),
    *("export-dynamic-symbol-list", "retain-symbols-file", "just-symbols"),
}
_LINKER_PATHS = {"L": LIBRARY_FOLDER, "library-path": LIBRARY_FOLDER, "l": LIBRARY}
_LINKER_PATHS.update(dict.fromkeys(_SCRIPTS, FILE), library=LIBRARY)
# After these comes no value.
_LINKER_SWITCHES = {
    *("whole-archive", "no-whole-archive", "as-needed", "no-as-needed", "start-group", "end-group"),
    *("(", ")", "Bstatic", "Bdynamic", "Bsymbolic", "Bsymbolic-functions", "dn", "dy", "static"),
    *("push-state", "pop-state", "gc-sections", "no-gc-sections", "no-undefined", "export-dynamic"),
    *("E", "M", "O", "O0", "O1", "O2", "O3", "S", "X", "s", "t", "x", "strip-all", "strip-debug"),
    *("relax", "no-relax", "eh-frame-hdr", "sort-common", "build-id", "cref", "trace", "verbose"),
    *("discard-all", "discard-locals", "demangle", "no-demangle", "print-map", "stats"),
    *(
        "fatal-warnings",
        "no-fatal-warnings",
        "warn-common",
        "no-keep-memory",
        "allow-multiple-definition",
    ),
    *("enable-new-dtags", "disable-new-dtags", "no-allow-shlib-undefined", "allow-shlib-undefined"),
}
_LINKED = re.compile(r"\.(?:l?o|obj|a|lds?|so(?:\.\d+)*)\Z")


def absolute(flags: Iterable[str]) -> tuple[str, ...]:
    """Return flags of gcc, clang or a linker, the relative paths in them made absolute.

    Those are header and library folders; where they are files that exist, headers that come first,
    objects, libraries, scripts of the linker, and files of flags (``@file``; not what is in them).
    """
    return tuple(
        lead + ",".join(_complete(word, is_list=bool(lead)) for word in words)
        for lead, words in parse(flags)
    )


def parse(flags: Iterable[str]) -> Iterator[tuple[str, list[Word]]]:
    """Yield what each flag begins with, ``-Wl,`` or nothing, and its words."""
    rest = iter(flags)
    before = ""
    for flag in rest:
        if flag.startswith("-Wl,"):
            words = flag[4:].split(",")
            pairs = zip([before, *words], words, strict=False)
            yield "-Wl,", [_linker_word(word, after) for after, word in pairs]
            before = words[-1]
        elif flag == "-Xlinker":
            yield "", [Word(flag, "", _OTHER)]
            for word in islice(rest, 1):
                yield "", [_linker_word(word, before)]
                before = word
        else:
            before = ""
            single, following = _word(flag)
            yield "", [single]
            if following is not None:
                for value in islice(rest, 1):
                    yield "", [Word("", value, following)]


def _word(flag: str) -> tuple[Word, str | None]:
    """Return a flag as a word, and the kind of the next one where that is its value."""
    if flag == "-T":
        return Word(flag, "", _OTHER), FILE
    if flag.startswith("-T/"):
        return Word("-T", flag[2:], FILE), None
    if flag in _VALUED:
        return Word(flag, "", _OTHER), FOLDER if flag == "--sysroot" else _OTHER
    for option in ("@", "--sysroot="):
        if flag.startswith(option):
            return Word(option, flag[len(option) :], FILE if option == "@" else FOLDER), None
    option = next((x for x in _PATHS if flag.startswith(x)), "")
    if option:
        value = flag[len(option) :].strip()
        return Word(option, value, _PATHS[option]), None if value else _PATHS[option]
    return Word("", flag, FILE if _is_input(flag) else _OTHER), None


def _linker_word(word: str, before: str) -> Word:
    name = before.lstrip("-") if before.startswith("-") else ""
    if name in _LINKER_PATHS:
        return Word("", word, _LINKER_PATHS[name])
    if word.startswith(("-L", "-l", "-T/")) and len(word) > 2:
        return Word(word[:2], word[2:], _LINKER_PATHS[word[1]])
    option, equals, value = word.partition("=")
    if equals and option.startswith("-") and option.lstrip("-") in _LINKER_PATHS:
        return Word(option + equals, value, _LINKER_PATHS[option.lstrip("-")])
    if word.startswith("@"):
        return Word("@", word[1:], FILE)
    is_value = bool(name) and "=" not in name and name not in _LINKER_SWITCHES
    return Word("", word, FILE if _is_input(word) and not is_value else _OTHER)


def _is_input(word: str) -> bool:
    return not word.startswith("-") and bool(_LINKED.search(word))


def _complete(word: Word, *, is_list: bool) -> str:
    value = word.value
    # A leading "=" or "$SYSROOT" stands for a folder of the compiler's; with "-" begins an option,
    # or the rest of one that is longer than ours.
    if value and value[0] not in "=$-":
        is_folder = word.kind in (FOLDER, LIBRARY_FOLDER)
        # A file that is not here is looked for where headers or libraries are.
        if is_folder or (word.kind == FILE and os.path.isfile(value)):
            path = os.path.abspath(value)
            # A comma would end the word.
            value = value if is_list and "," in path else path
    return word.option + value
