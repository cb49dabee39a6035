"""A report as tables, for a terminal and for docs/benchmarks.md.

    python benchmarks/table.py benchmark.json                            prints it
    python benchmarks/table.py benchmark.json --markdown                 the same as Markdown
    python benchmarks/table.py benchmark.json --update docs/benchmarks.md [--place h200]

The last replaces what stands between `<!-- h200:begin -->` and `<!-- h200:end -->`; the place is
called after the GPU, and `cpu` where there was none. Of several reports each section is the last's
that has it: sections that were measured anew stand under a line of their own.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from row import SCHEMA

Report = dict[str, Any]


@dataclass(frozen=True)
class Table:
    """A table of texts: a line for each peer that has a figure, a column for each case."""

    section: str
    title: str
    unit: str
    cases: list[str]
    lines: list[tuple[str, list[str], str]]
    left_out: dict[str, list[str]]


def tables(report: Report) -> list[Table]:
    """Return the tables of a report, in its order."""
    if report.get("schema") != SCHEMA:
        raise ValueError(f"the report has schema {report.get('schema')!r}, wanted {SCHEMA}")
    grouped: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in report["rows"]:
        grouped.setdefault((row["section"], row["table"]), []).append(row)
    order = list(report["sections"])
    found = sorted(grouped.items(), key=lambda item: order.index(item[0][0]))
    return [_table(section, title, rows) for (section, title), rows in found]


def _table(section: str, title: str, rows: list[dict[str, Any]]) -> Table:
    cases = list(dict.fromkeys(row["case"] for row in rows))
    peers: dict[str, dict[str, dict[str, Any]]] = {}
    for row in rows:
        peers.setdefault(row["peer"], {})[row["case"]] = row
    lines: list[tuple[str, list[str], str]] = []
    left_out: dict[str, list[str]] = {}
    for peer, by_case in peers.items():
        if any(row["samples"] for row in by_case.values()):
            texts = [cell(by_case.get(case)) for case in cases]
            lines.append((peer, texts, next(iter(by_case.values()))["what"]))
        for reason in dict.fromkeys(row["reason"] for row in by_case.values() if row["reason"]):
            left_out.setdefault(reason, []).append(peer)
    return Table(section, title, rows[0]["unit"], cases, lines, left_out)


def cell(row: dict[str, Any] | None) -> str:
    """Return median, minimum and ratio as one text."""
    if row is None or row["median"] is None:
        return "-"
    text = f"{number(row['median'])} ({number(row['min'])})"
    return text if row["ratio"] is None else f"{text} {row['ratio']:.2f}x"


def number(value: float) -> str:
    """Return a figure with three digits or, where it is larger, as a whole number."""
    if value >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def summary(report: Report) -> str:
    """Return in one line where, when and with what the report was made."""
    facts = report["machine"]
    made_with = [facts["driver"] and f"driver {facts['driver']}", facts["compiler"]]
    made_with += [facts["nvcc"] and f"nvcc {facts['nvcc']}", f"Python {facts['python']}"]
    versions = [f"{name} {version}" for name, version in facts["versions"].items()]
    texts = ", ".join(text for text in [*made_with, *versions] if text)
    load = f", load average {facts['load']} before" if facts["load"] is not None else ""
    return f"{facts['kind']} ({facts['cpu']}){load}, {report['date']}. {texts}."


def _heads(table: Table) -> list[str]:
    """Return the columns' titles; a table with one case without a name has its unit there."""
    return [case or "median (min)" for case in table.cases]


def terminal(report: Report) -> str:
    """Return the report as text for a terminal."""
    parts = [summary(report), "Cells: median (minimum) ratio to ours."]
    section = ""
    for table in tables(report):
        if table.section != section:
            section = table.section
            parts.append(f"== {report['sections'][section]['title']}")
        parts.append(_terminal_table(table))
    return "\n\n".join(parts)


def _terminal_table(table: Table) -> str:
    head = [f"{table.title}, {table.unit}", *_heads(table)]
    body = [[peer, *texts] for peer, texts, _ in table.lines]
    widths = [max(len(line[i]) for line in [head, *body]) for i in range(len(head))]
    texts = [
        "  ".join(t.ljust(w) for t, w in zip(line, widths, strict=True)).rstrip()
        for line in [head, *body]
    ]
    texts.insert(1, "-" * min(100, sum(widths) + 2 * len(widths) - 2))
    left_out = [f"left out: {'; '.join(peers)}: {why}" for why, peers in table.left_out.items()]
    return "\n".join((texts if body else []) + left_out)


def markdown(report: Report) -> str:
    """Return the report as Markdown, without headings above the third level."""
    parts = [summary(report) + " Cells: median (minimum) ratio to ours."]
    section = ""
    for table in tables(report):
        if table.section != section:
            section = table.section
            about = report["sections"][section]
            parts += [f"### {about['title']}", about["about"]]
        if table.lines:
            parts.append(_markdown_table(table))
        for why, peers in table.left_out.items():
            parts.append(f"Left out: {_escape('; '.join(peers))}: {_escape(why)}.")
    return "\n\n".join(parts)


def _markdown_table(table: Table) -> str:
    head = [f"{table.title}, {table.unit}", *_heads(table), "what is measured"]
    body = [[peer, *texts, what] for peer, texts, what in table.lines]
    lines = [head, ["---"] * len(head), *body]
    return "\n".join("| " + " | ".join(map(_escape, line)) + " |" for line in lines)


def _escape(text: str) -> str:
    text = text.replace("](", "&#93;(")  # which would make a link of it
    return text.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")


def place_of(report: Report) -> str:
    """Return the name of the report's place in the page: `h200` for an NVIDIA H200."""
    names = report["machine"]["gpu"]
    if not names:
        return "cpu"
    words = re.sub(r"^NVIDIA ", "", names[0]).lower()
    return re.sub(r"[^a-z0-9]+", "-", words).strip("-")


def updated(page: str, place: str, text: str) -> str:
    """Return a page with other text in a place.

    Raises
    ------
    ValueError
        The page does not have that place exactly once.
    """
    begin, end = f"<!-- {place}:begin -->", f"<!-- {place}:end -->"
    if page.count(begin) != 1 or page.count(end) != 1 or page.index(begin) > page.index(end):
        there = re.findall(r"<!-- (\S+):begin -->", page)
        raise ValueError(f"the page has no place {place!r} between markers; it has {there}")
    before, rest = page.split(begin)
    return f"{before}{begin}\n\n{text.strip()}\n\n{end}{rest.split(end)[1]}"


def latest(reports: list[Report]) -> list[Report]:
    """Return reports without the sections that a later one has, and none that has nothing left."""
    kept: list[Report] = []
    newer: set[str] = set()
    for report in reversed(reports):
        sections = {name: s for name, s in report["sections"].items() if name not in newer}
        rows = [row for row in report["rows"] if row["section"] in sections]
        if sections:
            kept.insert(0, {**report, "sections": sections, "rows": rows})
        newer |= sections.keys()
    return kept


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("reports", type=Path, nargs="+", metavar="report")
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--update", type=Path, metavar="PAGE")
    parser.add_argument("--place", help="the markers' name; default: of the report's machine")
    options = parser.parse_args()
    reports = latest([json.loads(path.read_text(encoding="utf-8")) for path in options.reports])
    show: Callable[[Report], str] = markdown if options.markdown or options.update else terminal
    text = "\n\n".join(show(report) for report in reports)
    if options.update:
        page = options.update.read_text(encoding="utf-8")
        place = options.place or place_of(reports[-1])
        options.update.write_text(updated(page, place, text), encoding="utf-8")
        return
    print(text)


if __name__ == "__main__":
    main()
