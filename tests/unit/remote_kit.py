"""Machines that share a remote: cache folders of their own, in one process or in several."""

from __future__ import annotations

import logging
from pathlib import Path

from cache_builder import BASE, Builder

from tvmffi_cubin.cache import remote
from tvmffi_cubin.cache.store import Cache

KEY = "a secret of 16+ bytes"


class Machine:
    """One cache folder; what it asks the remote is asked as by a process of its own."""

    def __init__(self, folder: Path, roots=None) -> None:
        self.cache = Cache(folder, roots=roots)

    def obtain(self, builder, base_key=BASE):
        return self.cache.obtain(base_key, builder, is_shared=True)

    def builds(self, content=b"so", base_key=BASE, **product):
        """Obtain a key, and say whether it was built here; uploads are done then."""
        builder = Builder(content, **product)
        entry = self.obtain(builder, base_key)
        finish_uploads()
        assert entry.is_taken == (not builder.runs)
        return bool(builder.runs)


def finish_uploads():
    for each in remote._known.values():
        assert each.finish(60)


def new_process():
    """Forget what this process knows of remotes, as one that has just begun."""
    remote._known.clear()


def warnings(caplog):
    return [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
