"""`cache_info`: the cache's folders and what this process has looked up in them."""

from __future__ import annotations

from typing import NamedTuple

from .store import counts, default, events


class CacheEvent(NamedTuple):
    """One look-up of a module.

    Attributes
    ----------
    name : str
        The module's name.
    outcome : str
        ``"hit"``, from the cache folder; ``"layer"``, from a read-only layer; ``"private"``, from
        this process's own folder; ``"remote"``; ``"built"``; or ``"failed"``, if it was not built.
    reason : str
        On a miss, why nothing was found; on a hit matched without the tools, a note saying so.
    seconds : float
        Total time spent looking, waiting and building.
    """

    name: str
    outcome: str
    reason: str
    seconds: float


class CacheInfo(NamedTuple):
    """The cache of this process and its look-ups so far.

    Only modules count, not what a build looks up for itself, such as precompiled headers.

    Attributes
    ----------
    folder : str
        The cache folder.
    layers : tuple of str
        The folders searched before it.
    remote : str or None
        The URL of the remote.
    mode : str
        ``"on"``, ``"read"``, ``"require"`` or ``"off"``.
    hits, misses : int
        Look-ups that found an entry right away, and those that did not.
    builds, remote_hits : int
        Misses that led to a build, and those served by the remote.
    events : tuple of CacheEvent
        The last hundred look-ups, oldest first.
    """

    folder: str
    layers: tuple[str, ...]
    remote: str | None
    mode: str
    hits: int
    misses: int
    builds: int
    remote_hits: int
    events: tuple[CacheEvent, ...]

    def __str__(self) -> str:
        """Return a readable summary: folders, counts, and the last misses with their reasons."""
        lines = [
            f"cache folder {self.folder} ({self.mode})",
            *(f"layer {folder}" for folder in self.layers),
            *([f"remote {self.remote}"] if self.remote else []),
            f"{self.hits} hits, {self.misses} misses: {self.builds} built, "
            f"{self.remote_hits} from the remote",
        ]
        missed = [event for event in self.events if event.outcome in ("remote", "built", "failed")]
        lines += [f"  {x.name}: {x.outcome}, {x.seconds:.3f} s: {x.reason}" for x in missed[-10:]]
        return "\n".join(lines)


def cache_info() -> CacheInfo:
    """Return the cache's folders and what this process has looked up so far.

    Raises
    ------
    CacheError, ValueError
        An environment variable of the cache has an invalid value.
    """
    from .remote import configured, without_secrets

    cache, remote = default(), configured()
    url = None if remote is None else without_secrets(remote.url)
    return CacheInfo(
        folder=str(cache.root),
        layers=cache.layers,
        remote=url,
        mode=cache.mode,
        hits=counts["hits"],
        misses=counts["misses"],
        builds=counts["built"],
        remote_hits=counts["remote"],
        events=tuple(CacheEvent(*event) for event in tuple(events)),
    )
