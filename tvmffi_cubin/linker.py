"""One run of nvJitLink: inputs to an image, or what is wrong with them."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .arch import is_ptx, number_of
from .cuda_wheels import Cuda, find_cuda
from .errors import CompileError, CubinError, ToolchainError
from .link_faults import (
    LinkFault,
    find_faults,
    find_undefined,
    find_undefined_in_ptx,
    read_faults,
    tells_error,
)
from .link_input import LinkInput
from .link_process import LinkCrash, run_apart
from .link_run import LinkOutcome, LinkRun
from .made_here import is_made_here
from .nvjitlink_library import UNKNOWN_OPTION, NvJitLinkLibrary
from .nvrtc_library import NvrtcLibrary

__all__ = ["LinkFailure", "Linked", "link_inputs"]

_NEWER_ARCH = re.compile(r"ERROR (\d+) in LTOIR arch newer than target arch")
_NO_LTOIR = "NVVM_ERROR_NO_MODULE_IN_PROGRAM"
_NEWER_IR = "may need newer version of nvJitLink"
_NEWER_PTX = "Unsupported .version"

_logger = logging.getLogger("tvmffi_cubin")


@dataclass(frozen=True)
class Linked:
    """A linked image, with nvJitLink's warnings and remarks."""

    image: bytes
    log: str

    def report(self, what: str) -> None:
        """Log what nvJitLink said, if anything; as a warning where there is one in it.

        Parameters
        ----------
        what : str
            Such as ``"for sm_90a"``.
        """
        if self.log:
            level = logging.WARNING if "warning" in self.log.lower() else logging.INFO
            _logger.log(level, "nvJitLink %s:\n%s", what, self.log)


class LinkFailure(Exception):
    """The inputs do not fit together.

    Attributes
    ----------
    faults : tuple of LinkFault
        What is wrong; empty where only the log tells.
    log : str
        nvJitLink's own log.
    options : tuple of str
        The options that it was given.
    given : tuple of str
        The inputs that were not compiled in this process.
    """

    def __init__(
        self,
        faults: tuple[LinkFault, ...],
        log: str,
        options: tuple[str, ...],
        given: tuple[str, ...] = (),
    ) -> None:
        super().__init__(log)
        self.faults = faults
        self.log = log
        self.options = options
        self.given = given

    def error(self, title: str, hints: Sequence[str] = ()) -> CompileError:
        """Return it as what callers get."""
        lines = [f"{title}:", *(map(str, self.faults) if self.faults else (self.log,))]
        if _NO_LTOIR in self.log:
            hint = 'no input has LTO-IR: compile them with target_type="ltoir", or leave out lto'
            hints = (*hints, hint)
        elif self.given and not self.faults:
            hints = (*hints, f"{_blame(self.given)}: compile it again")
        lines += [f"Hint: {hint}" for hint in hints]
        return CompileError("\n".join(lines), log=self.log, options=self.options)


def link_inputs(
    inputs: Sequence[LinkInput], *, arch: str, lto: bool = False, options: Sequence[str] = ()
) -> Linked:
    """Link inputs to an image.

    Parameters
    ----------
    inputs : sequence of LinkInput
        In order.
    arch : str
        Such as ``"sm_90a"``; for ``"compute_90"`` PTX is made, of LTO-IR alone.
    lto : bool
        Whether there may be LTO-IR that does not show, in a fatbin or a library.
    options : sequence of str
        Further options for nvJitLink.

    Raises
    ------
    LinkFailure
        They do not fit together.
    CompileError, ValueError
        One of them cannot be linked for this architecture, or an option is unknown.
    ToolchainError
        nvJitLink is missing, or older than NVRTC.
    """
    cuda = find_cuda()
    library = NvJitLinkLibrary.load(cuda.require("nvjitlink"))
    _check_supported(library, cuda, arch)
    for item in inputs:
        item.check_arch(arch)
    as_ptx = is_ptx(arch)
    _check_kinds(inputs, arch)
    lto = lto or as_ptx or any(item.kind == "ltoir" for item in inputs)
    command = (f"-arch={arch}", *(["-lto"] * lto), *(["-ptx"] * as_ptx), *options)
    if faults := find_faults(inputs):
        raise LinkFailure(faults, "", command)
    # Not the names themselves: they may hold anything, and the log is to be read.
    names = {f"input{index}": item.name for index, item in enumerate(inputs)}
    data = tuple(item.data for item in inputs)
    run = LinkRun(command, as_ptx, tuple(item.kind for item in inputs), data)
    outcome = _run(library, inputs, run, arch)
    if outcome.refused == "options":
        raise _option_refusal(library, outcome, command)
    if outcome.refused == "input":
        item = inputs[outcome.position]
        raise _refusal(library, cuda, item, arch, _readable(outcome.errors, names))
    return _checked(outcome, inputs, run, names)


def _checked(
    outcome: LinkOutcome, inputs: Sequence[LinkInput], run: LinkRun, names: Mapping[str, str]
) -> Linked:
    """Return what was linked, or raise LinkFailure."""
    errors, remarks = outcome.errors, outcome.remarks
    # A variable that is defined nowhere, or something that is defined twice, is no error to
    # nvJitLink where LTO-IR is linked: the image would have a variable of its own. Of fatbins and
    # libraries it prints what does not fit, and links.
    faults = read_faults(f"{errors}\n{remarks}", names)
    faults += find_undefined_in_ptx(outcome.image) if run.as_ptx else ()
    if outcome.refused or faults or tells_error(remarks):
        # nvJitLink 12.6 says what is undefined on the process's error stream alone.
        faults = faults or (find_undefined(inputs) if outcome.refused else ())
        log = _readable("\n".join(filter(None, (errors, remarks))), names)
        raise LinkFailure(faults, log or f"error {outcome.result}", run.options, _given(inputs))
    return Linked(outcome.image, _readable(remarks, names))


def _run(
    library: NvJitLinkLibrary, inputs: Sequence[LinkInput], run: LinkRun, arch: str
) -> LinkOutcome:
    given = _given(inputs)
    if not given:
        return library.run(run)
    try:
        return run_apart(library.path, run)
    except LinkCrash as crash:
        text = (
            f"nvJitLink {_release(library)} {crash.what} when it linked for {arch}: "
            f"{_blame(given)}; compile it again"
        )
        raise CompileError(
            "\n".join(filter(None, (text, crash.output))), log=crash.output, options=run.options
        ) from None


def _given(inputs: Sequence[LinkInput]) -> tuple[str, ...]:
    return tuple(item.name for item in inputs if not is_made_here(item.data))


def _blame(given: Sequence[str]) -> str:
    which = f"one of {', '.join(given)}" if len(given) > 1 else given[0]
    return f"{which} may be damaged, or come from another release of the compiler"


def _release(library: NvJitLinkLibrary) -> str:
    return ".".join(map(str, library.version()))


def _option_refusal(
    library: NvJitLinkLibrary, outcome: LinkOutcome, options: Sequence[str]
) -> CubinError | ValueError:
    text = (
        f"nvJitLink {_release(library)} refuses an option: "
        f"{outcome.errors or f'error {outcome.result}'}; the options were: {' '.join(options)}"
    )
    return ValueError(text) if outcome.result == UNKNOWN_OPTION else CubinError(text)


def _check_kinds(inputs: Sequence[LinkInput], arch: str) -> None:
    if not is_ptx(arch):
        return
    for item in inputs:
        if item.kind in ("relocatable", "ptx"):
            raise ValueError(
                f"{item.name} cannot be linked for {arch}: PTX is made of LTO-IR alone; compile it "
                'with target_type="ltoir", or leave out the PTX'
            )


def _readable(log: str, names: Mapping[str, str]) -> str:
    return re.sub(r"\binput\d+\b", lambda match: names.get(match[0], match[0]), log)


def _check_supported(library: NvJitLinkLibrary, cuda: Cuda, arch: str) -> None:
    nvrtc = NvrtcLibrary.load(cuda.nvrtc)
    own, made = library.version(), nvrtc.version()
    if own < made:
        release, needed = (".".join(map(str, version)) for version in (own, made))
        wheel = cuda.wheels["nvjitlink"]
        raise ToolchainError(
            f"nvJitLink {release} is older than NVRTC {needed} and cannot link what that compiles; "
            f"run: pip install --upgrade '{wheel}>={needed}'"
        )
    # Newer releases end the process where they do not know the architecture.
    supported = nvrtc.supported_archs()
    if number_of(arch) not in supported:
        known = ", ".join(f"sm_{number}" for number in supported)
        raise ValueError(f"arch={arch!r}: CUDA {'.'.join(map(str, own))} links for {known}")


def _refusal(
    library: NvJitLinkLibrary, cuda: Cuda, item: LinkInput, arch: str, log: str
) -> CubinError | ValueError:
    release = _release(library)
    if newer := _NEWER_ARCH.search(log):
        return ValueError(
            f"{item.name} is for sm_{newer[1]} and cannot be linked into an image for {arch}: "
            f"compile it for {arch} or an older architecture"
        )
    which = f"{item.name} ({item.arch})" if item.arch else item.name
    verb = "assembled" if item.kind == "ptx" else "linked"
    text = f"{which} cannot be {verb} for {arch}: nvJitLink {release} says: {log}"
    return CompileError(text + _upgrade_hint(item, log, cuda.wheels["nvjitlink"]), log=log)


def _upgrade_hint(item: LinkInput, log: str, wheel: str) -> str:
    upgrade = f"run: pip install --upgrade {wheel}"
    if _NEWER_PTX in log:
        return (
            f"\nHint: a newer compiler made it; {upgrade}, or the extra cu13 in place of cu12; of "
            'an image that is embedded, ptx="keep" leaves it to the driver'
        )
    if _NEWER_IR in log or item.kind == "relocatable":
        return f"\nHint: it may come from a newer compiler; {upgrade}"
    return ""
