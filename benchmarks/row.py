"""`Row`: what one peer scored in one case, with its samples, or why it has no score."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

SCHEMA = 1


@dataclass(frozen=True)
class Row:
    """One cell of one table; without samples `reason` says why, and `failed` whether it broke."""

    section: str
    table: str
    peer: str
    case: str
    what: str
    unit: str
    samples: tuple[float, ...] = ()
    reason: str = ""
    failed: bool = False
    ratio: float | None = None

    @property
    def median(self) -> float | None:
        return statistics.median(self.samples) if self.samples else None

    def as_json(self) -> dict[str, Any]:
        """Return the row as JSON values, with median and minimum worked out."""
        return {
            "section": self.section,
            "table": self.table,
            "peer": self.peer,
            "case": self.case,
            "what": self.what,
            "unit": self.unit,
            "samples": list(self.samples),
            "median": self.median,
            "min": min(self.samples, default=None),
            "ratio": self.ratio,
            "reason": self.reason,
            "failed": self.failed,
        }


def with_ratios(rows: Iterable[Row], references: dict[tuple[str, str], str]) -> list[Row]:
    """Return the rows with the ratio of their median to that of their table's reference peer.

    Parameters
    ----------
    references : dict
        The title of the reference peer, by section and table.
    """
    rows = list(rows)
    base = {
        (row.section, row.table, row.case): row.median
        for row in rows
        if row.peer == references[row.section, row.table]
    }
    compared = []
    for row in rows:
        own, other = row.median, base.get((row.section, row.table, row.case))
        compared.append(replace(row, ratio=own / other if own is not None and other else None))
    return compared
