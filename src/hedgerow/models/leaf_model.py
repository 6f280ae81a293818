"""Models with leaves: released models that route each row to one leaf, by decision paths."""

import math
import warnings
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar
from xml.etree.ElementTree import Element

import numpy as np
import pyarrow as pa

from hedgerow.boundary.arrays import Array, Floats, Index, Whole
from hedgerow.errors import ArgumentError, ArgumentTypeError, LabelsOnlyWarning
from hedgerow.models.caveats import Caveat, leaf_caveats
from hedgerow.models.conditions import Pieces, first_that_holds, literals_of
from hedgerow.models.count_noise import CONFIDENCE
from hedgerow.models.importance import Division, leaf_importances
from hedgerow.models.leaf import commented
from hedgerow.models.leaf_groups import LeafGroup
from hedgerow.models.leaf_release import LeafRelease, rows_text
from hedgerow.models.model import Listing, Model, RowDecisions, class_titles
from hedgerow.models.pmml import leaf_node
from hedgerow.models.python_source import python_conditions, python_module
from hedgerow.models.score_bands import ScoreBands, label_bands, outcome_bands
from hedgerow.schema import Literal, Number
from hedgerow.text.markup import Html, element
from hedgerow.text.values import printable, shown_text

_NO_COUNTS = "probabilities were drawn with the model, for a leaf of hardly any row too: no counts were released"
_UNKNOWN_NOISE = "the privacy card does not state the noise on the counts: none is known to be exact"
_MOST_NAMED = 3  # classes that the line of a folded group names
NotedLines = list[tuple[str, LeafGroup | None]]
"""Lines of text, each with the group of leaves that it predicts, if it does."""
_ENDS = (0.05, 0.95)  # quantiles of a number that an explanation has


class LeafModel(Model):
    """A released model that routes every row to one leaf: a rule list or a tree."""

    leaf_name: ClassVar[str]  #: the name of a leaf, in records and in columns of predictions
    exclusive: ClassVar[bool]  #: True if its paths exclude one another, so that their order does not matter
    listing_title: ClassVar[str]  #: the title of the table of its leaves
    decides_by: ClassVar[str] = "routes each row to one leaf"

    @property
    @abstractmethod
    def conditions(self) -> tuple[str, ...]:
        """The condition of each leaf, in words."""

    def __len__(self) -> int:
        return len(self.leaves)

    @property
    def _costs_entry(self) -> dict[str, Any]:
        """The entry of the file with the costs that the fit minimised; empty if there are none."""
        return {} if self.costs is None else {"costs": [list(line) for line in self.costs]}

    @cached_property
    def leaf_release(self) -> LeafRelease:
        """All that was released about the leaves, and what follows from it; ValueError if it does not fit."""
        return LeafRelease.of(self.leaves, self.schema.target, self.privacy, self.leaf_name)

    @property
    def probabilities(self) -> Floats:
        """Class probabilities of each leaf, from the release alone, shape ``(n_leaves, n_classes)``.

        Those that leaves have, if any: drawn with the model, or posterior means, given its counts and drawn labels
        (docs/mathematics.md, "Shares of leaves"). Otherwise negative counts count as 0; a leaf whose counts are then
        all 0 has the share of each class in the whole model. A leaf's label without counts has probability 1; where
        counts contradict it, its class and the largest others are averaged until the label is among the most probable
        classes.
        """
        return self.leaf_release.probabilities

    @property
    def predictions(self) -> tuple[Any, ...]:
        """The class each leaf predicts: its label, or else the most probable class, the first of equals.

        Of a number: the mean of its rows as it was released, or else the drawn number, or the mean by the counts.
        """
        return self.leaf_release.predictions

    def _caveats(self) -> Iterator[Caveat]:
        return leaf_caveats(self.leaf_release, self.schema, self.paths, self.costs, exclusive=self.exclusive)

    @property
    def has_probabilities(self) -> bool:
        """True if any leaf has probabilities: drawn with the model, or what follows from its counts and its label."""
        return self.leaf_release.has_probabilities

    @property
    def has_shares(self) -> bool:
        return self.leaf_release.has_some_shares

    @property
    def _number(self) -> Number | None:
        return self.schema.target.as_number

    @cached_property
    def _literals(self) -> dict[Literal, None]:
        return literals_of(self.paths)

    @property
    def used_attributes(self) -> tuple[str, ...]:
        used = {literal.attribute for literal in self._literals}
        return tuple(name for name in self.schema.names if name in used)

    @property
    def outcomes(self) -> tuple[Any, ...]:
        return self.predictions

    @property
    @abstractmethod
    def _divisions(self) -> tuple[Division, ...]:
        """The tests, each with the leaves that it divides."""

    def feature_importances(self) -> dict[str, float]:
        return leaf_importances(self.leaf_release, self._divisions)

    def outcomes_of(self, bins: Mapping[str, Whole], n_rows: int) -> Index:
        return first_that_holds(self.paths, self.schema, bins, n_rows)

    def _note(self, group: LeafGroup) -> str | None:
        """Return the words on a group's rows, and how many leaves it has; None if there is nothing to say."""
        words = self.leaf_release.support(group.first, group.stop).text
        if group.size == 1:
            return words or None
        head = f"{group.size:,} {self._leaves_name}" + ("" if group.is_unsupported else " not shown")
        return f"{head}, together {words}" if words else head

    def _prediction_text(self, group: LeafGroup) -> str:
        """Return what the leaves of a group predict: of several classes, the first ones; of numbers, their range."""
        said = set(self.predictions[group.first : group.stop])
        if self._number is not None:
            ends = dict.fromkeys(shown_text(self._rounded(end)) for end in (min(said), max(said)))
            return " to ".join(ends)
        if len(said) == 1:
            return shown_text(said.pop())
        names = [shown_text(value) for value in self.schema.classes if value in said]
        if len(names) > _MOST_NAMED + 1:
            names[_MOST_NAMED:] = [f"{len(names) - _MOST_NAMED:,} more classes"]
        return " or ".join([", ".join(names[:-1]), names[-1]])

    def _rounded(self, number: float) -> float:
        """Return a mean to about a thousandth of the number's range, and a level as it is."""
        assert self._number is not None
        if number in self.schema.target.values:
            return number
        return round(number, max(3 - math.ceil(math.log10(self._number.high - self._number.low)), 0))

    @property
    def _leaves_name(self) -> str:
        return "leaves" if self.leaf_name == "leaf" else f"{self.leaf_name}s"

    @abstractmethod
    def _shown_groups(self, *, is_full: bool) -> list[LeafGroup]:
        """Return the groups of leaves that a page shows, or each leaf by itself."""

    @abstractmethod
    def _condition(self, group: LeafGroup) -> str:
        """Return the condition of a group in words."""

    def _noted(self, lines: NotedLines) -> str:
        """Return lines with the notes on their groups, and remarks below them."""
        notes = [group and self._note(group) for _, group in lines]
        remarks = self._remarks([group for _, group in lines if group is not None])
        return "\n".join([commented([text for text, _ in lines], notes), *(f"({remark})" for remark in remarks)])

    def _remarks(self, groups: Sequence[LeafGroup]) -> list[str]:
        """Return remarks below these groups: which leaves are folded, and what is known of the rows."""
        return [*self._folding(groups), *self._remarks_on_rows]

    def _folding(self, groups: Sequence[LeafGroup]) -> list[str]:
        folded = [group.size for group in groups if group.size > 1]
        if not folded:
            return []
        what = f"{sum(folded):,} of {len(self):,} {self._leaves_name} are folded"
        return [f"{what}; to_text() and `hedgerow show --full` show every {self.leaf_name}"]

    @property
    def _remarks_on_rows(self) -> list[str]:
        release = self.leaf_release
        if not release.has_rows:
            return [_NO_COUNTS] if release.has_probabilities and self.privacy.charges else []
        if release.noise is None:
            return [_UNKNOWN_NOISE]
        if not release.is_noisy:
            return []
        of_classes, of_number = "ranges allow for the noise on the counts", "rows are rounded as the noise asks"
        how = f"shares of the predicted class; {of_classes}" if self._number is None else of_number
        return [f"{how}, {100 * CONFIDENCE:g} %; the file has the released numbers"]

    @property
    def _caption(self) -> str:
        headline = printable(self.privacy.headline)
        return headline if self.leaf_release.has_rows else f"{headline}; no counts were released"

    def to_python(self) -> str:
        """Return the source of a Python function ``predict(row)``; see `Model.to_python`."""
        written = python_conditions(self.schema)
        return python_module(self._python(written), self._guarantee, self.schema, written)

    @abstractmethod
    def _python(self, written: Pieces[Literal]) -> list[str]:
        """Return the lines of the body of ``predict``, which tests literals as they are written."""

    def _pmml_node(self, number: int) -> Element:
        release = self.leaf_release
        shares = release.probabilities[number].tolist() if release.has_all_shares else ()
        return leaf_node(release.counts_of(number), release.predictions[number], shares, self.schema.target)

    def _shown_levels(self, groups: Sequence[LeafGroup]) -> tuple[Any, ...]:
        """Return the classes, or the numbers that any of these groups predicts by itself."""
        if self._number is None:
            return self.schema.classes
        said = (set(self.predictions[group.first : group.stop]) for group in groups)
        return tuple(sorted({min(one) for one in said if len(one) == 1}))

    @property
    def _text(self) -> str:
        return self._noted(self._lines(is_full=False))

    @property
    def _full_text(self) -> str:
        return self._noted(self._lines(is_full=True))

    @abstractmethod
    def _lines(self, *, is_full: bool) -> NotedLines:
        """Return lines of text, each with the group that it predicts, if it does."""

    def apply(self, X: Any) -> Index:
        """Return the leaf of each row, shape ``(n_rows,)``, from 0 in the order of `leaves`; for `X` see `predict`."""
        return self.outcomes_of(*self._encoded(X))

    def predict_proba(self, X: Any) -> Floats:
        """Return the class probabilities of each row, those of its leaf; SchemaError where a number is predicted.

        Warns
        -----
        LabelsOnlyWarning
            If nothing was released but labels, so that each probability is 0 or 1.
        """
        self.schema.classes  # noqa: B018 -- raises for a number
        if not self.has_shares:
            expected = f"expected a {self.kind} with probabilities or counts"
            got = "got one with labels alone, whose probabilities are 0 or 1"
            todo = "learn it with release_counts=True, or with objective='mixed'."
            warnings.warn(f"{expected}, {got}; {todo}", LabelsOnlyWarning, stacklevel=2)
        return self.probabilities[self.apply(X)]

    def predict_quantiles(self, X: Any, quantiles: Sequence[float] = (0.05, 0.5, 0.95)) -> Floats:
        """Return quantiles of the number in the leaf of each row, shape ``(n_rows, n_quantiles)``.

        They are read from the released counts by level; within a level, all numbers are taken as equally likely. For
        `X` see `predict`.

        Parameters
        ----------
        X : pandas, polars or pyarrow frame, or array of shape (n_rows, n_attributes)
            Rows. Of a frame only the columns that the model uses are needed.
        quantiles : sequence of float, default=(0.05, 0.5, 0.95)
            Shares of the rows of a leaf, from 0 to 1.

        Raises
        ------
        TypeError
            If the model predicts classes, or was released without counts.
        ValueError
            If a quantile is not between 0 and 1.
        """
        wanted = np.asarray(quantiles, dtype=np.float64)
        if self._number is None:
            raise ArgumentTypeError(f"expected a {self.kind} of a number with released counts, got one of classes.")
        if not self.has_counts:
            raise self.leaf_release.refused("released counts")
        if wanted.ndim != 1 or not ((wanted >= 0) & (wanted <= 1)).all():
            raise ArgumentError("quantiles must be numbers from 0 to 1, got others.")
        return self._leaf_quantiles(wanted)[self.apply(X)]

    def _leaf_quantiles(self, wanted: Floats) -> Floats:
        """Return quantiles of the number in each leaf, shape ``(n_leaves, n_quantiles)``, by the released counts."""
        assert self._number is not None
        edges = np.array(self._number.column_kind.edges)
        return np.array([_quantiles(shares, edges, wanted) for shares in self.probabilities])

    def get_rules(self) -> list[dict[str, Any]]:
        """Return one record a leaf: number, condition, prediction, its probability, released counts by class.

        The counts are None if none were released. The probability is None if a leaf may have no rows, given the noise
        on its counts, or if neither probabilities nor counts with known noise were released.
        ``pandas.DataFrame(model.get_rules())`` makes a frame of it.
        """
        release, levels, rules = self.leaf_release, self.schema.target.values, list[dict[str, Any]]()
        for place, (condition, prediction) in enumerate(zip(self.conditions, self.predictions, strict=True)):
            counts = release.counts_of(place)
            rules.append(
                {
                    self.leaf_name: place + 1,
                    "condition": condition,
                    "prediction": prediction,
                    "probability": release.support(place, place + 1).probability,
                    "counts": None if counts is None else dict(zip(levels, counts, strict=True)),
                }
            )
        return rules

    def score_bands(self, most: int) -> ScoreBands:
        """Return at most about `most` bands of the leaves' probabilities; of labels alone, one for each class."""
        predicted = [self.schema.classes.index(value) for value in self.predictions]
        if self.leaf_release.has_all_shares:
            bands, places = outcome_bands(predicted, self.probabilities, most)
        else:
            bands, places = label_bands(predicted)
        return ScoreBands(bands, lambda bins, n_rows: places[self.outcomes_of(bins, n_rows)])

    def decisions(self, X: Any) -> RowDecisions:
        """Return what the leaf of each row decides, and its number; for `X` and errors see `predict`."""
        leaves = self.apply(X)
        classes = [self.predictions[leaf] for leaf in leaves.tolist()]
        reasons = {self.leaf_name: leaves + 1}
        return RowDecisions(classes, reasons, self.probabilities[leaves], lambda: self._explained(leaves.tolist()))

    def _explained(self, leaves: Sequence[int]) -> dict[str, Any]:
        rules = self.get_rules()
        found: dict[str, Any] = {"explanation": [rules[leaf]["condition"] for leaf in leaves]}
        if self.has_shares:
            found["probability"] = pa.array([rules[leaf]["probability"] for leaf in leaves], pa.float64())
        if self.leaf_release.has_rows:
            titles = ["rows"] if self._number is not None else class_titles("rows", self.schema.classes)
            for title, counts in zip(titles, zip(*map(self._counts_of, range(len(self))), strict=True), strict=True):
                found[title] = pa.array([counts[leaf] for leaf in leaves], pa.int64())
        if self._number is not None and self.has_counts:
            release = self.leaf_release
            is_hidden = np.array([release.noise is None or release.is_too_few(place) for place in range(len(self))])
            for end, column in zip(_ENDS, self._leaf_quantiles(np.array(_ENDS)).T, strict=True):
                found[f"{100 * end:g} % quantile"] = pa.array(column[leaves], mask=is_hidden[leaves])
        return found

    @property
    def _titles(self) -> list[str]:
        shares = ["probability"] if self.has_shares else []
        counts = ["rows"] if self._number else [f"rows of {shown_text(value)}" for value in self.schema.classes]
        return ["if", "then", *shares, *(counts if self.leaf_release.has_rows else [])]

    def _counts_of(self, place: int) -> Sequence[int | None]:
        """Return the counts of a leaf that are shown: by class, or of a number their sum."""
        if self._number is not None:
            rows = self.leaf_release.rows[place]
            return [rows if rows is None else max(rows, 0)]
        return self.leaf_release.counts_of(place) or [None] * self.schema.target.n_levels

    def _cells(self, group: LeafGroup) -> list[str]:
        """Return the cells of a group in tables, for its share and its rows; or a note in the place of all of them."""
        release = self.leaf_release
        support, counts = release.support(group.first, group.stop), release.counts_of(group.first)
        if group.size > 1 or support.is_too_few:
            return [self._note(group) or ""]
        share = [support.share_shown] if self.has_shares else []
        if not release.has_rows:
            return share
        if self._number is not None:
            return [support.rows_shown]
        if counts is None:
            return [*share, *[""] * self.schema.target.n_levels]
        return [*share, *(rows_text(count, 1, release.noise) for count in counts)]

    def listings(self) -> tuple[Listing, ...]:
        """Return the leaves as a table: condition, class, and what is shown of its share and its released rows."""
        titles, rows = self._titles, list[tuple[str, ...]]()
        for group in self._shown_groups(is_full=True):
            row = (f"{group.stop}. {self._condition(group)}", self._prediction_text(group), *self._cells(group))
            rows.append((*row, *[""] * (len(titles) - len(row))))
        return (Listing(self.listing_title, tuple(titles), tuple(rows)),)

    @property
    def _parts_html(self) -> str:
        groups = self._shown_groups(is_full=False)
        notes_alone = [""] * (len(self._titles) == 2 and any(group.size > 1 for group in groups))
        head = element("tr", *(element("th", name) for name in ["", *self._titles, *notes_alone]))
        table = element("table", element("thead", head), element("tbody", *map(self._html_row, groups)))
        notes = [element("p", text) for text in self._remarks(groups)]
        return "".join([table, *notes])

    def _html_row(self, group: LeafGroup) -> Html:
        number = f"{group.stop}" if group.size == 1 else f"{group.first + 1}–{group.stop}"
        condition = element("td", self._condition(group), style="text-align:left")
        said, cells = element("td", element("b", self._prediction_text(group))), self._cells(group)
        columns = len(self._titles) - 2
        wide = {"colspan": str(columns)} if len(cells) == 1 < columns else {}
        return element("tr", element("td", number), condition, said, *(element("td", cell, **wide) for cell in cells))


def _quantiles(shares: Floats, edges: Floats, wanted: Floats) -> Array:
    """Return the least numbers below which these shares of the rows are, none in a level without rows."""
    held = shares > 0
    ends = np.minimum(np.cumsum(shares[held]), 1.0)
    ends[-1] = 1.0
    places = np.searchsorted(ends, wanted)
    inside = (wanted - (ends - shares[held])[places]) / shares[held][places]
    low, high = edges[:-1][held][places], edges[1:][held][places]
    return low + np.clip(inside, 0.0, 1.0) * (high - low)
