"""Membership inference attacks: their protocol, a random forest on predictions, and label-only robustness."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, Self, TypeVar

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from hedgerow.audit.inference.labelled import NO_CLASSES, LabelledRows
from hedgerow.boundary.arguments import check_integer
from hedgerow.boundary.arrays import Array, Floats, Index
from hedgerow.errors import ArgumentError, ArgumentTypeError, DomainError
from hedgerow.schema.booleans import boolean_schema
from hedgerow.schema.schema import Schema
from hedgerow.text.messages import describe_argument


@dataclass(frozen=True, repr=False, eq=False)
class Attempt:
    """Knowledge of an attacker, and the rows to score.

    Attributes
    ----------
    rows : LabelledRows
        All rows with their labels. The attacker may only read the rows listed below.
    predict, predictions : callable, and ndarray of shape (n_rows,)
        The model as a black box, which predicts the class of each row of a table; its predictions for all rows.
    members, non_members, suspects : ndarray of int
        Training rows and held-out rows whose membership the attacker knows; rows of unknown membership, to be scored.
    schema : Schema or None
        The schema of the model, if it has one.
    rng : numpy.random.Generator
        The source of randomness of the attack.
    is_number : bool, default=False
        Whether the model predicts numbers instead of classes.
    """

    rows: LabelledRows
    predict: Callable[[Any], Array]
    predictions: Array
    members: Index
    non_members: Index
    suspects: Index
    schema: Schema | None
    rng: np.random.Generator
    is_number: bool = False


class Attack(Protocol):
    """Membership inference attack that scores rows: higher scores for likelier members. `str` names it in reports."""

    def scores(self, attempt: Attempt) -> Floats:
        """Return the score of each of ``attempt.suspects``."""
        ...


Chosen = TypeVar("Chosen")


def chosen_attack(attack: str | Chosen, named: Mapping[str, Callable[[], Chosen]], kind: str, scored: str) -> Chosen:
    """Return the attack with a name, or an object with a method `scores` unchanged."""
    if isinstance(attack, str):
        if attack not in named:
            names = ", ".join(sorted(named))
            raise ArgumentError(f"attack must be {kind} or one of {names}; got {describe_argument(attack)}.")
        return named[attack]()
    if isinstance(attack, type) or not callable(getattr(attack, "scores", None)):
        problem = f"attack must be a name or an object with a method scores({scored})"
        raise ArgumentTypeError(f"{problem}, got {describe_argument(attack)}.")
    return attack


@dataclass(frozen=True)
class RandomForestAttack:
    """Membership inference by a random forest on (prediction, true label), fitted on known members and non-members.

    Prediction and label are one-hot encoded. For regressors, the features are the prediction, the true number and the
    absolute error. With the same seed, the scores equal the scores of the Adversarial Robustness Toolbox's
    black-box attack with ``attack_model_type="rf"``, which SSRL used.

    Parameters
    ----------
    trees : int, default=100
        The number of trees of the forest.

    References
    ----------
    Shokri et al., *Membership Inference Attacks Against Machine Learning Models*, S&P 2017. SSRL, Appendix C.2.
    """

    trees: int = 100

    def scores(self, attempt: Attempt) -> Floats:
        """Return the forest's membership probability of each suspect."""
        rows, known = attempt.rows, np.concatenate([attempt.members, attempt.non_members])
        predicted = attempt.predictions
        if attempt.is_number:
            features = np.column_stack([predicted, rows.values, np.abs(predicted - rows.values)])
        else:
            classes = np.unique(np.concatenate([rows.values, predicted]))
            features = np.column_stack([predicted[:, None] == classes, rows.values[:, None] == classes])
        member = np.repeat([1, 0], [len(attempt.members), len(attempt.non_members)])
        seed = int(attempt.rng.integers(2**31))
        forest = RandomForestClassifier(self.trees, random_state=seed).fit(features[known].astype(np.float32), member)
        return forest.predict_proba(features[attempt.suspects].astype(np.float32))[:, 1]

    def __str__(self) -> str:
        return "random forest on (prediction, true label)"


_MOST_ROWS = 100_000  # rows perturbed at a time, which bounds memory
_LEAF = 0.03  # smallest share of the known rows in a leaf of the forest, since robustness has many values


@dataclass(frozen=True)
class LabelOnlyAttack:
    """Membership inference from the predicted labels of perturbed copies of a row.

    A misclassified row has robustness 0. A correctly classified row has robustness ½ plus half the share of its
    perturbed copies that are classified correctly. There are `draws` copies at each distance from 1 to `max_distance`.
    A copy at distance d has values of other bins in d random attributes. The values come from rows that the attacker
    knows, and each bin that occurs there is equally likely. Without a schema, every column is a bit, and a perturbation
    flips it, as in SSRL on one-hot columns.

    A random forest on (prediction, true label, robustness), fitted on the known members and non-members, scores the
    rows. The paper of the attack instead takes robust rows for members. On trees the opposite often holds: an unusual
    member has a small leaf of its own, and is correctly classified but not robust.

    Attributes
    ----------
    schema : Schema, optional
        The attributes. Default: the schema of the attacked model; if it has none, all columns must be booleans or 0/1.
    max_distance, draws : int, default=4 and 10
        The largest number of perturbed attributes, and the number of perturbed copies of each row at each distance.

    References
    ----------
    Choquette-Choo, Tramèr, Carlini and Papernot, *Label-Only Membership Inference Attacks*, ICML 2021. SSRL, Appendix
    C.2.
    """

    schema: Schema | None = None
    max_distance: int = 4
    draws: int = 10

    def __post_init__(self) -> None:
        for name in ("max_distance", "draws"):
            object.__setattr__(self, name, check_integer(name, getattr(self, name), 1))

    def scores(self, attempt: Attempt) -> Floats:
        """Return the forest's membership probability of each suspect."""
        known = np.concatenate([attempt.members, attempt.non_members])
        member = np.repeat([1, 0], [len(attempt.members), len(attempt.non_members)])
        index = np.concatenate([known, attempt.suspects])
        labels, predicted = attempt.rows.values[index], attempt.predictions[index]
        classes = np.unique(np.concatenate([labels, predicted]))
        robustness = self.robustness(attempt, index)
        features = np.column_stack([predicted[:, None] == classes, labels[:, None] == classes, robustness])
        seed = int(attempt.rng.integers(2**31))
        least = math.ceil(_LEAF * len(known))
        forest = RandomForestClassifier(min_samples_leaf=least, random_state=seed).fit(features[: len(known)], member)
        return forest.predict_proba(features[len(known) :])[:, 1]

    def robustness(self, attempt: Attempt, index: Index) -> Floats:
        """Return the robustness of the correct prediction of each of these rows, from 0 to 1."""
        if attempt.is_number:
            raise ArgumentError(f"{NO_CLASSES}; use attack='random-forest' or audit.lira.")
        rows = attempt.rows
        known = np.concatenate([attempt.members, attempt.non_members])
        perturber = Perturber.of(rows, known, self.schema or attempt.schema)
        right = attempt.predictions[index] == rows.values[index]
        result = np.zeros(len(index))
        if right.any():
            result[right] = 0.5 + self._share_right(attempt, perturber, index[right]) / 2
        return result

    def _share_right(self, attempt: Attempt, perturber: "Perturber", index: Index) -> Floats:
        truth, correct = attempt.rows.values[index], np.zeros(len(index))
        distances = range(1, min(self.max_distance, len(perturber)) + 1)
        at_once = max(_MOST_ROWS // len(index), 1)
        for distance in distances:
            for start in range(0, self.draws, at_once):
                copies = min(at_once, self.draws - start)
                perturbed = perturber.draw(np.tile(index, copies), distance, attempt.rng)
                correct += (attempt.predict(perturbed).reshape(copies, -1) == truth).sum(axis=0)
        return correct / (self.draws * len(distances))

    def __str__(self) -> str:
        return f"label-only, up to {self.max_distance} attributes perturbed, {self.draws} copies each"


@dataclass(frozen=True, repr=False, eq=False)
class Donors:
    """Rows from which other values of an attribute are drawn."""

    bins: Index  # for every row of the table, the index of its bin among the donors' bins; -1 if no donor has it
    order: Index  # the donors, sorted by bin
    starts: Index  # the first donor of each bin in `order`
    counts: Index  # the number of donors of each bin

    @classmethod
    def of(cls, bins: Index, known: Index) -> Self:
        present, starts, counts = np.unique(np.sort(bins[known]), return_index=True, return_counts=True)
        place = np.full(int(bins.max()) + 1, -1)
        place[present] = np.arange(len(present))
        return cls(place[bins], known[np.argsort(bins[known], kind="stable")], starts, counts)

    def draw(self, rows: Index, rng: np.random.Generator) -> Index:
        """Draw, for each row, a donor in another bin: first the bin, uniformly, then one of its donors."""
        own = self.bins[rows]
        bin = rng.integers(len(self.counts) - (own >= 0))
        bin += (own >= 0) & (bin >= own)
        return self.order[self.starts[bin] + rng.integers(self.counts[bin])]


@dataclass(frozen=True, repr=False, eq=False)
class Perturber:
    """Sampler of perturbed copies of rows, with other values in a given number of attributes."""

    rows: LabelledRows
    schema: Schema  # values in the same bin count as equal
    donors: Mapping[str, Donors]  # the donors of each attribute that can be perturbed

    @classmethod
    def of(cls, rows: LabelledRows, known: Index, schema: Schema | None) -> Self:
        """Return a sampler that draws values from the known rows; without a schema, every column is a bit."""
        attributes = boolean_schema(rows.table.column_names, rows.labels) if schema is None else schema
        problem = None
        try:
            bins = attributes.encode(rows.table)
        except DomainError as error:
            if schema is not None:
                raise
            problem, bins = error.column, {}
        if problem is not None:
            expected = "without a schema, all columns must be booleans or 0 and 1"
            raise DomainError(f"{expected}; pass LabelOnlyAttack(schema).", column=problem)
        donors = {name: Donors.of(codes.astype(np.intp), known) for name, codes in bins.items()}
        usable = {name: own for name, own in donors.items() if len(own.counts) > 1}
        if not usable:
            raise ArgumentError("the known rows do not differ in any attribute, so none can be perturbed.")
        return cls(rows, attributes, usable)

    def __len__(self) -> int:
        return len(self.donors)

    def draw(self, index: Index, distance: int, rng: np.random.Generator) -> Any:
        """Return a perturbed copy of each row, with other values in `distance` random attributes."""
        order = rng.random((len(index), len(self))).argpartition(distance - 1, axis=1)[:, :distance]
        changes = np.zeros((len(index), len(self)), dtype=bool)
        np.put_along_axis(changes, order, True, axis=1)
        sources: dict[str, Index] = {}
        for place, (name, donors) in enumerate(self.donors.items()):
            changed = np.flatnonzero(changes[:, place])
            if len(changed):
                sources[name] = index.copy()
                sources[name][changed] = donors.draw(index[changed], rng)
        return self.rows.mixed(index, sources, self.schema)
