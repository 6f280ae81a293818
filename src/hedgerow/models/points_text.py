"""Scorecards as text: a table of points, and lines of totals with their probabilities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from hedgerow.models.sheet import Sheet
from hedgerow.values import printable

_WIDEST = 40  # characters to which a column is aligned; longer names and classes stand out


def card_text(sheet: Sheet) -> str:
    """Return the points of each bin, the base, and the probabilities of totals."""
    lines = [["attribute", "bin", *sheet.columns]]
    for bins in sheet.bins:
        for place, one in enumerate(bins):
            name = "" if place else printable(one.attribute)
            lines.append([name, printable(one.label), *map(str, one.points)])
    lines.append(["base", "", *map(str, sheet.base)])
    below = _aligned(sheet.risk_lines, left=0) if sheet.is_binary else sheet.notes
    return "\n".join([*_aligned(lines, left=2), "", *below])


def row_texts(sheet: Sheet, codes: Mapping[str, NDArray[np.integer]], classes: NDArray[np.integer]) -> list[str]:
    """Return how the total of each row comes about: the base, then the points of its bin of each attribute."""
    texts = [np.array([f"base: {points:+d}" for points in sheet.base], dtype=object)[classes]]
    for bins in sheet.bins:
        by_bin = np.array(
            [
                [f"{printable(one.attribute)} {printable(one.words)}: {points:+d}" for points in one.points]
                for one in bins
                for _ in range(one.start, one.stop)
            ],
            dtype=object,
        )
        texts.append(by_bin[codes[bins[0].attribute], classes])
    return ["; ".join(row) for row in zip(*texts, strict=True)]


def _aligned(lines: Sequence[Sequence[str]], left: int) -> list[str]:
    """Return lines of entries in columns, the first `left` of them aligned to the left."""
    widths = [min(max(map(len, column)), _WIDEST) for column in zip(*lines, strict=True)]
    return [
        "  ".join(
            entry.ljust(width) if place < left else entry.rjust(width)
            for place, (entry, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]
