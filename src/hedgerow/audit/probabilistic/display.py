"""What is known of a table as a person reads it (PDR, Tables II and IV): aligned text, and HTML."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby, islice
from typing import Any

import pandas as pd

from hedgerow.audit.entropy.values import Values
from hedgerow.audit.probabilistic.factors import Part
from hedgerow.audit.probabilistic.row import Row
from hedgerow.values import printable, quoted_text, value_text

_LISTED = 8
"""Most values that are listed in full."""
_LONG = 72
"""Most letters that a list of values has, of more than two."""
_APART = 20
"""Most rows that stand each on its own; of more, equal neighbours share a line."""
_LINES = 200
"""Most lines."""
_WIDTH = 120
"""Most letters in a line with attributes of which nothing is known."""

_Line = list[str]


def dataset_text(domains: Sequence[Values], rows: Sequence[Row], labels: Sequence[Any] | None, label: str) -> str:
    """Return a line a row, or one for neighbours that are alike, as aligned text."""
    lines, notes = _page(domains, rows, labels, label)
    return "\n".join(map(printable, [*_aligned(lines), *notes]))


def dataset_html(domains: Sequence[Values], rows: Sequence[Row], labels: Sequence[Any] | None, label: str) -> str:
    """Return the same as a table in HTML."""
    (head, *lines), notes = _page(domains, rows, labels, label)
    body = "".join(f"<tr>{''.join(f'<td>{escape(printable(entry))}</td>' for entry in line)}</tr>" for line in lines)
    top = "".join(f"<th>{escape(printable(entry))}</th>" for entry in head)
    more = "".join(f"<p>{escape(printable(note))}</p>" for note in notes)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>{more}"


def _page(
    domains: Sequence[Values], rows: Sequence[Row], labels: Sequence[Any] | None, label: str
) -> tuple[list[_Line], list[str]]:
    """Return the lines, the head first, and what is to be said below them."""
    names = [values.name for values in domains]
    different = {id(row): row for row in rows}
    entries = {key: _bins(row, domains) for key, row in different.items()}
    known = {place for row in different.values() for place in _known_of(row, domains)}
    notes: list[str] = []
    shown = list(range(len(domains)))
    while True:
        head = ["row", *(names[k] for k in shown), *([] if labels is None else [label])]
        written = [tuple(entries[id(row)][k] for k in shown) for row in rows]
        if labels is not None:
            written = [(*line, _text(value)) for line, value in zip(written, labels, strict=True)]
        lines = list(islice(_numbered(written), _LINES + 1))
        if len(known) == len(shown) or max(map(len, _aligned([head, *lines]))) <= _WIDTH:
            break
        notes = [f"Nothing is known of {', '.join(name for k, name in enumerate(names) if k not in known)}."]
        shown = sorted(known)
    if len(lines) > _LINES:
        lines, notes = lines[:_LINES], ["… and further rows.", *notes]
    return [head, *lines], notes


def _numbered(written: Sequence[tuple[str, ...]]) -> Iterator[_Line]:
    """Yield a line for each row, or, if there are many, for neighbours that are alike."""
    apart = len(written) <= _APART
    for _, same in groupby(enumerate(written, start=1), key=lambda item: item[0] if apart else item[1]):
        members = list(same)
        first, last = members[0][0], members[-1][0]
        name = f"x{first}" if first == last else f"x{first} to x{last} ({len(members):,} rows)"
        yield [name, *members[0][1]]


def _aligned(lines: Sequence[_Line]) -> list[str]:
    widths = [max(map(len, entries)) for entries in zip(*lines, strict=True)]
    return ["  ".join(map(str.ljust, line, widths)).rstrip() for line in lines]


def _known_of(row: Row, domains: Sequence[Values]) -> Iterator[int]:
    """Yield the attributes of which something is known in a row."""
    for part in row.parts:
        first, *others = part.attributes
        if others or not part.uniform or part.worlds < domains[first].count:
            yield from part.attributes


def _bins(row: Row, domains: Sequence[Values]) -> _Line:
    found = [""] * len(domains)
    for part in row.parts:
        first, *others = part.attributes
        names = f"({', '.join(domains[place].name for place in part.attributes)}) ∈ " if others else ""
        found[first] = names + _values(part, domains)
        for place in others:
            found[place] = f"as {domains[first].name} allows"
    return found


def _values(part: Part, domains: Sequence[Values]) -> str:
    """Return the values that are possible: all of them, or, of many, the first ones and their number."""
    found = islice(part.outcomes(domains), _LISTED + 1)
    items = [_text(values) + ("" if part.uniform else f": {float(chance):.3g}") for values, chance in found]
    if part.worlds == 1:
        return _text(next(part.outcomes(domains))[0])
    listed = f"{{{', '.join(items)}}}"
    if part.worlds <= _LISTED and (len(listed) <= _LONG or part.worlds == 2):
        return listed
    last = [_text(_last(part, domains))] if len(part.attributes) == 1 and part.uniform else []
    return f"{{{', '.join([*items[:2], '…', *last])}}} ({part.worlds:,} values)"


def _last(part: Part, domains: Sequence[Values]) -> Any:
    """Return the last value that is possible of one attribute."""
    (place,), (chances,) = part.attributes, part.marginals
    bin = max(i for i, chance in enumerate(chances) if chance)
    return domains[place].bins[bin][-1]


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        own = [_text(one) for one in value]
        return own[0] if len(own) == 1 else f"({', '.join(own)})"
    if isinstance(value, pd.Interval):
        opening = "[" if value.closed == "both" else "("
        return f"{opening}{value_text(value.left)}, {value_text(value.right)}]"
    return quoted_text(value) if isinstance(value, (str, int, float)) else str(value)
