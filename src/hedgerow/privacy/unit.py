"""Units of privacy, such as all rows of a person, and the privacy loss of a release for a unit."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import exp, inf
from typing import Any, Self

from hedgerow.boundary.arguments import check_integer
from hedgerow.errors import ArgumentError
from hedgerow.privacy import wording
from hedgerow.privacy.noise import GaussianCounts
from hedgerow.text.messages import describe_argument
from hedgerow.text.values import LONGEST_TEXT

MOST_ROWS = 10_000  # the largest `max_rows`; noise grows with `max_rows`
_LARGEST_EXPONENT = 700.0  # an exponent whose exponential is a finite float
Loss = tuple[Fraction, Fraction, Fraction | None]  # ε, δ, and ρ if it is less than the ρ that follows from ε


@dataclass(frozen=True)
class Unit:
    """The unit of privacy for tables in which a person may have several rows: all rows with the same value in a column.

    At most `max_rows` rows of every unit, drawn at random, are counted. Neighbouring tables differ by adding or
    removing all rows of one unit. Every mechanism runs at ε/`max_rows`, and ε is charged (docs/mathematics.md, fact 7).

    Attributes
    ----------
    column : str
        The column that identifies the person, such as ``patient_id``. It is neither an attribute nor the label, and its
        values are never released.
    max_rows : int
        The maximum number of counted rows of a unit.

    Raises
    ------
    ValueError
        If `column` is not text, or `max_rows` is not a whole number from 1 to 10,000.

    Examples
    --------
    >>> print(Unit("patient", 3).neighbours)
    tables that differ by adding or removing all rows of one patient; at most 3 of its rows, drawn at random, are used
    """

    column: str
    max_rows: int

    def __post_init__(self) -> None:
        if not (isinstance(self.column, str) and 0 < len(self.column) <= LONGEST_TEXT):
            raise ArgumentError(f"column must be the name of a column, got {describe_argument(self.column)}.")
        object.__setattr__(self, "max_rows", check_integer("max_rows", self.max_rows, 1))
        if self.max_rows > MOST_ROWS:
            raise ArgumentError(f"max_rows must be a whole number <= {MOST_ROWS:,}, got {self.max_rows}.")

    @property
    def name(self) -> str:
        """The unit in words."""
        return wording.of_unit(self)

    @property
    def neighbours(self) -> str:
        """The neighbouring relation in words."""
        return wording.neighbours(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the unit as JSON-ready data."""
        return {"column": self.column, "max_rows": self.max_rows}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read a unit that `to_dict` wrote; ValueError, KeyError or TypeError for other data."""
        unit = cls(**data)
        if unit.to_dict() != data:
            raise ArgumentError("a unit must be a mapping with the keys column (text) and max_rows (a whole number).")
        return unit


def rows_of(unit: Unit | None) -> int:
    return 1 if unit is None else unit.max_rows


def group_loss(epsilon: Fraction, delta: Fraction, rho: Fraction | None, rows: int) -> Loss:
    """Return the loss for a unit of k rows of a release that costs ε and ρ for a row: kε and k²ρ."""
    # Dwork and Roth, The Algorithmic Foundations of Differential Privacy, 2014, Theorem 2.2; Bun and Steinke,
    # Concentrated Differential Privacy, 2016, Proposition 1.9. Noise with a δ is already scaled to the unit, and its
    # amounts hold for a unit (`GaussianCounts.rows`).
    if delta:
        return epsilon, delta, rho
    return epsilon * rows, delta, None if rho is None else rho * rows**2


def group_privacy(epsilon: Fraction, delta: Fraction, rho: Fraction | None, rows: int) -> Loss:
    """Return the guarantee for k rows that follows from the guarantee for one row: kε, k·e^((k-1)ε)·δ and k²ρ."""
    # δ: Vadhan, The Complexity of Differential Privacy, 2017, Lemma 2.2. ε and ρ: as in `group_loss`, which applies to
    # releases whose noise was scaled to a unit of k rows.
    exponent = float((rows - 1) * epsilon)
    factor = rows * exp(exponent) * (1 + 1e-12) if exponent < _LARGEST_EXPONENT else inf  # rounded up
    group_delta = delta
    if rows > 1 and delta:
        group_delta = Fraction(1) if factor == inf else min(delta * Fraction(factor), Fraction(1))
    return epsilon * rows, group_delta, None if rho is None else rho * rows**2


def loss_of(mechanism: Any, rows: int) -> Loss:
    """Return the privacy loss of a mechanism for a unit of at most `rows` rows."""
    if isinstance(mechanism, GaussianCounts):
        if mechanism.rows != rows:
            raise ArgumentError(f"expected noise for units of {rows} rows, got noise for {mechanism.rows}.")
        return mechanism.epsilon, mechanism.delta, mechanism.rho
    if rows > 1 and mechanism.delta:
        problem = f"this mechanism has a proof for single rows, and none for units of {rows} rows"
        raise ArgumentError(f"{problem}. Use a unit with max_rows=1, or another model.")
    return group_loss(mechanism.epsilon, mechanism.delta, mechanism.rho, rows)
