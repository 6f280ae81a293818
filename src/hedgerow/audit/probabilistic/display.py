"""Display of probabilistic datasets (PDR, Tables II and IV): aligned text, and HTML."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby, islice
from typing import Any

import pandas as pd

from hedgerow.audit.entropy.values import Values
from hedgerow.audit.probabilistic.factors import Factor
from hedgerow.audit.probabilistic.row import RowDistribution
from hedgerow.values import printable, quoted_text, value_text

_LISTED = 8
"""Maximum number of values that are listed in full."""
_LONG = 72
"""Maximum length of a list of more than two values."""
_APART = 20
"""Maximum number of rows with a line each; of more, equal adjacent rows share a line."""
_LINES = 200
"""Maximum number of lines."""
_WIDTH = 120
"""Maximum length of a line with unconstrained attributes."""

_Line = list[str]


def dataset_text(
    domains: Sequence[Values], rows: Sequence[RowDistribution], labels: Sequence[Any] | None, label: str
) -> str:
    """Return a line a row, or one for equal adjacent rows, as aligned text."""
    lines, notes = _page(domains, rows, labels, label)
    return "\n".join(map(printable, [*_aligned(lines), *notes]))


def dataset_html(
    domains: Sequence[Values], rows: Sequence[RowDistribution], labels: Sequence[Any] | None, label: str
) -> str:
    """Return the same as a table in HTML."""
    (head, *lines), notes = _page(domains, rows, labels, label)
    body = "".join(f"<tr>{''.join(f'<td>{escape(printable(entry))}</td>' for entry in line)}</tr>" for line in lines)
    top = "".join(f"<th>{escape(printable(entry))}</th>" for entry in head)
    more = "".join(f"<p>{escape(printable(note))}</p>" for note in notes)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>{more}"


def _page(
    domains: Sequence[Values], rows: Sequence[RowDistribution], labels: Sequence[Any] | None, label: str
) -> tuple[list[_Line], list[str]]:
    """Return the lines, the head first, and the notes below them."""
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
        notes = [f"Unconstrained: {', '.join(name for k, name in enumerate(names) if k not in known)}."]
        shown = sorted(known)
    if len(lines) > _LINES:
        lines, notes = lines[:_LINES], ["… and further rows.", *notes]
    return [head, *lines], notes


def _numbered(written: Sequence[tuple[str, ...]]) -> Iterator[_Line]:
    """Yield a line for each row, or, if there are many, for equal adjacent rows."""
    apart = len(written) <= _APART
    for _, same in groupby(enumerate(written, start=1), key=lambda item: item[0] if apart else item[1]):
        members = list(same)
        first, last = members[0][0], members[-1][0]
        name = f"x{first}" if first == last else f"x{first} to x{last} ({len(members):,} rows)"
        yield [name, *members[0][1]]


def _aligned(lines: Sequence[_Line]) -> list[str]:
    widths = [max(map(len, entries)) for entries in zip(*lines, strict=True)]
    return ["  ".join(map(str.ljust, line, widths)).rstrip() for line in lines]


def _known_of(row: RowDistribution, domains: Sequence[Values]) -> Iterator[int]:
    """Yield the attributes of a row that are not uniform on their domains."""
    for factor in row.factors:
        first, *others = factor.attributes
        if others or not factor.uniform or factor.value_combinations < domains[first].count:
            yield from factor.attributes


def _bins(row: RowDistribution, domains: Sequence[Values]) -> _Line:
    found = [""] * len(domains)
    for factor in row.factors:
        first, *others = factor.attributes
        names = f"({', '.join(domains[place].name for place in factor.attributes)}) ∈ " if others else ""
        found[first] = names + _values(factor, domains)
        for place in others:
            found[place] = f"as {domains[first].name} allows"
    return found


def _values(factor: Factor, domains: Sequence[Values]) -> str:
    """Return the possible values: all of them, or, of many, the first ones and their number."""
    found = islice(factor.outcomes(domains), _LISTED + 1)
    items = [_text(values) + ("" if factor.uniform else f": {float(chance):.3g}") for values, chance in found]
    if factor.value_combinations == 1:
        return _text(next(factor.outcomes(domains))[0])
    listed = f"{{{', '.join(items)}}}"
    if factor.value_combinations <= _LISTED and (len(listed) <= _LONG or factor.value_combinations == 2):
        return listed
    last = [_text(_last(factor, domains))] if len(factor.attributes) == 1 and factor.uniform else []
    return f"{{{', '.join([*items[:2], '…', *last])}}} ({factor.value_combinations:,} values)"


def _last(factor: Factor, domains: Sequence[Values]) -> Any:
    """Return the last possible value of one attribute."""
    (place,), (chances,) = factor.attributes, factor.marginals
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
