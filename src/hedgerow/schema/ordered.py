"""Attributes whose bins are listed values in an order: grades, stages, answers of a questionnaire."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import ClassVar

from hedgerow.errors import SchemaError
from hedgerow.schema.listed import Categorical
from hedgerow.schema.literals import Extent, Literal
from hedgerow.schema.numbers import MOST_ENDS
from hedgerow.text.days import as_day
from hedgerow.text.values import Value


@dataclass(frozen=True)
class Ordered(Categorical):
    """One of a fixed set of values that are in an order, each text or a whole number.

    Cells are read as those of `Categorical`, tests are along the order, as those of numbers: ``stage <= II``. In place
    of an interval with one value there is ``stage = II``, which is no test of a tree. Scorecards are smooth along the
    order.

    Attributes
    ----------
    values : tuple of str or int
        The values, two or more, from the first to the last of their order.

    Raises
    ------
    SchemaError
        If there are fewer than two values, one more than once, or others than text and whole numbers.

    Examples
    --------
    >>> stage = Ordered(("I", "II", "III", "IV"))
    >>> [str(literal) for literal in stage.literals("stage", negations=True)][:4]
    ['stage <= I', 'stage <= II', 'stage <= III', 'stage > I']
    >>> [str(literal) for literal in stage.literals("stage", negations=True)][6:]
    ['stage = II', 'stage = III', 'I < stage <= III']
    """

    kind: ClassVar[str] = "ordered"
    operators: ClassVar[tuple[str, ...]] = ("=", "!=", "<=", ">", "between")
    ordered: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.values) < 2:
            raise SchemaError("expected two or more values in an order, got one.", key="values")

    @property
    def indicators(self) -> tuple[tuple[str, Value | None], ...]:
        return tuple(("<=", as_day(value)) for value in self.values[:-1])

    def _own_literals(self, name: str, *, negations: bool) -> list[Literal]:  # noqa: ARG002 -- none is a negation
        below, n = self.values[:-1], self.n_known
        single = [Literal(name, operator, (value,)) for operator in ("<=", ">") for value in below]
        single += [Literal(name, "=", (value,)) for value in below[1:]]
        wide = [pair for pair in combinations(range(n - 1), 2) if pair[1] - pair[0] > 1] if n - 1 <= MOST_ENDS else []
        return single + [Literal(name, "between", (self.values[low], self.values[high])) for low, high in wide]

    def _n_own_literals(self, *, negations: bool) -> int:  # noqa: ARG002 -- none is a negation
        n = self.n_known
        return 2 * (n - 1) + (n - 2) + (comb(n - 2, 2) if n - 1 <= MOST_ENDS else 0)

    def _own_literals_on(self, name: str, extent: Extent) -> list[Literal]:
        start, stop = extent.start, extent.stop
        if extent.inverted or start == stop or stop - start == self.n_known:
            return []
        only = extent.only_known
        inner = start > 0 and stop < self.n_known
        return [Literal(name, "=", (self.values[start],)) if inner and only else self._along(name, start, stop)]

    def _along(self, name: str, start: int, stop: int) -> Literal:
        """Return the comparison that is true on some values in a row and on no others."""
        if start == 0:
            return Literal(name, "<=", (self.values[stop - 1],))
        if stop == self.n_known:
            return Literal(name, ">", (self.values[start - 1],))
        return Literal(name, "between", (self.values[start - 1], self.values[stop - 1]))

    def _run_of(self, literal: Literal) -> tuple[int, int]:
        """Return the values with which a literal of this kind's own operators compares, as a run of bins."""
        places = [self.place(literal, position) for position in range(len(literal.operands))]
        match literal.operator:
            case "<=":
                return 0, places[0] + 1
            case ">":
                return places[0] + 1, self.n_known
            case "between":
                return places[0] + 1, places[1] + 1
            case _:
                return places[0], places[0] + 1

    def _known_extent(self, literal: Literal) -> tuple[int, int, bool]:
        return *self._run_of(literal), literal.operator == "!="

    def values_of(self, literal: Literal) -> Sequence[Value]:
        """Return the declared values that a literal compares with: of ``<=``, ``>`` and ``between`` all of the run."""
        return self.values[slice(*self._run_of(literal))] if literal.operator in self.operators else ()

    def normalised(self, literal: Literal) -> Literal:
        """Return the literal as a comparison along the order, but one with ``!=``, which is none."""
        if literal.operator not in self.operators or literal.operator == "!=":
            return literal
        start, stop = self._run_of(literal)
        return self._along(literal.attribute, start, stop) if start < stop else literal

    def run_name(self, start: int, stop: int) -> str:
        if start >= self.n_known or stop - start == 1:
            return super().run_name(start, stop)
        return f"{self.values[start]} to {self.values[stop - 1]}"

    def run_literal(self, name: str, start: int, stop: int) -> Literal:
        found = self._own_literals_on(name, Extent(self.n_known, start, stop))
        return found[0] if found else Literal(name, "known")
