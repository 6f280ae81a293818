"""What a reader is shown of the released rows of leaves, given the noise on them, and in which words."""

import math
from dataclasses import dataclass
from fractions import Fraction

from hedgerow.models.count_noise import CountNoise

WIDEST_SHARE = 0.5
"""Width from which the interval of a share is not shown: it would exclude no more than half of all shares."""


@dataclass(frozen=True)
class Support:
    """The released rows of one leaf, or of several together, with the share of the predicted class.

    Texts, pictures, pages and sheets show rows and shares by one rule. Intervals hold at 95 %:

    - If no counts were released, only a probability that was drawn with the model is shown.
    - Exact rows and shares are shown as they are.
    - Noisy rows whose interval contains 0 are too few to tell: only their upper bound is shown, and no share.
    - Other noisy rows are rounded to the digits that the noise leaves. The share is shown as an interval if this is
      narrower than half of the range from 0 to 1.
    - If the card does not state the noise, the released rows are shown and marked as such, without a share.
    """

    rows: int | None = None  # the sum of the released counts, negative if the noise is; None if none were released
    numbers: int = 0  # how many noisy numbers were added
    noise: CountNoise | None = None  # None if the card does not state it
    share: tuple[float, float] | None = None  # the ends of its interval, equal if it is exact; None if it is not shown
    drawn: float | None = None  # the probability of the predicted class, if it was drawn with the model

    @property
    def is_exact(self) -> bool:
        """True if the rows were released without noise."""
        return self.rows is not None and self.noise is not None and self.noise.is_exact

    @property
    def is_too_few(self) -> bool:
        """True if there may be no such rows, given the noise."""
        return self.rows is not None and self.noise is not None and self.rows <= self.noise.spread(self.numbers)

    @property
    def rows_shown(self) -> str:
        """The rows in words; empty if none were released."""
        return "" if self.rows is None else rows_text(self.rows, self.numbers, self.noise, "row")

    @property
    def share_shown(self) -> str:
        """The drawn probability, or else the share; empty if neither is shown."""
        if self.drawn is not None:
            return f"{100 * self.drawn:.3g} %"
        if self.share is None:
            return ""
        return f"{100 * self.share[0]:.1f} %" if self.is_exact else interval_text(self.share)

    @property
    def text(self) -> str:
        """The share and the rows in words, such as "65 to 71 % of about 720"; empty if neither is shown."""
        if self.rows is not None and self.share is not None and self.drawn is None:
            return f"{self.share_shown} of {rows_text(self.rows, self.numbers, self.noise)}"
        said = "; ".join(filter(None, (self.share_shown, self.rows_shown)))
        return f"{said}: too few to tell" if self._most and self.drawn is None else said

    @property
    def _most(self) -> int:
        """The upper bound of rows that may be none; 0 for others."""
        if self.rows is None or self.noise is None or not self.is_too_few:
            return 0
        return max(self.rows + self.noise.spread(self.numbers), 0)


def shown_share(counts: tuple[int, ...], place: int, noise: CountNoise | None) -> tuple[float, float] | None:
    """Return the interval for the share of the class at a place, or None if it is not shown; exact shares have none."""
    if noise is None or sum(counts) <= noise.spread(len(counts)):
        return None
    ends = noise.share(counts, place)
    return ends if ends[1] - ends[0] < WIDEST_SHARE else None


def rows_text(count: int, numbers: int, noise: CountNoise | None, unit: str = "") -> str:
    """Return a sum of released counts in words: exact, rounded as the noise asks, or an upper bound if it may be 0."""
    if noise is None:
        return f"{_counted(count, unit)} ± unknown noise"
    off = noise.spread(numbers)
    if not off:
        return _counted(max(count, 0), unit)
    place = 10 ** (len(str(off)) - 1)  # of the first digit that the noise reaches
    if count > off:
        return f"about {_counted(place * round(Fraction(count, place)), unit)}"
    most = place * -(-max(count + off, 0) // place)
    return f"at most {_counted(most, unit)}" if most else f"probably no {unit}s" if unit else "0"


def _counted(number: int, unit: str) -> str:
    return f"{number:,}" + (f" {unit}{'' if number == 1 else 's'}" if unit else "")


def interval_text(share: tuple[float, float]) -> str:
    """Return an interval of shares in whole percent, rounded outward."""
    low, high = math.floor(100 * share[0]), math.ceil(100 * share[1])
    return f"{high} %" if low == high else f"{low} to {high} %"
