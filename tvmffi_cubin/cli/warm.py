"""``tvmffi-cubin warm``: build what a recorded run asked for, ahead of time, for other machines."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import signal
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

from ..cache.files import cache_folder
from ..cuda.arch import check_archs, split
from ..inline import recording
from .cache import show_progress, write_layer

_WIDTH = 30


def add_arguments(parser: argparse.ArgumentParser) -> None:
    help_ = "the record of a run with TVMFFI_CUBIN_RECORD=FILE"
    parser.add_argument("file", type=Path, metavar="FILE", help=help_)
    help_ = "such as sm_90a; repeated or comma-separated for several; requests that name no "
    help_ += "architecture are built for each; default: those of the recorded run"
    parser.add_argument("--arch", type=split, action="extend", default=[], help=help_)
    help_ = "copy the built modules to a folder for TVMFFI_CUBIN_CACHE_PATH"
    parser.add_argument("-o", "--output", type=Path, metavar="LAYER", help=help_)
    help_ = "how many modules to build in parallel; default: one per processor"
    parser.add_argument("--jobs", type=int, metavar="N", help=help_)


def run(options: argparse.Namespace) -> int:
    archs = check_archs(options.arch) if options.arch else ()
    lines = recording.wanted(recording.read(options.file), archs)
    jobs = options.jobs or len(os.sched_getaffinity(0))
    entries: dict[str, None] = {}
    failed = 0
    # In processes, each with its own NVRTC and architecture. Only this process handles Ctrl-C.
    ignored = (signal.SIGINT, signal.SIG_IGN)
    pool = ProcessPoolExecutor(jobs, initializer=signal.signal, initargs=ignored)
    try:
        building = {pool.submit(recording.build, line): line for line in lines}
        for count, future in enumerate(as_completed(building), 1):
            if error := future.exception():
                failed += 1
                show_progress("")
                what, why = building[future], str(error).partition("\n")[0]
                print(f"{what.name} ({', '.join(what.archs)}): {why}", flush=True)
            else:
                entries[future.result()] = None
            done = "#" * (_WIDTH * count // len(lines))
            show_progress(f"[{done:<{_WIDTH}}] {count} of {len(lines)}")
        show_progress("")
        if options.output:
            failed += len(entries) - write_layer([*entries], options.output)
    except KeyboardInterrupt:
        for process in multiprocessing.active_children():
            process.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)
    print(f"{options.output or cache_folder()}: {len(entries)} modules, {failed} failed")
    return 1 if failed else 0
