"""`cache_info`: the cache's folders, and what this process looked up in them."""

from __future__ import annotations

from dataclasses import dataclass, field

from .lookups import CacheEvent, seen
from .places import places
from .remote import configured, without_secrets

__all__ = ["CacheInfo", "cache_info"]


@dataclass(frozen=True, kw_only=True)
class CacheInfo:
    """The cache of this process, and what it was asked for so far.

    Modules are counted, and images of lazy modules; not what a build looks up for itself, such as
    precompiled headers. Seconds are summed over threads.

    Attributes
    ----------
    folder : str
        The cache folder.
    layers : tuple of str
        The folders that are looked through before it.
    remote : str or None
        The URL of the remote.
    mode : str
        ``"on"``, ``"read"`` or ``"off"``.
    hits : int
        Look-ups that found something at once.
    misses : int
        Look-ups that did not.
    builds : int
        Misses that built something.
    remote_hits : int
        Misses that the remote answered.
    looking_up, building, waiting : float
        Seconds. Waiting is for other processes that built the same, and for the remote.
    events : tuple of CacheEvent
        The last hundred look-ups, the oldest first: ``name``, ``outcome`` (``"hit"``, ``"layer"``,
        ``"private"``, ``"remote"``, ``"built"``, ``"failed"``), ``reason`` and ``seconds``.
    """

    folder: str
    layers: tuple[str, ...]
    remote: str | None
    mode: str
    hits: int
    misses: int
    builds: int
    remote_hits: int
    looking_up: float
    building: float
    waiting: float
    events: tuple[CacheEvent, ...] = field(repr=False)

    def __str__(self) -> str:
        """Several lines for people: folders, counts, and the last misses with their reasons."""
        lines = [
            f"cache folder {self.folder} ({self.mode})",
            *(f"layer {folder}" for folder in self.layers),
            *([f"remote {self.remote}"] if self.remote else []),
            f"{self.hits} hits, {self.misses} misses: {self.builds} built, "
            f"{self.remote_hits} from the remote",
            f"{self.looking_up:.3f} s looking up, {self.building:.3f} s building, "
            f"{self.waiting:.3f} s waiting",
        ]
        missed = [event for event in self.events if event.outcome in ("remote", "built", "failed")]
        lines += [f"  {x.name}: {x.outcome}, {x.seconds:.3f} s: {x.reason}" for x in missed[-10:]]
        return "\n".join(lines)


def cache_info() -> CacheInfo:
    """Return which folders the cache is in, and what this process looked up in it so far.

    Raises
    ------
    CacheError, ValueError
        An environment variable of the cache has an impossible value.
    """
    folders, remote = places(), configured()
    with seen.guard:
        counts = dict(seen.counts)
        found = counts["hit"] + counts["layer"] + counts["private"]
        # Of those, some had to wait for another process.
        late = seen.misses - counts["built"] - counts["remote"] - counts["failed"]
        return CacheInfo(
            folder=folders.root,
            layers=folders.layers,
            remote=None if remote is None else without_secrets(remote.url),
            mode=folders.mode,
            hits=found - late,
            misses=seen.misses,
            builds=counts["built"],
            remote_hits=counts["remote"],
            looking_up=seen.looking_up,
            building=seen.building,
            waiting=seen.waiting,
            events=tuple(seen.events),
        )
