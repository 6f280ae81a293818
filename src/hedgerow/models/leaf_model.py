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
from hedgerow.models.decisions import class_weights
from hedgerow.models.importance import Division, leaf_importances
from hedgerow.models.leaf import commented
from hedgerow.models.leaf_groups import LeafGroup
from hedgerow.models.leaf_release import LeafRelease, rows_text
from hedgerow.models.model import Listing, Model, RowDecisions, class_titles
from hedgerow.models.pmml import leaf_node
from hedgerow.models.python_source import python_conditions, python_module
from hedgerow.models.score_bands import ScoreBands, label_bands, outcome_bands
from hedgerow.schema import Literal, Number
from hedgerow.text.language import _, gettext_noop, ngettext, number, percent, pgettext
from hedgerow.text.markup import Html, element
from hedgerow.text.messages import shown
from hedgerow.text.values import printable, shown_text

_NO_COUNTS = gettext_noop(
    "probabilities were drawn with the model; no counts were released, so small leaves cannot be recognised"
)
_UNKNOWN_NOISE = gettext_noop("the privacy card does not state the noise on the counts, so they may not be exact")
_MOST_NAMED = 3  # the number of classes named in the line of a folded group
_MOST_WEIGHTS = 8  # the number of classes whose weights are stated
NotedLines = list[tuple[str, LeafGroup | None]]
"""Lines of text, each with the group of leaves whose prediction it states, or None."""
_ENDS = (0.05, 0.95)  # the quantiles of a number in an explanation


class LeafModel(Model):
    """A released model that routes every row to one leaf: a rule list or a tree."""

    leaf_name: ClassVar[str]  #: the name of a leaf in records and in columns of predictions
    exclusive: ClassVar[bool]  #: True if the paths are mutually exclusive, so that their order does not matter
    listing_title: ClassVar[str]  #: the title of the table of its leaves
    decides_by: ClassVar[str] = "routes each row to one leaf"

    @property
    @abstractmethod
    def conditions(self) -> tuple[str, ...]:
        """The condition of each leaf as text."""

    def __len__(self) -> int:
        return len(self.leaves)

    @property
    def _costs_entry(self) -> dict[str, Any]:
        """The entry of the model file for the costs that the fit minimised; empty without costs."""
        return {} if self.costs is None else {"costs": [list(line) for line in self.costs]}

    @cached_property
    def leaf_release(self) -> LeafRelease:
        """The released values of the leaves; ValueError if they do not fit the target."""
        return LeafRelease.of(self.leaves, self.schema.target, self.privacy, self.leaf_name)

    @property
    def probabilities(self) -> Floats:
        """Class probabilities of each leaf, from the released values alone, shape ``(n_leaves, n_classes)``.

        A leaf that has probabilities keeps them. They were drawn with the model, or they are posterior means given the
        model's counts and drawn labels (docs/mathematics.md, "Shares of leaves"). Otherwise:

        - The probabilities are the class shares of the counts, with negative counts set to 0.
        - If all counts of a leaf are then 0, it has the class shares of the whole model.
        - If a leaf has a label and no counts, the label has probability 1.

        A label does not change the shares of released counts. It need not be the most probable class, for example if it
        was chosen by `class_weight`, `costs` or the distance of ordered classes.
        """
        return self.leaf_release.probabilities

    @property
    def predictions(self) -> tuple[Any, ...]:
        """The class that each leaf predicts: its label, or else the most probable class (ties go to the first).

        For a number, it is the released mean of the leaf, or else the drawn number, or else the mean by the counts.
        """
        return self.leaf_release.predictions

    def _caveats(self) -> Iterator[Caveat]:
        return leaf_caveats(self.leaf_release, self.schema, self.paths, self.costs, exclusive=self.exclusive)

    @property
    def has_probabilities(self) -> bool:
        """True if any leaf has probabilities: drawn with the model, or computed from its counts and label."""
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
        """The tests of the model, each with the leaves that it divides."""

    def feature_importances(self) -> dict[str, float]:
        return leaf_importances(self.leaf_release, self._divisions)

    def outcomes_of(self, bins: Mapping[str, Whole], n_rows: int) -> Index:
        return first_that_holds(self.paths, self.schema, bins, n_rows)

    def _note(self, group: LeafGroup) -> str | None:
        """Return the note on the rows of a group, and its number of leaves; None if nothing is shown."""
        rows = self.leaf_release.support(group.first, group.stop).text
        if group.size == 1:
            return rows or None
        head = self._count_text(group.size, is_shown=group.is_unsupported)
        return _("{leaves}, together {rows}", leaves=head, rows=rows) if rows else head

    def _count_text(self, count: int, *, is_shown: bool) -> str:
        if self.leaf_name == "leaf":
            if is_shown:
                return ngettext("{count} leaf", "{count} leaves", count)
            return ngettext("{count} leaf not shown", "{count} leaves not shown", count)
        if is_shown:
            return ngettext("{count} rule", "{count} rules", count)
        return ngettext("{count} rule not shown", "{count} rules not shown", count)

    def _prediction_text(self, group: LeafGroup) -> str:
        """Return the predictions of a group as text: the first classes, or the range of numbers."""
        predicted = set(self.predictions[group.first : group.stop])
        if self._number is not None:
            ends = dict.fromkeys(shown_text(self._rounded(end)) for end in (min(predicted), max(predicted)))
            low, high = next(iter(ends)), next(reversed(ends))
            return low if low == high else _("{low} to {high}", low=low, high=high)
        if len(predicted) == 1:
            return shown_text(predicted.pop())
        names = [shown_text(value) for value in self.schema.classes if value in predicted]
        if len(names) > _MOST_NAMED + 1:
            names[_MOST_NAMED:] = [_("{classes} more classes", classes=len(names) - _MOST_NAMED)]
        return _("{classes} or {last}", classes=", ".join(names[:-1]), last=names[-1])

    def _rounded(self, number: float) -> float:
        """Return a mean rounded to about a thousandth of the number's range; levels are not rounded."""
        assert self._number is not None
        if number in self.schema.target.values:
            return number
        return round(number, max(3 - math.ceil(math.log10(self._number.high - self._number.low)), 0))

    @property
    def _leaves_name(self) -> str:
        return self.leaf_release.name_of_all

    @abstractmethod
    def _shown_groups(self, *, is_full: bool) -> list[LeafGroup]:
        """Return the groups of leaves that fit a page, or one group for each leaf."""

    @abstractmethod
    def _condition(self, group: LeafGroup) -> str:
        """Return the condition of a group as text."""

    def _noted(self, lines: NotedLines) -> str:
        """Return lines with the notes on their groups, followed by remarks."""
        notes = [group and self._note(group) for _text, group in lines]
        remarks = self._remarks([group for _text, group in lines if group is not None])
        return "\n".join([commented([text for text, _group in lines], notes), *(f"({remark})" for remark in remarks)])

    def _remarks(self, groups: Sequence[LeafGroup]) -> list[str]:
        """Return the remarks below these groups: on folded leaves, and on the released rows."""
        return [*self._folding(groups), *self._remarks_on_costs, *self._remarks_on_rows]

    @property
    def _remarks_on_costs(self) -> list[str]:
        """Return remarks on the costs of the fit, and on counts that were not released."""
        if self.costs is None:
            return []
        weights = class_weights(self.costs)
        if weights is None:
            remarks = [_("the fit minimised costs that differ between errors; the file has the costs")]
        else:
            pairs = zip(self.schema.classes, weights, strict=True)
            named = [f"{shown_text(value)}: {number(f'{weight:g}')}" for value, weight in pairs][:_MOST_WEIGHTS]
            more = "" if len(weights) <= _MOST_WEIGHTS else ", …"
            remarks = [_("weights of errors in the fit, by class: {weights}", weights=", ".join(named) + more)]
        if not self.leaf_release.has_rows:
            remarks.append(_("no counts or class shares were released; release_counts=True releases them"))
        return remarks

    def _folding(self, groups: Sequence[LeafGroup]) -> list[str]:
        folded = [group.size for group in groups if group.size > 1]
        if not folded:
            return []
        message = {
            "leaf": gettext_noop(
                "{folded} of {all} leaves are folded; to_text() and `hedgerow show --full` show every leaf"
            ),
            "rule": gettext_noop(
                "{folded} of {all} rules are folded; to_text() and `hedgerow show --full` show every rule"
            ),
        }[self.leaf_name]
        return [_(message, folded=sum(folded), all=len(self))]

    @property
    def _remarks_on_rows(self) -> list[str]:
        release = self.leaf_release
        if not release.has_rows:
            return [_(_NO_COUNTS)] if release.has_probabilities and self.privacy.charges else []
        if release.noise is None:
            return [_(_UNKNOWN_NOISE)]
        if not release.is_noisy:
            return []
        message = (
            gettext_noop(
                "%: share of the predicted class, as a {confidence} interval given the noise; the file has the "
                "released counts"
            )
            if self._number is None
            else gettext_noop(
                "numbers of rows are rounded to the precision that the noise allows, at {confidence}; the file has the "
                "released counts"
            )
        )
        return [_(message, confidence=percent(CONFIDENCE))]

    @property
    def _caption(self) -> str:
        headline = printable(self.privacy.headline)
        if self.leaf_release.has_rows:
            return headline
        return _("{guarantee}; no counts were released", guarantee=headline)

    def to_python(self) -> str:
        """Return the source of a Python function ``predict(row)``; see `Model.to_python`."""
        written = python_conditions(self.schema)
        return python_module(self._python(written), self._guarantee, self.schema, written)

    @abstractmethod
    def _python(self, written: Pieces[Literal]) -> list[str]:
        """Return the lines of the body of ``predict``."""

    def _pmml_node(self, number: int) -> Element:
        release = self.leaf_release
        shares = release.probabilities[number].tolist() if release.has_all_shares else ()
        return leaf_node(release.counts_of(number), release.predictions[number], shares, self.schema.target)

    def _shown_levels(self, groups: Sequence[LeafGroup]) -> tuple[Any, ...]:
        """Return the classes, or the numbers that groups with a single prediction predict."""
        if self._number is None:
            return self.schema.classes
        by_group = (set(self.predictions[group.first : group.stop]) for group in groups)
        return tuple(sorted({min(predicted) for predicted in by_group if len(predicted) == 1}))

    @property
    def _text(self) -> str:
        return self._noted(self._lines(is_full=False))

    @property
    def _full_text(self) -> str:
        return self._noted(self._lines(is_full=True))

    @abstractmethod
    def _lines(self, *, is_full: bool) -> NotedLines:
        """Return lines of text, each with the group whose prediction it states, or None."""

    def apply(self, X: Any) -> Index:
        """Return the index of the leaf of each row in `leaves`, shape ``(n_rows,)``; for `X` see `predict`."""
        return self.outcomes_of(*self._encoded(X))

    def predict_proba(self, X: Any) -> Floats:
        """Return the class probabilities of the leaf of each row; SchemaError if the model predicts a number.

        Warns
        -----
        LabelsOnlyWarning
            If only labels were released, so that each probability is 0 or 1.
        """
        self.schema.classes  # noqa: B018 -- raises for a number
        if not self.has_shares:
            problem = f"this {self.kind} was released with labels only, so all probabilities are 0 or 1"
            advice = "fit it with release_counts=True or objective='mixed' to obtain probabilities."
            warnings.warn(f"{problem}; {advice}", LabelsOnlyWarning, stacklevel=2)
        return self.probabilities[self.apply(X)]

    def predict_quantiles(self, X: Any, quantiles: Sequence[float] = (0.05, 0.5, 0.95)) -> Floats:
        """Return quantiles of the number in the leaf of each row, shape ``(n_rows, n_quantiles)``.

        They are computed from the released counts by level, with a uniform distribution within each level.

        Parameters
        ----------
        X : pandas, polars or pyarrow frame, or array of shape (n_rows, n_attributes)
            Rows. A frame needs only the columns that the model uses.
        quantiles : sequence of float, default=(0.05, 0.5, 0.95)
            Probabilities of the quantiles, from 0 to 1.

        Raises
        ------
        TypeError
            If the model predicts classes, or was released without counts.
        ValueError
            If a quantile is not between 0 and 1.
        """
        levels = np.asarray(quantiles, dtype=np.float64)
        if self._number is None:
            raise ArgumentTypeError(f"quantiles need a {self.kind} that predicts a number, not classes.")
        if not self.has_counts:
            raise self.leaf_release.needs_counts()
        if levels.ndim != 1 or not ((levels >= 0) & (levels <= 1)).all():
            raise ArgumentError(f"quantiles must be a sequence of numbers from 0 to 1, got {shown(quantiles)}.")
        return self._leaf_quantiles(levels)[self.apply(X)]

    def _leaf_quantiles(self, quantiles: Floats) -> Floats:
        """Return quantiles of the number in each leaf by its released counts, shape ``(n_leaves, n_quantiles)``."""
        assert self._number is not None
        edges = np.array(self._number.column_kind.edges)
        return np.array([_quantiles(shares, edges, quantiles) for shares in self.probabilities])

    def get_rules(self) -> list[dict[str, Any]]:
        """Return a record for each leaf: its number, condition, prediction, probability, and released counts by class.

        The counts are None if none were released. The probability is None if the noise alone can produce the counts of
        the leaf, or if neither probabilities nor counts with known noise were released.
        ``pandas.DataFrame(model.get_rules())`` converts the records to a frame.
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
        """Return about `most` bands of the probabilities of leaves, or one band for each class of labels only."""
        predicted = [self.schema.classes.index(value) for value in self.predictions]
        if self.leaf_release.has_all_shares:
            bands, places = outcome_bands(predicted, self.probabilities, most)
        else:
            bands, places = label_bands(predicted)
        return ScoreBands(bands, lambda bins, n_rows: places[self.outcomes_of(bins, n_rows)])

    def decisions(self, X: Any) -> RowDecisions:
        """Return the prediction of each row with the number of its leaf; for `X` and errors see `predict`."""
        leaves = self.apply(X)
        classes = [self.predictions[leaf] for leaf in leaves.tolist()]
        reasons = {self.leaf_name: leaves + 1}
        return RowDecisions(classes, reasons, self.probabilities[leaves], lambda: self._explained(leaves.tolist()))

    def _explained(self, leaves: Sequence[int]) -> dict[str, Any]:
        rules = self.get_rules()
        columns: dict[str, Any] = {"explanation": [rules[leaf]["condition"] for leaf in leaves]}
        if self.has_shares:
            columns["probability"] = pa.array([rules[leaf]["probability"] for leaf in leaves], pa.float64())
        if self.leaf_release.has_rows:
            titles = ["rows"] if self._number is not None else class_titles("rows", self.schema.classes)
            for title, counts in zip(titles, zip(*map(self._counts_of, range(len(self))), strict=True), strict=True):
                columns[title] = pa.array([counts[leaf] for leaf in leaves], pa.int64())
        if self._number is not None and self.has_counts:
            release = self.leaf_release
            is_hidden = np.array([release.noise is None or release.is_too_few(place) for place in range(len(self))])
            for end, column in zip(_ENDS, self._leaf_quantiles(np.array(_ENDS)).T, strict=True):
                columns[f"{100 * end:g} % quantile"] = pa.array(column[leaves], mask=is_hidden[leaves])
        return columns

    @property
    def _titles(self) -> list[str]:
        shares = [_("probability")] if self.has_shares else []
        classes = map(shown_text, self.schema.classes) if self._number is None else ()
        counts = [_("rows of {value}", value=value) for value in classes] or [_("rows")]
        condition, prediction = pgettext("condition", "if"), pgettext("prediction", "then")
        return [condition, prediction, *shares, *(counts if self.leaf_release.has_rows else [])]

    def _counts_of(self, place: int) -> Sequence[int | None]:
        """Return the displayed counts of a leaf: by class, or their sum if the model predicts a number."""
        if self._number is not None:
            rows = self.leaf_release.rows[place]
            return [rows if rows is None else max(rows, 0)]
        return self.leaf_release.counts_of(place) or [None] * self.schema.target.n_levels

    def _cells(self, group: LeafGroup) -> list[str]:
        """Return the table cells for the share and the rows of a group, or a single note that replaces them."""
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
        """Return the leaves as a table: condition, prediction, and the displayed share and rows."""
        titles, rows = self._titles, list[tuple[str, ...]]()
        for group in self._shown_groups(is_full=True):
            row = (f"{group.stop}. {self._condition(group)}", self._prediction_text(group), *self._cells(group))
            rows.append((*row, *[""] * (len(titles) - len(row))))
        return (Listing(_(self.listing_title), tuple(titles), tuple(rows)),)

    @property
    def _parts_html(self) -> str:
        groups = self._shown_groups(is_full=False)
        notes_alone = [""] * (len(self._titles) == 2 and any(group.size > 1 for group in groups))
        head = element("tr", *(element("th" if name else "td", name) for name in ["", *self._titles, *notes_alone]))
        table = element("table", element("thead", head), element("tbody", *map(self._html_row, groups)))
        notes = [element("p", text) for text in self._remarks(groups)]
        return "".join([table, *notes])

    def _html_row(self, group: LeafGroup) -> Html:
        number = f"{group.stop}" if group.size == 1 else f"{group.first + 1}–{group.stop}"
        condition = element("td", self._condition(group), style="text-align:left")
        prediction, cells = element("td", element("b", self._prediction_text(group))), self._cells(group)
        columns = len(self._titles) - 2
        wide = {"colspan": str(columns)} if len(cells) == 1 < columns else {}
        notes = (element("td", cell, **wide) for cell in cells)
        return element("tr", element("td", number), condition, prediction, *notes)


def _quantiles(shares: Floats, edges: Floats, quantiles: Floats) -> Array:
    """Return the quantiles of a distribution over levels, which never lie in a level without rows."""
    has_rows = shares > 0
    ends = np.minimum(np.cumsum(shares[has_rows]), 1.0)
    ends[-1] = 1.0
    places = np.searchsorted(ends, quantiles)
    inside = (quantiles - (ends - shares[has_rows])[places]) / shares[has_rows][places]
    low, high = edges[:-1][has_rows][places], edges[1:][has_rows][places]
    return low + np.clip(inside, 0.0, 1.0) * (high - low)
