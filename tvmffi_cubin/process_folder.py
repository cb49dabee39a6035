"""`process_folder`: a temporary folder that goes with its process, or soon after."""

from __future__ import annotations

import atexit
import contextlib
import os

from .atomic import temporary_name
from .removal import remove
from .workplace import Claim, claim_of, is_claimed, remove_unused

__all__ = ["process_folder"]

_PREFIX = "tvmffi_cubin-"


def process_folder(parent: str | None = None) -> str:
    """Return a new folder of this process's own, which is removed when it ends.

    What processes have left there that were killed is removed now.

    Parameters
    ----------
    parent : str, optional
        Where. Default: the folder for temporary files.

    Raises
    ------
    OSError
        It cannot be made.
    """
    import tempfile

    parent = parent or tempfile.gettempdir()
    _sweep(parent)
    folder = os.path.join(parent, _PREFIX + temporary_name())
    # Before the folder is there, which others would else take for a killed process's.
    claim = Claim.make(folder)
    try:
        os.mkdir(folder, 0o700)
    except OSError:
        claim.end()
        raise
    atexit.register(_remove, folder, claim, os.getpid())
    return folder


def _sweep(parent: str) -> None:
    for folder in _own(parent):
        if is_claimed(folder) is False:
            remove(folder)
            remove_unused(claim_of(folder))


def _own(parent: str) -> list[str]:
    """Return this user's folders with this user's claims; others write here, too."""
    found = []
    with contextlib.suppress(OSError), os.scandir(parent) as entries:
        for entry in entries:
            if entry.name.startswith(_PREFIX) and entry.is_dir(follow_symlinks=False):
                with contextlib.suppress(OSError):
                    owners = {entry.stat(follow_symlinks=False).st_uid}
                    owners.add(os.stat(claim_of(entry.path), follow_symlinks=False).st_uid)
                    if owners == {os.geteuid()}:
                        found.append(entry.path)
    return found


def _remove(folder: str, claim: Claim, owner: int) -> None:
    if os.getpid() == owner:
        remove(folder)
        claim.end()
