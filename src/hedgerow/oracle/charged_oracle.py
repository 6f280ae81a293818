"""Base class of oracles that answer a limited number of questions, and record what was charged for them."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from hedgerow.hypotheses.read import HypothesisCharges
from hedgerow.oracle.release import Form, Release
from hedgerow.privacy.charge import Charge, renewed, unit_of
from hedgerow.privacy.process import OfOneProcess
from hedgerow.privacy.unit import Unit
from hedgerow.schema.schema import Schema
from hedgerow.schema.targets import Target


@dataclass(frozen=True)
class PriorCosts:
    """Costs of a question beside its own charge: those of its bins, and of the hypothesis that it is about."""

    charges: list[tuple[Charge, Charge]]  # each with a copy that no caller holds
    reserves: list[Charge]  # of the cards of all hypotheses so far
    denials: tuple[str, ...]


class ChargedOracle(OfOneProcess):
    """An oracle with a number of questions, and a record of their charges."""

    _label: Target
    _release: Release
    _unit: Unit | None

    def __init__(self, max_queries: int) -> None:
        super().__init__()
        self._max_queries, self._asked, self._lock = max_queries, 0, threading.Lock()
        self._charges: dict[int, tuple[Charge, Charge]] = {}  # by identity: equal charges count twice
        self._denials: dict[str, None] = {}
        self._reserves: list[Charge] = []  # of the cards of hypotheses

    @property
    def label(self) -> Target:
        """The name of the labels, and the classes, or the number."""
        return self._label

    @property
    def classes(self) -> tuple[Any, ...]:
        """The classes; the second of two is the positive one. Of a number, whether it is high: False and True."""
        return self._label.hypothesis_classes

    @property
    def max_queries(self) -> int:
        """The number of questions that are answered in all."""
        return self._max_queries

    @property
    def queries_left(self) -> int:
        """The number of questions left."""
        return self._max_queries - self._asked

    @property
    def release(self) -> Release:
        """The form in which answers are released."""
        return self._release

    @property
    def unit(self) -> Unit | None:
        """The unit that is protected; None for one row."""
        return self._unit

    def _prior_costs(self, form: Form, own: Charge, bins: Schema, paid: HypothesisCharges) -> PriorCosts:
        """Return the other costs of a question; raises where they do not add up with its own, before it is charged."""
        charges = [*((charge, renewed(charge)) for charge in bins.charges), *paid.charges]
        reserves = [*self._reserves, *paid.foreign(self._charges)]
        unit_of([*(charge for charge, _ in charges), *reserves, own])
        form.reserve(self.queries_left, reserves)
        return PriorCosts(charges, reserves, tuple(paid.denials))

    def _record(self, charges: Iterable[tuple[Charge, Charge]], prior: PriorCosts) -> None:
        """Record charges, a charge that is known by its reasons alone."""
        for charge, made in charges:
            _, before = self._charges.get(id(charge), (charge, None))
            if before is not None:
                made = renewed(before, no_guarantee_reason=made.no_guarantee_reason)
            self._charges[id(charge)] = (charge, made)
        self._denials |= dict.fromkeys(prior.denials)
        self._reserves = prior.reserves
