"""What the private estimators share: their budget, their noise, their card, and telling what a search costs."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from fractions import Fraction
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils import Tags, check_random_state

from hedgerow._version import __version__
from hedgerow.bounded import shown_argument
from hedgerow.guard import guarded
from hedgerow.learn.base import TallyEstimator, check_choice
from hedgerow.learn.cost import Cost
from hedgerow.learn.exact import Progress
from hedgerow.privacy.amounts import exact, total
from hedgerow.privacy.budget import Budget
from hedgerow.privacy.card import Charge, PrivacyCard, join_reasons
from hedgerow.privacy.noise import DiscreteLaplace, NoiseSource, SecureNoise, SeededNoise
from hedgerow.schema.schema import Schema

SOFTWARE = f"hedgerow {__version__}"
LEAF_SHARE = Fraction(1, 5)  # of epsilon, for the counts of the leaves
SEARCHES = ("exact", "greedy")
_NOTES = (
    "the names, types and order of the columns count as public, like the schema",
    "one row is one protected unit: a person with k rows in the table is protected with k times the epsilon",
    "errors about values outside the schema, and run time, are for the curator's eyes only: neither is noised",
)


class PrivateEstimator(TallyEstimator):
    """An estimator that spends a privacy budget."""

    epsilon: float | None
    search: str
    release_counts: bool
    stop_probability: float
    budget: Budget | None
    random_state: Any
    verbose: bool

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.epsilon is None:
            raise ValueError("epsilon must be chosen: the privacy loss to spend on this model, such as epsilon=1.0.")
        if exact(self.epsilon, "epsilon") == 0:
            raise ValueError("epsilon must be a number > 0, got 0.")
        check_choice("search", self.search, SEARCHES)
        if not isinstance(self.release_counts, (bool, np.bool_)):
            raise ValueError(f"release_counts must be True or False, got {shown_argument(self.release_counts)}.")
        stop = self.stop_probability
        if isinstance(stop, bool) or not isinstance(stop, Real) or not 0 < float(stop) < 1:
            raise ValueError(f"stop_probability must be between 0 and 1, got {shown_argument(stop)}.")
        if not (self.budget is None or isinstance(self.budget, Budget)):
            raise ValueError(f"budget must be a Budget or None, got {type(self.budget).__name__}.")

    def _noise(self) -> NoiseSource:
        if self.random_state is None:
            return SecureNoise()
        expected = "random_state must be None, a whole number or a numpy.random.RandomState"
        problem = ValueError(f"{expected}, got {shown_argument(self.random_state)}.")
        source = guarded(lambda: check_random_state(self.random_state), problem)
        return SeededNoise(np.random.default_rng(source.randint(np.iinfo(np.int32).max)))

    def _open_budget(
        self, model: str, schema: Schema, noise: NoiseSource, *, delta: Fraction = Fraction(0), void: str | None = None
    ) -> Budget:
        """Charge the shared budget, if there is one, with all of `epsilon`, and return what there is to spend.

        `void` says why a model of this kind has no guarantee; the schema and the noise may have reasons of their own.
        """
        share = Budget(self.epsilon or 0, delta)
        total([*(charge.epsilon for charge in schema.charges), share.epsilon])  # raises now what the card would later
        total([*(charge.delta for charge in schema.charges), share.delta])
        if self.budget is None:
            return share
        purpose = f"{type(self).__name__}: one {model}"
        return self.budget.allocate(share.epsilon, delta, purpose=purpose, void=_void(void, schema, noise))

    def _shares(self, noise: NoiseSource) -> tuple[Fraction, Fraction]:
        """Return what an exact draw spends of ε and what the counts do; too little for the counts raises here."""
        epsilon = Budget(self.epsilon or 0).epsilon
        if not self.release_counts:
            return epsilon, Fraction(0)
        noise.prepare(DiscreteLaplace(epsilon * LEAF_SHARE))
        return epsilon * (1 - LEAF_SHARE), epsilon * LEAF_SHARE

    def _card(
        self,
        schema: Schema,
        share: Budget,
        noise: NoiseSource,
        *,
        void: str | None = None,
        notes: tuple[str, ...] = (),
    ) -> PrivacyCard:
        """Make the card: all that was charged, so that its amounts do not depend on what was released."""
        unused = Charge("reserved and not used", share.remaining, share.remaining_delta)
        return PrivacyCard(
            (*schema.charges, *share.charges, *([unused] if unused.epsilon or unused.delta else [])),
            noise=noise.description,
            software=SOFTWARE,
            void=_void(void, schema, noise),
            notes=_NOTES + notes,
        )

    @contextmanager
    def _searching(self, cost: Cost) -> Generator[Progress]:
        """Tell on stderr what a search costs before it starts and how far it is, if `verbose`."""
        if not self.verbose:
            yield lambda _: None
            return
        from rich.console import Console
        from rich.progress import Progress as Bar

        console = Console(stderr=True)
        console.print(f"exact search: {cost}", highlight=False, soft_wrap=True)
        with Bar(console=console, transient=True, disable=not console.is_terminal) as bar:
            task = bar.add_task("searching", total=cost.states)
            yield lambda done: bar.advance(task, done)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = self.random_state is None
        return tags


def _void(claim: str | None, schema: Schema, noise: NoiseSource) -> str | None:
    """Return why a model has no guarantee, or None: the same on its card and on the budget's record."""
    return join_reasons(claim, schema.void, *(charge.void for charge in schema.charges), noise.void)
