"""Scorecards as text: a table of points, and lines of totals with their probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hedgerow.values import printable, shown_text

if TYPE_CHECKING:
    from hedgerow.models.scorecard import Scorecard

_WIDEST = 40  # characters to which a column is aligned; longer names and classes stand out


def card_text(card: Scorecard) -> str:
    """Return the points of each bin, the base, and the probabilities of totals."""
    lines = [["attribute", "bin", *column_titles(card)]]
    for bins in card.bins:
        for place, one in enumerate(bins):
            name = "" if place else printable(one.attribute)
            lines.append([name, printable(one.name), *map(str, one.points)])
    lines.append(["base", "", *map(str, card.base)])
    below = _aligned(risk_lines(card), left=0) if card.is_binary else notes(card)
    return "\n".join([*_aligned(lines, left=2), "", *below])


def column_titles(card: Scorecard) -> list[str]:
    """Return the titles of the columns of points: the classes, if there are more than two."""
    return ["points"] if card.is_binary else list(map(shown_text, card.schema.classes))


def risk_lines(card: Scorecard) -> list[list[str]]:
    """Return totals with the probability of the second class as lines of a table, its titles first."""
    has_interval = card.error is not None
    lines = [["total", risk_title(card), *(["95 % by noise"] if has_interval else [])]]
    return lines + [[str(one.total), one.shown, *([one.interval] if has_interval else [])] for one in card.tabulated]


def risk_title(card: Scorecard) -> str:
    """Return what the probabilities are of."""
    assert card.schema.label is not None
    return f"P({printable(card.schema.label.name)} = {shown_text(card.schema.classes[1])})"


def form_title(card: Scorecard) -> str:
    """Return what the points are for."""
    assert card.schema.label is not None
    more = f" = {shown_text(card.schema.classes[1])}" if card.is_binary else ""
    return f"Points for {printable(card.schema.label.name)}{more}"


def notes(card: Scorecard) -> list[str]:
    """Return how totals are read, in sentences."""
    unit = f"{card.unit:.6g}"
    if not card.is_binary:
        found = [f"The class with the largest total is predicted. P(class) is proportional to exp({unit} * its total)."]
        if card.error is not None:
            found.append(f"The noise of the release adds a standard error of {card.error:.3g} to log-odds.")
        return found
    first, second = map(shown_text, card.schema.classes)
    found = [
        f"{second} is predicted for totals above 0, else {first}.",
        f"{risk_title(card)} = 1 / (1 + exp(-{unit} * total)).",
    ]
    if card.error is not None:
        found.append(
            "95 % intervals are by the noise of the release, a standard error of "
            f"{card.error:.3g} in log-odds; another sample of rows would add to it."
        )
    return found


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
