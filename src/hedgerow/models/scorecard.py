"""Scorecards: released models that add up points by bin. No learning code."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

import numpy as np

from hedgerow.boundary.arguments import check_choice
from hedgerow.boundary.arrays import Array, Floats, Index, Integers, Whole
from hedgerow.errors import ArgumentError, ArgumentTypeError
from hedgerow.models.caveats import Caveat, of_class_totals, of_points_of_a_number, of_total
from hedgerow.models.conditions import Dialect
from hedgerow.models.count_noise import CountNoise
from hedgerow.models.importance import point_importances
from hedgerow.models.leaf_groups import MOST_LINES
from hedgerow.models.leaf_release import Support
from hedgerow.models.model import ColumnTypes, DialectName, Listing, Model, RowDecisions
from hedgerow.models.plot import most_drawn, points_plot
from hedgerow.models.pmml import scorecard_model
from hedgerow.models.point_lines import BY_NOISE, Folding, PointLine
from hedgerow.models.point_scale import PointScale
from hedgerow.models.point_totals import PointTotals
from hedgerow.models.points import (
    AttributePoints,
    Points,
    check_points,
    one_row,
    python_functions,
    reasons_by_points,
    total_sql,
    whole_points,
)
from hedgerow.models.score_bands import ScoreBands
from hedgerow.models.scorecard_form import card_text, form_html, row_texts
from hedgerow.models.scorecard_page import draw_form
from hedgerow.models.size import ScorecardSize
from hedgerow.models.totals import ClassTotals, NumberTotals
from hedgerow.privacy.card import PrivacyCard
from hedgerow.schema.schema import Schema
from hedgerow.text.axes import Axes
from hedgerow.text.language import LANGUAGES, Language, _, enumerated, gettext_noop, in_language
from hedgerow.text.markup import Html, element
from hedgerow.text.messages import number_of, shown
from hedgerow.text.values import Value, listed, printable

_UNKNOWN_NOISE = gettext_noop("the noise on the points is unknown, so totals and probabilities may not be exact")


@dataclass(frozen=True, repr=False)
class Scorecard(Model):
    """A model that adds up integer points by bin; the total of a row determines its class probabilities or its number.

    - For two classes, the log-odds of the second class are `unit` times the total, and it is predicted if the total is
      above 0. `scaled` returns a scorecard on another scale.
    - For more classes, each class has its own total. The log-odds between two classes are `unit` times the difference
      of their totals. The class with the largest total is predicted; ties go to the first class.
    - A number is its lower bound plus `unit` times the total, clipped to its bounds.

    All its contents are released: the schema, the points, the map from totals to probabilities, and the privacy card.

    Attributes
    ----------
    schema : Schema
        The public schema of the points.
    base : tuple of int
        The points that every row starts with: one number for two classes or a number, otherwise one for each class.
    parts : tuple of AttributePoints
        The points by bin of each used attribute, at most 1,000,000 in absolute value. Totals are at most 1,000,000,000.
    unit : float
        The log-odds of one point. For a number, the amount that a point adds, at least a millionth of the range.
    error : float or None
        The standard error, due to the noise of the release, of the log-odds or the number of a row, compared with the
        same fit without noise. It does not include sampling error. None if there is no noise or it is unknown.
    privacy : PrivacyCard
        The privacy budget spent and the guarantee.
    scale : PointScale, optional
        The scale of the points for two classes, if it was set by `scaled`. `unit` is then ``ln(2) / scale.pdo``, and
        the log-odds of the class ``scale.favourable`` are ``unit * (total - scale.even)``.

    Raises
    ------
    SchemaError
        If points do not fit the schema.
    ValueError
        If points are not whole numbers or too large, unit or error is out of range, or the scale does not fit.

    Examples
    --------
    >>> from hedgerow.schema import Boolean, Integer, Label, Schema
    >>> schema = Schema({"age": Integer(17, 90, cuts=(30, 45)), "smoker": Boolean()}, Label("ill", ("no", "yes")))
    >>> parts = AttributePoints("age", ((-2,), (0,), (3,))), AttributePoints("smoker", ((0,), (2,)))
    >>> card = Scorecard(schema, (-2,), parts, 0.5, None, PrivacyCard.none("example", software="hedgerow"))
    >>> print(card)
    attribute  bin       points
    age        17 to 30      -2
               31 to 45       0
               46 to 90       3
    smoker     false          0
               true           2
    base                     -2
    <BLANKLINE>
    total  P(ill = yes)
       -4          12 %
       -3          18 %
       -2          27 %
       -1          38 %
        0          50 %
        1          62 %
        2          73 %
        3          82 %
    """

    schema: Schema
    base: Points
    parts: tuple[AttributePoints, ...]
    unit: float
    error: float | None
    privacy: PrivacyCard
    scale: PointScale | None = None

    kind: ClassVar[str] = "scorecard"
    format: ClassVar[str] = "hedgerow/scorecard"
    decides_by: ClassVar[str] = "adds up points"
    has_points: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "base", whole_points(self.base))
        object.__setattr__(self, "parts", tuple(self.parts))
        for part in self.parts:
            if not isinstance(part, AttributePoints):
                raise ArgumentTypeError(f"expected AttributePoints as parts, got {type(part).__name__}.")
        check_points(self.base, self.parts, self.schema)
        self._totals  # noqa: B018 -- raises if they do not fit
        object.__setattr__(self, "unit", float(self.unit))
        object.__setattr__(self, "error", None if self.error is None else float(self.error))

    @cached_property
    def _totals(self) -> PointTotals:
        kind = ClassTotals if self.schema.target.as_number is None else NumberTotals
        totals = kind(self.schema, self.base, self.parts, self.unit, self.error, self.scale)
        totals.check()
        return totals

    def __len__(self) -> int:
        return len(self.parts)

    @property
    def used_attributes(self) -> tuple[str, ...]:
        used = {part.attribute for part in self.parts}
        return tuple(name for name in self.schema.names if name in used)

    @property
    def sizes(self) -> dict[str, int]:
        """The number of attributes with points, and the largest absolute points of a bin."""
        points = (abs(amount) for part in self.parts for row in part.points for amount in row)
        return {"max_attributes": len(self.parts), "points": max(points, default=0)}

    @property
    def size(self) -> ScorecardSize:
        """The number of attributes with points, of printed lines, and the lowest and highest points of a bin."""
        lines = self.lines
        points = [points for line in lines for points in line.points]
        return ScorecardSize(len(self), len(lines), min(points, default=0), max(points, default=0))

    @property
    def lines(self) -> tuple[PointLine, ...]:
        """The lines of its table of points; neighbouring intervals, or categories, with the same points share one."""
        return self._totals.table.all_lines

    @property
    def bin_supports(self) -> tuple[Support, ...]:
        supports = (part.support([place]) for part in self.parts for place in range(len(part.points)))
        return tuple(support for support in supports if support.rows is not None)

    @property
    def outcomes(self) -> tuple[Any, ...]:
        return self._totals.outcomes

    def outcomes_of(self, bins: Mapping[str, Whole], n_rows: int) -> Index:
        return self._totals.places(self.totals_of(bins, n_rows))

    def scaled(self, *, pdo: float, score: float, odds: float, favourable: Value) -> Self:
        """Return the scorecard on a scale of credit scorecards, on which `pdo` points double the odds.

        This is post-processing of a released model and costs no ε. The base and the points of all attributes are scaled
        and rounded to whole numbers. The rounding error of a total is at most half a point for each attribute and half
        a point for the base. Predictions therefore change only for rows with a probability near 1/2. A larger `pdo`
        reduces the effect of rounding.

        Parameters
        ----------
        pdo : float
            The number of points that double the odds, above 0 and at most 10,000.
        score : float
            The total of a row with odds of `odds` to 1.
        odds : float
            The odds at `score`: the probability of `favourable` divided by the probability of the other class.
        favourable : str, int or bool
            The class whose odds the total expresses; it is more probable if the total is higher. In credit scoring,
            this is the class of good customers.

        Raises
        ------
        ValueError
            If there are not exactly two classes, a number is out of range, or the scaled points are too large.

        Examples
        --------
        >>> from hedgerow.schema import Boolean, Label, Schema
        >>> schema = Schema({"arrears": Boolean()}, Label("default", ("no", "yes")))
        >>> parts = (AttributePoints("arrears", ((-4,), (9,))),)
        >>> card = Scorecard(schema, (-20,), parts, 0.1, None, PrivacyCard.none("example", software="hedgerow"))
        >>> print(card.scaled(pdo=20, score=600, odds=50, favourable="no"))
        attribute  bin    points
        arrears    false      12
                   true      -26
        base                 545
        <BLANKLINE>
        A total of 600 means odds of 50 to 1 for default = no; 20 more points double the odds.
        Totals range from 519 to 557; rounding changes a total by at most 0.63 points, and the odds by at most 2.2 %.
        <BLANKLINE>
        total  P(default = yes)
          519              25 %
          520              24 %
          525              21 %
          530              18 %
          535              16 %
          540              14 %
          545              12 %
          550              10 %
          555             8.7 %
          557             8.2 %
        """
        scale = PointScale(pdo, score, odds, favourable)
        base, parts, rounding = self._totals.on_scale(scale)
        scale = replace(scale, rounding=rounding)
        return replace(self, base=base, parts=parts, unit=scale.unit, scale=scale)

    @property
    def has_one_total(self) -> bool:
        """True if a row has a single total: for two classes or a number."""
        return len(self.base) == 1

    def totals(self, X: Any) -> Integers:
        """Return the total of each row, shape ``(n_rows,)``, or ``(n_rows, n_classes)`` for more than two classes."""
        return self.totals_of(*self._encoded(X))

    def totals_of(self, bins: Mapping[str, Whole], n_rows: int) -> Integers:
        """Return the total of each row from its bin in each used attribute; see `totals`."""
        totals = np.tile(np.array(self.base, dtype=np.int64), (n_rows, 1))
        for part in self.parts:
            totals += np.array(part.points, dtype=np.int64)[bins[part.attribute]]
        return totals[:, 0] if self.has_one_total else totals

    def predict_proba(self, X: Any) -> Floats:
        """Return the class probabilities of each row, shape ``(n_rows, n_classes)``; SchemaError for a number."""
        self.schema.classes  # noqa: B018 -- raises for a number
        return self.probabilities_of(self.totals(X))

    def decision_function(self, X: Any) -> Floats:
        """Return the log-odds of each row; for `X` and errors see `predict`.

        For two classes, they are the log-odds of the second class, shape ``(n_rows,)``; it is predicted if they are
        above 0. For more classes, the shape is ``(n_rows, n_classes)``: the differences between columns are log-odds,
        and the class of the largest value is predicted. SchemaError for a number.
        """
        self.schema.classes  # noqa: B018 -- raises for a number
        assert isinstance(self._totals, ClassTotals)
        return self._totals.log_odds(self.totals(X))

    def feature_importances(self) -> dict[str, float]:
        return point_importances(self.parts)

    def predictions_of(self, totals: Integers) -> Array:
        """Return the prediction for each total, shape ``(n_rows,)``."""
        return np.array(self.outcomes)[self._totals.places(totals)]

    def probabilities_of(self, totals: Integers) -> Floats:
        """Return the class probabilities for each total, shape ``(n_rows, n_classes)``."""
        return self._totals.shares(totals)

    def get_points(self) -> list[dict[str, Any]]:
        """Return a record for each bin: attribute, bin and points (for more than two classes, points for each class).

        Neighbouring intervals with the same points share a record. If the noise on points is known, ``low`` and
        ``high`` are the ends of the 95 % noise interval. They are None for bins with too few rows. If rows by bin were
        released, ``rows`` is the noisy number of rows, which may be negative. ``pandas.DataFrame(model.get_points())``
        converts the records to a frame.
        """
        return [self._totals.record(place, run) for place, bins in enumerate(self._totals.bins) for run in bins]

    def explain(self, row: Any) -> dict[str, Any]:
        """Return the points that add up to the total of a row.

        Parameters
        ----------
        row : mapping of str to value, or frame or array of one row
            The row.

        Returns
        -------
        dict
            ``points`` has a record of `get_points` for each used attribute, in descending order of absolute points. The
            other keys are ``base``, ``total``, ``prediction``, and ``probabilities`` by class. For more than two
            classes, base and total are also by class.

        Raises
        ------
        DomainError
            If a value is absent or not allowed by the schema.
        ValueError
            If `row` does not have exactly one row.

        Examples
        --------
        >>> from hedgerow.schema import Boolean, Label
        >>> schema = Schema({"smoker": Boolean()}, Label("ill", ("no", "yes")))
        >>> parts = (AttributePoints("smoker", ((0,), (3,))),)
        >>> card = Scorecard(schema, (-1,), parts, 0.5, None, PrivacyCard.none("example", software="hedgerow"))
        >>> explanation = card.explain({"smoker": True})
        >>> explanation["points"], explanation["total"], explanation["prediction"]
        ([{'attribute': 'smoker', 'bin': 'true', 'points': 3}], 2, 'yes')
        """
        bins, n_rows = self._encoded(one_row(row, self.used_attributes))
        if self.parts and n_rows != 1:
            raise ArgumentError(f"explain takes exactly one row, got {n_rows:,}.")
        matching = [
            (place, run)
            for place, runs in enumerate(self._totals.bins)
            for run in runs
            if run.start <= bins[run.attribute][0] < run.stop
        ]
        totals = self.totals_of(bins, 1)
        classes, whole = self.schema.classes if self.has_shares else (), totals[0].tolist()
        shares = dict(zip(classes, self.probabilities_of(totals)[0].tolist(), strict=True))
        ranked = sorted(matching, key=lambda pair: -max(map(abs, pair[1].points)))
        return {
            "points": [self._totals.record(place, run) for place, run in ranked],
            "base": self.base[0] if self.has_one_total else dict(zip(classes, self.base, strict=True)),
            "total": whole if self.has_one_total else dict(zip(classes, whole, strict=True)),
            "prediction": self.predictions_of(totals).tolist()[0],
            **({"probabilities": shares} if classes else {}),
        }

    def score_bands(self, most: int) -> ScoreBands:
        """Return about `most` bands of the totals for two classes, or one band for each of more classes."""
        self.schema.classes  # noqa: B018 -- raises for a number
        bands, places = self._totals.score_bands(most)
        return ScoreBands(bands, lambda bins, n_rows: places(self.totals_of(bins, n_rows)))

    def decisions(self, X: Any) -> RowDecisions:
        """Return the prediction of each row with its total; for `X` and errors see `predict`."""
        codes, n_rows = self._encoded(X)
        totals = self.totals_of(codes, n_rows)
        titles = self._totals.titles("total")
        reasons = dict(zip(titles, totals.reshape(len(totals), len(self.base)).T, strict=True))
        shares = self.probabilities_of(totals)

        def explained() -> dict[str, Any]:
            of_classes = np.zeros(n_rows, dtype=np.intp) if self.has_one_total else totals.argmax(axis=1)
            probability = {"probability": shares.max(axis=1)} if self.has_shares else {}
            return {"explanation": row_texts(self._totals, codes, of_classes), **probability}

        return RowDecisions(self.predictions_of(totals).tolist(), reasons, shares, explained)

    def listings(self) -> tuple[Listing, ...]:
        """Return tables of the points by bin and, for two classes or a number, of the meaning of totals."""
        return self._totals.listings()

    def risks(self) -> list[dict[str, Any]]:
        """Return the probability of the second class, or the number, for at most 13 possible totals.

        Each record has the ``total`` and its ``probability`` or number (``prediction``). ``low`` and ``high`` are the
        ends of the 95 % noise interval; they are None if `error` is None. The totals between the smallest and the
        largest are round numbers.

        Raises
        ------
        ValueError
            If there are more than two classes, so that a row has several totals.
        """
        if not self.has_one_total:
            raise ArgumentError(
                f"risks are listed for two classes or a number, not {len(self.base)} classes; use predict_proba."
            )
        return [total.record() for total in self._totals.risks]

    def to_sql(
        self,
        dialect: DialectName = "duckdb",
        *,
        types: ColumnTypes = "any",
        output: Literal["prediction", "total"] = "prediction",
    ) -> str:
        """Return a SQL expression that computes the prediction, or the total, from the raw columns.

        The expression is NULL if a value has no bin; `predict` raises an error for such a value. For the columns see
        `Model.to_sql`.

        Parameters
        ----------
        dialect : {"duckdb", "postgres", "spark", "bigquery", "snowflake"}, default="duckdb"
            The engine.
        types : {"any", "declared"}, default="any"
            The types of the columns; see `Model.to_sql`.
        output : {"prediction", "total"}, default="prediction"
            The value of the expression. "total" is allowed for two classes or a number only.

        Raises
        ------
        ValueError
            If an argument is not one of these choices, or Spark would misread the name of a column.
        """
        from hedgerow.models import sql  # sqlglot takes long to import
        from hedgerow.models.dialects import dialect_named

        check_choice("output", output, ("prediction", "total"))
        if output == "total" and not self.has_one_total:
            raise ArgumentError(
                f"output='total' needs two classes or a number, not {len(self.base)} classes; leave it out."
            )
        if output == "prediction":
            return super().to_sql(dialect, types=types)
        of = dialect_named(dialect, types)
        lines = total_sql(self._totals.bins, self.base, self.schema, of)
        return sql.expression(lines, of, self._guarantee)

    def _sql(self, dialect: Dialect) -> list[str]:
        return self._totals.sql(dialect)

    def to_python(self) -> str:
        """Return the source of Python functions ``predict(row)`` and ``total(row)`` without dependencies.

        For more than two classes, ``total`` returns a total for each class. Both raise ValueError for a value without a
        bin.
        """
        of = self._totals
        return python_functions(of.bins, self.base, of.python, self.schema, self._guarantee)

    def reasons(self, X: Any, *, favourable: Value | None = None) -> Array:
        """Return reason codes: the attributes by which each row loses the most points, shape ``(n_rows, 4)``.

        The loss of an attribute is the difference between its points and the points of its best bin; ties are in the
        order of `parts`. Up to four attributes with the largest losses are returned, if their losses exceed the noise:
        1.96 standard errors of the difference, if `AttributePoints.errors` are known. Bins with too few rows are never
        a reason. Unused places are None. For `X` and errors see `predict`.

        Parameters
        ----------
        X : pandas, polars or pyarrow frame, or array of shape (n_rows, n_attributes)
            Rows, as in `predict`.
        favourable : str, int or bool, optional
            The favourable class, for which a row loses points. Default: the second class, or the class of the scale.
            For a number, ``"high"`` or ``"low"``.

        Raises
        ------
        ValueError
            If `favourable` is not a class, or the scorecard has more than two classes or no attributes.
        """
        is_high = self._is_high(favourable)
        codes, n_rows = self._encoded(X)
        return reasons_by_points(self.parts, self._totals.bins, codes, n_rows, highest_is_best=is_high)

    def _is_high(self, favourable: Value | None) -> bool:
        if not self.has_one_total or not self.parts:
            got = "a scorecard without attributes" if self.has_one_total else f"{len(self.base)} classes"
            raise ArgumentError(f"expected a scorecard with attributes for two classes or a number, got {got}.")
        choices = self.schema.classes if self.has_shares else ("low", "high")
        if favourable is not None and favourable not in choices:
            raise ArgumentError(f"favourable must be one of {listed(choices)}, got {shown(favourable)}.")
        return favourable is None or favourable == choices[self._totals.points_for]

    def to_pmml(self, *, favourable: Value | None = None) -> str:
        """Return the scorecard as PMML with the total, the prediction and reason codes.

        PMML evaluators rank all attributes, so the last reason codes may be attributes without a loss. If a loss is
        within the noise, the code is, for example, "(within the noise, 3)" instead of the name. If the bin has too few
        rows for its own points, the code is, for example, "(too few rows, 3)". For `favourable` see `reasons`.
        """
        if not self.has_one_total:
            problem = "PMML scorecards have a single total, for two classes or a number"
            raise ArgumentError(f"{problem}; got {len(self.base)} classes. Use to_sql or to_python.")
        is_high, bins, prediction = self._is_high(favourable), self._totals.bins, self._totals.pmml
        return self._pmml_document(
            scorecard_model(self.parts, bins, self.base, self.schema, prediction, highest_is_best=is_high)
        )

    @property
    def _parts_html(self) -> str:
        return form_html(self._totals) + Html("".join(element("p", remark) for remark in self._remarks))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the points by bin, and return the axes.

        Ordered bins are drawn as steps, other bins as bars, with their 95 % noise intervals if the noise is known. Bins
        with too few rows are grey. At most 12 attributes are drawn, with as many bins as fit a page. Otherwise,
        attributes whose intervals all include 0 are folded first, then those with the smallest ranges of points.
        """
        totals = self._totals
        has_intervals = any(line.margins for line in totals.table.all_lines)
        title = totals.plot_title
        if has_intervals:
            title = _("{points}; intervals: {interval}", points=title, interval=_(BY_NOISE))
        folding = totals.table.folded(*most_drawn(len(totals.columns)))
        caption = enumerated([self._caption, *folding.remarks])
        return points_plot(folding.shown, totals.columns, title, caption, ax)

    def form(self, ax: Axes | None = None, *, language: Language = "en") -> Axes:
        """Draw a form to print and to fill in by hand, and return the axes.

        Parameters
        ----------
        ax : matplotlib axes, optional
            The axes to draw on. Default: the axes of a new figure with the size of a page.
        language : {"en", "de", "fr"}, default="en"
            The language of the form.

        Raises
        ------
        ValueError
            If the scorecard has more than 150 bins or 6 classes, or there is no such language.
        """
        check_choice("language", language, LANGUAGES)
        digest = self.to_dict()["digest"].removeprefix("sha256:")[:12]
        with in_language(language):
            captions = (
                _("Model file: digest {digest}…", digest=digest),
                _("Guarantee: {guarantee}.", guarantee=self._caption),
            )
            return draw_form(self._totals, captions, ax)

    @property
    def has_shares(self) -> bool:
        """True if the totals determine class probabilities."""
        return self.schema.target.as_number is None

    def _caveats(self) -> Iterator[Caveat]:
        if len(self.base) > 1:
            points = [np.array(part.points, dtype=np.int64) for part in self.parts]
            return of_class_totals(self.outcomes, np.array(self.base, dtype=np.int64), points)
        caveats = tuple(of_total(self.outcomes, self._totals.leads[0], has_classes=self.has_shares))
        return iter(caveats) if caveats or self.has_shares else of_points_of_a_number(self.parts)

    @property
    def _caption(self) -> str:
        return printable(self.privacy.headline)

    @property
    def _text(self) -> str:
        return self._folded_text(self._totals.table.folded(MOST_LINES))

    @property
    def _full_text(self) -> str:
        return self._folded_text(Folding(self._totals.table.lines))

    def _folded_text(self, folding: Folding) -> str:
        remarks = [*folding.remarks, *self._remarks]
        return "\n".join([card_text(self._totals, folding), *(f"({remark})" for remark in remarks)])

    @property
    def _remarks(self) -> list[str]:
        """The remarks below the totals."""
        noise = CountNoise.of(self.privacy)
        is_exact = noise is not None and noise.is_exact
        return [_(_UNKNOWN_NOISE)] if self.error is None and not is_exact else []

    def __repr__(self) -> str:
        return f"<Scorecard of {number_of(len(self), 'attribute')}; {self._guarantee}>"

    def _structure(self) -> dict[str, Any]:
        parts = [part.to_dict(self.schema[part.attribute].bins) for part in self.parts]
        scale = {} if self.scale is None else {"scale": self.scale.to_dict()}
        return {"base": list(self.base), "parts": parts, "unit": self.unit, "error": self.error, **scale}

    @classmethod
    def _assemble(cls, schema: Schema, data: Mapping[str, Any], privacy: PrivacyCard) -> Self:
        parts = tuple(map(AttributePoints.from_dict, data["parts"]))
        scale = PointScale(**data["scale"]) if "scale" in data else None
        return cls(schema, data["base"], parts, data["unit"], data["error"], privacy, scale)
