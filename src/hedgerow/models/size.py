"""Sizes of released models, which measure how much a person has to read."""

import math
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from hedgerow.text.messages import number_of


@dataclass(frozen=True)
class SmallestShare:
    """A lower bound on the share of the rows in every leaf, from the released counts.

    Attributes
    ----------
    share : float
        The share, from 0 to 1; 0 if a leaf may have no rows.
    confidence : float
        The probability, over the noise on the counts, that every leaf has at least this share; 1 for exact counts.
    """

    share: float
    confidence: float

    def words(self, subject: str) -> str:
        """Return the clause about the leaves; empty if the bound is 0."""
        percent = 100 * self.share
        shown = math.floor(percent) if percent >= 1 else math.floor(10 * percent) / 10
        if not shown:
            return ""
        confidence = "" if self.confidence == 1 else f" ({100 * self.confidence:g} % confidence)"
        return f"; {subject} at least {shown:g} % of the rows{confidence}"


class ModelSize(ABC):
    """Base class of the sizes of released models; `str` returns a phrase for people."""

    parts: ClassVar[str]  #: the parts that a person reads: leaves, rules, bins or trees

    @property
    @abstractmethod
    def n_parts(self) -> int:
        """The number of these parts."""

    def to_dict(self) -> dict[str, Any]:
        """Return the size as JSON-ready data."""
        return asdict(self)  # pyright: ignore[reportArgumentType] -- every subclass is a dataclass


@dataclass(frozen=True)
class TreeSize(ModelSize):
    """Size of a tree.

    Attributes
    ----------
    leaves : int
        The number of leaves.
    depth : int
        The number of tests on the longest path.
    smallest : SmallestShare or None
        A lower bound on the share of the rows in every leaf. None if counts were not released for every leaf, or their
        noise is unknown.

    Examples
    --------
    >>> print(TreeSize(leaves=6, depth=3, smallest=SmallestShare(0.0213, 0.95)))
    tree with 6 leaves, depth 3; every leaf has at least 2 % of the rows (95 % confidence)
    """

    leaves: int
    depth: int
    smallest: SmallestShare | None = None
    parts: ClassVar[str] = "leaves"

    @property
    def n_parts(self) -> int:
        return self.leaves

    def __str__(self) -> str:
        support = "" if self.smallest is None or self.leaves == 1 else self.smallest.words("every leaf has")
        return f"tree with {number_of(self.leaves, 'leaf', 'leaves')}, depth {self.depth}{support}"


@dataclass(frozen=True)
class RuleListSize(ModelSize):
    """Size of a rule list.

    Attributes
    ----------
    rules : int
        The number of rules, including the default rule.
    conditions : int
        The number of conditions of the longest rule.
    smallest : SmallestShare or None
        A lower bound on the share of the rows that each rule decides. None if counts were not released for every rule,
        or their noise is unknown.

    Examples
    --------
    >>> print(RuleListSize(rules=4, conditions=2))
    rule list with 4 rules, at most 2 conditions each
    """

    rules: int
    conditions: int
    smallest: SmallestShare | None = None
    parts: ClassVar[str] = "rules"

    @property
    def n_parts(self) -> int:
        return self.rules

    def __str__(self) -> str:
        if self.rules == 1:
            return "rule list with the default rule only"
        support = "" if self.smallest is None else self.smallest.words("every rule decides")
        conditions = f"at most {number_of(self.conditions, 'condition')} each"
        return f"rule list with {self.rules} rules, {conditions}{support}"


@dataclass(frozen=True)
class ScorecardSize(ModelSize):
    """Size of a scorecard.

    Attributes
    ----------
    attributes : int
        The number of attributes with points.
    bins : int
        The number of printed lines with points; neighbouring intervals with the same points share a line.
    lowest, highest : int
        The lowest and the highest points of a bin.

    Examples
    --------
    >>> print(ScorecardSize(attributes=5, bins=18, lowest=-12, highest=20))
    scorecard with 5 attributes, 18 bins, points from -12 to 20
    """

    attributes: int
    bins: int
    lowest: int
    highest: int
    parts: ClassVar[str] = "bins"

    @property
    def n_parts(self) -> int:
        return self.bins

    def __str__(self) -> str:
        if not self.attributes:
            return "scorecard without attributes"
        parts = f"{number_of(self.attributes, 'attribute')}, {number_of(self.bins, 'bin')}"
        return f"scorecard with {parts}, points from {self.lowest} to {self.highest}"
