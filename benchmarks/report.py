"""A report as JSON values, as Markdown, and in docs/benchmarks.md."""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterable
from typing import Any

from bench import Sample, Section

Report = dict[str, Any]


def section(about: Section, samples: Iterable[Sample]) -> dict[str, Any]:
    """Return a section's samples as JSON values: table, peer, case, values."""
    tables: dict[str, Any] = {}
    left_out: dict[str, list[str]] = {}
    failed = []
    order = list(about.peers)
    for sample in sorted(samples, key=lambda x: order.index(x.peer) if x.peer in order else 0):
        peer = about.peers.get(sample.peer)
        title = peer.title if peer else sample.peer or "all"
        if sample.reason:
            if title not in left_out.setdefault(sample.reason, []):
                left_out[sample.reason].append(title)
            failed += [sample.peer] if sample.failed else []
            continue
        assert peer is not None, sample
        unit, reference = about.tables[sample.table]
        table = tables.setdefault(
            sample.table, {"unit": unit, "reference": about.peers[reference].title, "peers": {}}
        )
        row = table["peers"].setdefault(title, {"what": peer.what, "cases": {}})
        row["cases"].setdefault(sample.case, []).extend(sample.values)
    values = {"title": about.title, "about": about.about, "tables": tables}
    return {**values, "left_out": left_out, "failed": failed}


def markdown(report: Report) -> str:
    """Return a report as Markdown: a part for each section."""
    return "\n\n".join(part(report, section) for section in report["sections"].values())


def part(report: Report, section: dict[str, Any]) -> str:
    """Return a section as Markdown, with where and when it was measured."""
    texts = [f"### {section['title']}", f"*{summary(report)}*", section["about"]]
    texts += [_table(title, table) for title, table in section["tables"].items()]
    for why, peers in section["left_out"].items():
        texts.append(f"Left out: {_escape('; '.join(peers))}: {_escape(why)}.")
    return "\n\n".join(texts)


def summary(report: Report) -> str:
    """Return one line that says where, when and with what the report was made."""
    facts = report["machine"]
    made_with = [facts["driver"] and f"driver {facts['driver']}", facts["compiler"]]
    made_with += [facts["nvcc"] and f"nvcc {facts['nvcc']}", f"Python {facts['python']}"]
    versions = [f"{name} {version}" for name, version in facts["versions"].items()]
    texts = ", ".join(text for text in [*made_with, *versions] if text)
    load = f"load average {facts['load']} before"
    return f"{facts['kind']} ({facts['cpu']}), {load}, {report['date']}. {texts}."


def _table(title: str, table: dict[str, Any]) -> str:
    peers = table["peers"]
    cases = list(dict.fromkeys(case for row in peers.values() for case in row["cases"]))
    base = peers.get(table["reference"], {"cases": {}})["cases"]
    # A case without a name, alone in its table, has no heading of its own.
    heads = [case or "median (min)" for case in cases]
    lines = [[f"{title}, {table['unit']}", *heads, "what is measured"]]
    lines.append(["---"] * len(lines[0]))
    for peer, row in peers.items():
        texts = [cell(row["cases"].get(case), base.get(case)) for case in cases]
        lines.append([peer, *texts, row["what"]])
    return "\n".join("| " + " | ".join(map(_escape, line)) + " |" for line in lines)


def cell(values: list[float] | None, base: list[float] | None) -> str:
    """Return median, minimum, and ratio to the reference's median as text."""
    if not values:
        return "-"
    median = statistics.median(values)
    text = f"{number(median)} ({number(min(values))})"
    return f"{text} {median / statistics.median(base):.2f}x" if base else text


def number(value: float) -> str:
    """Return a figure with three digits or, if it is larger, as a whole number."""
    if value >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _escape(text: str) -> str:
    text = text.replace("](", "&#93;(")  # which would become a link
    return text.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")


def place_of(report: Report) -> str:
    """Return the name of the report's place in the page: `h200` for an NVIDIA H200."""
    names = report["machine"]["gpu"] or ["cpu"]
    words = re.sub(r"^NVIDIA ", "", names[0]).lower()
    return re.sub(r"[^a-z0-9]+", "-", words).strip("-")


def updated(page: str, report: Report) -> str:
    """Return a page with the report's sections in this machine's place; others stay."""
    begin, end = (f"<!-- {place_of(report)}:{word} -->" for word in ("begin", "end"))
    if page.count(begin) != 1 or page.count(end) != 1:
        there = re.findall(r"<!-- (\S+):begin -->", page)
        raise ValueError(f"the page has no place {place_of(report)!r}; it has {there}")
    before, rest = page.split(begin)
    text, after = rest.split(end)
    for section in report["sections"].values():
        new = part(report, section)
        heading = rf"### {re.escape(section['title'])}\n.*?(?=\n### |\Z)"
        text, count = re.subn(heading, lambda _, new=new: new + "\n", text, flags=re.DOTALL)
        text = text if count else f"{text.rstrip()}\n\n{new}"
    return f"{before}{begin}\n\n{text.strip()}\n\n{end}{after}"
