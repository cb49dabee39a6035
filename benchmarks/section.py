"""`Section`: what is measured together, by which peers, in which processes; plain data."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass


class Skip(Exception):
    """A peer cannot run here; the text says why."""


@dataclass(frozen=True)
class Settings:
    """What one run was asked for, and whether there is a GPU to launch on."""

    repeat: int = 3
    slow: bool = False
    quick: bool = False
    gpu: bool = False


@dataclass(frozen=True)
class Peer:
    """Who is measured; `what` says in a line what is timed, `without_gpu` the same where there is
    no GPU (None: as with one)."""

    name: str
    title: str
    what: str
    without_gpu: str | None = None

    def timed(self, gpu: bool) -> str:
        return self.what if gpu or self.without_gpu is None else self.without_gpu


@dataclass(frozen=True)
class Job:
    """What one fresh process measures; `cells` are the (peer, table, case) that it fills.

    `few` marks an expensive one: it takes part in a third of the rounds.
    """

    name: str
    argument: str
    cells: tuple[tuple[str, str, str], ...]
    few: bool = False


@dataclass(frozen=True)
class Task:
    """A job in one round, as its process gets it.

    `salt` makes the round's sources new to all caches; `excluded` names peers of the job that have
    killed such a process before.
    """

    section: str
    job: str
    argument: str
    salt: int
    settings: Settings
    excluded: tuple[str, ...] = ()


@dataclass(frozen=True)
class Sample:
    """What a child measured for one cell of a peer: values, or why there are none."""

    peer: str
    table: str
    case: str
    values: tuple[float, ...] = ()
    reason: str = ""
    failed: bool = False


def missing(cells: Iterable[tuple[str, str, str]], reason: str, *, failed: bool) -> list[Sample]:
    """Return samples that say why cells have no values."""
    return [Sample(peer, table, case, reason=reason, failed=failed) for peer, table, case in cells]


@dataclass(frozen=True)
class Section:
    """A section of the report.

    Attributes
    ----------
    units : dict
        The unit of each table, by its title.
    references : dict
        The peer that the others of a table are compared with, by the table's title.
    jobs : callable
        The jobs of a round.
    measure : callable
        Runs a task, in a process of its own.
    """

    name: str
    title: str
    about: str
    peers: tuple[Peer, ...]
    units: dict[str, str]
    references: dict[str, str]
    jobs: Callable[[Settings], list[Job]]
    measure: Callable[[Task], list[Sample]]

    def peer(self, name: str) -> Peer:
        return next(peer for peer in self.peers if peer.name == name)

    def job(self, name: str, argument: str, settings: Settings) -> Job:
        found = ((job.name, job.argument, job) for job in self.jobs(settings))
        return next(job for own, other, job in found if (own, other) == (name, argument))
