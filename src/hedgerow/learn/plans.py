"""Plans of private fits: greedy growth, or a draw from all models, with their shares of ε."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ArgumentError
from hedgerow.learn.base import Learned
from hedgerow.learn.blocks import ListDraw, TreeDraw, draw_list, draw_tree, reachable_rules
from hedgerow.learn.greedy import PrivateChoice, PrivateTests, grow, grow_tree
from hedgerow.learn.learned import LEAF_SHARE, LearnedList, LearnedTree, release_leaf_counts, release_tree_counts
from hedgerow.learn.search.cost import Cost
from hedgerow.learn.search.losses import Loss
from hedgerow.learn.search.outside import MOST_WEIGHT, DrawChances
from hedgerow.learn.search.sampler import ModelSampler, Progress, conditioned
from hedgerow.learn.search.space import Space
from hedgerow.privacy.exponential_mechanism import ModelDraw
from hedgerow.privacy.gate import Gate
from hedgerow.privacy.gini import SENSITIVITY
from hedgerow.privacy.noise import DiscreteLaplace, NoiseSource, PermuteAndFlip, Siblings
from hedgerow.privacy.zcdp import pure_rho
from hedgerow.schema.candidates import Antecedent, Candidates
from hedgerow.tally import Tally


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The plan of a private fit, made from public values alone; unless it says otherwise, its guarantee is proven."""

    epsilon: Fraction  # the privacy loss of the whole model
    delta: Fraction = Fraction(0)
    notes: tuple[str, ...] = ()  # notes on the card
    cost: Cost | None = None  # of an exact search
    model: ClassVar[str]  # the kind of model: "rule list", "tree" or "scorecard"

    @property
    def rho(self) -> Fraction | None:
        """The most that the model costs in ρ (zCDP); None for what follows from ε."""
        return None

    @property
    def no_guarantee_reason(self) -> str | None:
        """Why a model of this kind has no guarantee; None where it has one."""
        return None

    def prepare(self, noise: NoiseSource) -> None:
        """Raise ValueError for an epsilon below the supported minimum: before anything is charged."""
        raise NotImplementedError

    def learn(self, tally: Tally, gate: Gate, progress: Progress) -> Learned:
        """Learn from the rows; every release is charged to the gate's budget before it is made."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class GreedyList(Plan):
    """A rule list grown rule by rule, each chosen by permute-and-flip; four fifths of ε are for the choices."""

    candidates: Candidates  # the candidate rules
    most: int  # the most rules that are chosen
    model = "rule list"

    @property
    def _each(self) -> Fraction:
        return self.epsilon * (1 - LEAF_SHARE) / max(self.most, 1)

    def prepare(self, noise: NoiseSource) -> None:
        """Raise ValueError for an epsilon below the supported minimum."""
        noise.prepare(PermuteAndFlip(self._each, SENSITIVITY))
        noise.prepare(DiscreteLaplace(self.epsilon * LEAF_SHARE))

    def learn(self, tally: Tally, gate: Gate, progress: Progress) -> LearnedList:  # noqa: ARG002
        """Choose the rules, then release the counts with what is left of ε.

        Rules that no row can reach by the schema, and last rules with the label of the default rule, are left out.
        """
        antecedents = grow(tally, self.candidates, self.most, PrivateChoice(gate, self._each))
        antecedents = [antecedents[place] for place in reachable_rules(tally.schema, antecedents)[:-1]]
        counts = release_leaf_counts(tally, antecedents, gate, gate.remaining)
        while antecedents and counts[-2].argmax() == counts[-1].argmax():
            counts = np.vstack([counts[:-2], counts[-2:].sum(axis=0)])
            del antecedents[-1]
        return LearnedList(antecedents, counts)


@dataclass(frozen=True, kw_only=True)
class GreedyTree(Plan):
    """A tree grown level by level, each test chosen by permute-and-flip; four fifths of ε are for the choices."""

    space: Space  # the tests to choose from
    depth: int  # how many may be taken one after the other
    model = "tree"

    @property
    def _each(self) -> Fraction:
        return self.epsilon * (1 - LEAF_SHARE) / max(self.depth, 1)

    def prepare(self, noise: NoiseSource) -> None:
        """Raise ValueError for an epsilon below the supported minimum."""
        noise.prepare(Siblings(PermuteAndFlip(self._each, SENSITIVITY)))
        noise.prepare(DiscreteLaplace(self.epsilon * LEAF_SHARE))

    def learn(self, tally: Tally, gate: Gate, progress: Progress) -> LearnedTree:  # noqa: ARG002
        """Choose the tests, then release the counts with what is left of ε."""
        tree = grow_tree(tally, self.space, self.depth, PrivateTests(gate, self._each))
        counts = release_tree_counts(tally, self.space, tree, gate, gate.remaining)
        return LearnedTree(self.space, tree, counts)


@dataclass(frozen=True, eq=False, repr=False)
class DrawProbabilities:
    """Probabilities of a draw on one table. **Private**: a function of the rows, for the curator only."""

    chances: DrawChances  # how likely each value is for each pattern
    loss: Loss  # the loss of a row
    weight: Fraction  # the weight of a loss of 1: what is left of the draw's share of ε after rounding
    score: str  # the loss in words, and what a loss of 1 is
    for_counts: Fraction  # the share of ε of the counts that are released too; 0 where none are
    options: tuple[Antecedent, ...]  # the rules, or tests


@dataclass(frozen=True, kw_only=True)
class DrawPlan(Plan):
    """Base class of plans that draw a model: the cost, and a fifth of ε for the counts if they are released."""

    release_counts: bool  # whether the counts are released
    draw: ListDraw | TreeDraw

    def probabilities(
        self, tally: Tally, progress: Progress, given: Mapping[int, NDArray[np.bool_]]
    ) -> DrawProbabilities:
        """Return how likely the draw is to give each value to each pattern of a table. **Private**, without noise.

        Given that the leaves of some patterns have some of the values, as `conditioned` has it.
        """
        if len(self.draw.blocks) > 1:
            raise ArgumentError(
                f"expected a model that is drawn as a whole, got one drawn in {len(self.draw.blocks)} blocks, of which "
                "no exact chances are available; ask for a smaller model, with search='exact' and lookahead=None."
            )
        draw, mechanism = self.draw.block(0), self.mechanism
        if mechanism.weight > MOST_WEIGHT:
            raise ArgumentError(
                f"expected a draw with a weight of {MOST_WEIGHT} at most, got {float(mechanism.weight):.6g}: the "
                "chances of its models are too small for float64; use a smaller epsilon."
            )
        if given:
            tally, draw = conditioned(tally, draw, mechanism.weight, given)
        sampler = ModelSampler(tally, draw, draw.valued_states(), progress)
        chances = sampler.chances(float(mechanism.weight))
        left = self.epsilon * LEAF_SHARE if self.release_counts else Fraction(0)
        loss, options = self.draw.block(0).loss, draw.space.antecedents
        return DrawProbabilities(chances, loss, mechanism.weight, mechanism.score, left, options)

    @property
    def mechanism(self) -> ModelDraw:
        """The draw of the first block."""
        return self.draw.block(0).mechanism(self._for_draw / len(self.draw.blocks))

    @property
    def rho(self) -> Fraction:
        """The ρ of all draws and of the counts."""
        blocks = range(len(self.draw.blocks))
        each = self._for_draw / len(blocks)
        draws = sum((self.draw.block(number).mechanism(each).rho for number in blocks), Fraction(0))
        return draws + pure_rho(self.epsilon - self._for_draw)

    @property
    def _for_draw(self) -> Fraction:
        return self.epsilon * (1 - LEAF_SHARE if self.release_counts else 1)

    def prepare(self, noise: NoiseSource) -> None:
        """Raise ValueError for an epsilon below the supported minimum."""
        if self.release_counts:
            noise.prepare(DiscreteLaplace(self.epsilon * LEAF_SHARE))
        noise.prepare(self.mechanism)


@dataclass(frozen=True, kw_only=True)
class DrawnList(DrawPlan):
    """A rule list drawn with its labels or probabilities, in one block or several."""

    draw: ListDraw  # what is drawn from
    model = "rule list"

    def learn(self, tally: Tally, gate: Gate, progress: Progress) -> LearnedList:
        """Draw the list, then release the counts if `release_counts`."""
        antecedents, values = draw_list(tally, self.draw, gate, self._for_draw, progress)
        left = self.epsilon - self._for_draw
        counts = release_leaf_counts(tally, antecedents, gate, left) if self.release_counts else None
        return LearnedList(antecedents, counts, values, self.draw.block(0).loss)


@dataclass(frozen=True, kw_only=True)
class DrawnTree(DrawPlan):
    """A tree drawn with its labels or probabilities."""

    draw: TreeDraw  # what is drawn from
    model = "tree"

    def learn(self, tally: Tally, gate: Gate, progress: Progress) -> LearnedTree:
        """Draw the tree, then release the counts if `release_counts`."""
        space, tree = self.draw.space, draw_tree(tally, self.draw, gate, self._for_draw, progress)
        left = self.epsilon - self._for_draw
        counts = release_tree_counts(tally, space, tree, gate, left) if self.release_counts else None
        return LearnedTree(space, tree, counts, self.draw.block(0).loss)
