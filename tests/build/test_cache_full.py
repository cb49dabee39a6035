"""A disk that takes nothing more or runs nothing: what is there is found; or the remedy."""

import contextlib
import ctypes
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cache_crowd import is_right, load
from processes import in_fork

import tvmffi_cubin as tc

_NEW_MOUNTS, _NEW_USER = 0x00020000, 0x10000000
NOEXEC, READ_ONLY = 0x8, 0x1
_PRIVATE, _REMOUNT = 0x44000, 0x20

_libc = ctypes.CDLL(None, use_errno=True)


class _Refused(Exception):
    """The kernel, or what this runs in, gives no mounts of one's own."""


def with_mount(
    work: Callable[[], Any], folder: Path, *, flags: int = 0, options: str = "size=64m"
) -> Any:
    """Run `work` in a forked child that has a tmpfs at a folder; skip where there can be none."""

    def child() -> Any:
        user, group = os.geteuid(), os.getegid()
        _do(_libc.unshare(_NEW_MOUNTS if user == 0 else _NEW_MOUNTS | _NEW_USER))
        if user != 0:
            Path("/proc/self/setgroups").write_text("deny")
            Path("/proc/self/uid_map").write_text(f"0 {user} 1")
            Path("/proc/self/gid_map").write_text(f"0 {group} 1")
        _do(_libc.mount(None, b"/", None, _PRIVATE, None))
        _mount(folder, flags, f"{options},mode=0700")
        return work()

    folder.mkdir(exist_ok=True)
    result = in_fork(child)
    if isinstance(result, _Refused):
        pytest.skip(f"no mounts of one's own here: {result}")
    if isinstance(result, BaseException):
        raise result
    return result


def _mount(folder: Path, flags: int, options: str) -> None:
    _do(_libc.mount(b"none", os.fsencode(folder), b"tmpfs", flags, options.encode()))


def _do(answer: int) -> None:
    if answer != 0:
        raise _Refused(os.strerror(ctypes.get_errno()))


@pytest.mark.parametrize("way", ["full", "read-only"])
def test_what_is_there_is_found_on_a_disk_that_takes_nothing_more(
    way, tmp_path, fresh_driver_stub, monkeypatch, caplog
):
    load(0)  # the launcher's object, which is on another disk, and all imports
    disk = tmp_path / "disk"
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(disk / "cache"))

    def work() -> tuple[list[bool], list[str]]:
        path = in_fork(lambda: load(1).path)
        if way == "full":
            with contextlib.suppress(OSError), (disk / "filler").open("wb", buffering=0) as file:
                while file.write(bytes(4096)):
                    pass
        else:
            _mount(disk, READ_ONLY | _REMOUNT, "size=20m")
        monkeypatch.setattr(subprocess, "Popen", None)

        def found() -> bool:
            return load(1).path == path and is_right(load(1), 1, fresh_driver_stub)

        return [in_fork(found) for _ in range(2)], caplog.messages

    assert with_mount(work, disk, options="size=1m") == ([True, True], [])


def test_a_cache_that_is_mounted_noexec_is_told_with_the_remedy(tmp_path, monkeypatch):
    folder = tmp_path / "noexec"
    monkeypatch.setenv("TVMFFI_CUBIN_CACHE_DIR", str(folder))
    source = 'extern "C" __global__ void k(float* x) { x[0] = 1; }'

    def load():
        tc.load_inline("noexec", source, arch="sm_90")

    told = r"(?s)cannot load .*noexec\.so: .*mounted noexec.*TVMFFI_CUBIN_CACHE_DIR"
    with pytest.raises(tc.BuildError, match=told):
        with_mount(load, folder, flags=NOEXEC)
