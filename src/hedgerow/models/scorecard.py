"""Scorecards: released models that add up points by bin, public by construction. No learning code."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

import numpy as np

from hedgerow.boundary.arguments import check_choice
from hedgerow.boundary.arrays import Array, Floats, Index, Integers, Whole
from hedgerow.errors import ArgumentError, ArgumentTypeError
from hedgerow.models.caveats import Caveat, of_class_totals, of_total
from hedgerow.models.conditions import Dialect
from hedgerow.models.count_noise import CountNoise
from hedgerow.models.importance import point_importances
from hedgerow.models.leaf_release import Support
from hedgerow.models.model import ColumnTypes, DialectName, Listing, Model, RowDecisions
from hedgerow.models.plot import points_plot
from hedgerow.models.pmml import scorecard_model
from hedgerow.models.point_lines import BY_NOISE
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
from hedgerow.text.markup import Html, element
from hedgerow.text.messages import number_of, shown
from hedgerow.text.values import Value, listed, printable

_UNKNOWN_NOISE = "the noise on the points is unknown: totals and what they mean are not known to be exact"


@dataclass(frozen=True, repr=False)
class Scorecard(Model):
    """Whole points by bin that add up: a row's total decides its class, and gives its probability, or is a number.

    For two classes, the log-odds of the second are `unit` times the total, and it is predicted where the total is above
    0; `scaled` returns a card with another scale. For more, each class has its own total; the log-odds of two of them
    are `unit` times the difference of their totals, and the class with the largest is predicted, the first of equals. A
    number is its lowest value plus `unit` times the total, and no more or less than its bounds.

    Everything in it is released: the schema, the points, the map from totals to probabilities and the privacy card.

    Attributes
    ----------
    schema : Schema
        The public schema of the points.
    base : tuple of int
        The points that every row starts with: one for two classes or a number, else one for each class.
    parts : tuple of AttributePoints
        The points by bin of each attribute that is used, at most 1,000,000 in size. No total is above 1,000,000,000.
    unit : float
        The log-odds of one point; of a number, what a point adds to it: at least a millionth of its range.
    error : float or None
        The standard error of a row's log-odds, or of its number, by the noise of the release: how far they are from
        what the same rows would give without noise. None: there is no noise, or it is unknown. It does not include how
        much another sample of rows would change them.
    privacy : PrivacyCard
        What was spent and what is guaranteed.
    scale : PointScale, optional
        The scale of the points for two classes, if they are points to double the odds. `unit` is then
        ``ln(2) / scale.pdo``, and a row has log-odds of ``unit * (total - scale.even)`` for the class
        ``scale.favourable``.

    Raises
    ------
    SchemaError
        If points do not fit the schema.
    ValueError
        If points are not whole or too large, unit or error is out of range, or the scale does not fit.

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
        _ = self._totals
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
        """The attributes that have points, and the largest points of a bin."""
        points = (abs(one) for part in self.parts for row in part.points for one in row)
        return {"max_attributes": len(self.parts), "points": max(points, default=0)}

    @property
    def size(self) -> ScorecardSize:
        """The attributes that have points, the bins in print, and the lowest and highest points of a bin."""
        bins = [one for lines in self._totals.table.lines for one in lines]
        points = [points for one in bins for points in one.points]
        return ScorecardSize(len(self), len(bins), min(points, default=0), max(points, default=0))

    @property
    def bin_supports(self) -> tuple[Support, ...]:
        found = (part.support([place]) for part in self.parts for place in range(len(part.points)))
        return tuple(one for one in found if one.rows is not None)

    @property
    def outcomes(self) -> tuple[Any, ...]:
        return self._totals.outcomes

    def outcomes_of(self, bins: Mapping[str, Whole], n_rows: int) -> Index:
        return self._totals.places(self.totals_of(bins, n_rows))

    def scaled(self, *, pdo: float, score: float, odds: float, favourable: Value) -> Self:
        """Return the scorecard with the points of credit scorecards: `pdo` points double the odds.

        This is post-processing of a released model and costs no ε. Every attribute's points and the base are multiplied
        and rounded to whole numbers. A total is therefore off by at most half a point for each attribute and half a
        point for the base, and a row's class changes only if its probability is within that of 1/2. A larger `pdo`
        rounds less.

        Parameters
        ----------
        pdo : float
            The points to double the odds, above 0 and at most 10,000.
        score : float
            The total of a row with odds of `odds` to 1.
        odds : float
            The odds at `score`: the probability of the class `favourable` divided by that of the other class.
        favourable : str, int or bool
            The class whose odds these are: the higher the total, the more probable it is. In credit it is the class of
            good customers.

        Raises
        ------
        ValueError
            If there are not two classes, a number is out of range, or the points become too large.

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
        A total of 600 means odds of 50 to 1 for default = no; every 20 points more double the odds.
        Totals range from 519 to 557; rounding moves a total by at most 0.63 points, the odds by at most 2.2 %.
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
        """True if a row has one total: of two classes, or of a number."""
        return len(self.base) == 1

    def totals(self, X: Any) -> Integers:
        """Return the total of each row, shape ``(n_rows,)``, or ``(n_rows, n_classes)`` for more than two classes."""
        return self.totals_of(*self._encoded(X))

    def totals_of(self, bins: Mapping[str, Whole], n_rows: int) -> Integers:
        """Return the total of each row, as `totals` does, from its bin of each attribute that is used."""
        found = np.tile(np.array(self.base, dtype=np.int64), (n_rows, 1))
        for part in self.parts:
            found += np.array(part.points, dtype=np.int64)[bins[part.attribute]]
        return found[:, 0] if self.has_one_total else found

    def predict_proba(self, X: Any) -> Floats:
        """Return the class probabilities of each row, shape ``(n_rows, n_classes)``; SchemaError of a number."""
        self.schema.classes  # noqa: B018 -- raises for a number
        return self.probabilities_of(self.totals(X))

    def decision_function(self, X: Any) -> Floats:
        """Return the log-odds of each row; for `X` and errors see `predict`.

        Of two classes they are those of the second, shape ``(n_rows,)``: `predict` returns it if they are above 0. Of
        more, shape ``(n_rows, n_classes)``: differences between them are log-odds, and the class of the largest is
        predicted. SchemaError of a number.
        """
        self.schema.classes  # noqa: B018 -- raises for a number
        assert isinstance(self._totals, ClassTotals)
        return self._totals.log_odds(self.totals(X))

    def feature_importances(self) -> dict[str, float]:
        return point_importances(self.parts)

    def predictions_of(self, totals: Integers) -> Array:
        """Return what each of these `totals` predicts, shape ``(n_rows,)``."""
        return np.array(self.outcomes)[self._totals.places(totals)]

    def probabilities_of(self, totals: Integers) -> Floats:
        """Return the class probabilities that these `totals` give, shape ``(n_rows, n_classes)``."""
        return self._totals.shares(totals)

    def get_points(self) -> list[dict[str, Any]]:
        """Return one record a bin: attribute, bin, points; for more than two classes, those for each class.

        Neighbouring intervals with the same points are one. If the noise on points is known, ``low`` and ``high`` are
        the ends of their 95 % interval by the noise, None for bins with too few rows. If rows by bin were released,
        ``rows`` is their number with its noise, which may make it negative. ``pandas.DataFrame`` makes a frame of it.
        """
        return [self._totals.record(place, one) for place, bins in enumerate(self._totals.bins) for one in bins]

    def explain(self, row: Any) -> dict[str, Any]:
        """Return how the total of one row comes about.

        Parameters
        ----------
        row : mapping of str to value, or frame or array of one row
            The row.

        Returns
        -------
        dict
            ``points``: a record for each attribute that is used, as of `get_points`, the largest first; ``base``,
            ``total``, ``prediction``, ``probabilities`` by class. For more than two, base and total are by class, too.

        Raises
        ------
        DomainError
            If a value is absent, or not one that the schema allows.
        ValueError
            If there is not one row.

        Examples
        --------
        >>> from hedgerow.schema import Boolean, Label
        >>> schema = Schema({"smoker": Boolean()}, Label("ill", ("no", "yes")))
        >>> parts = (AttributePoints("smoker", ((0,), (3,))),)
        >>> card = Scorecard(schema, (-1,), parts, 0.5, None, PrivacyCard.none("example", software="hedgerow"))
        >>> found = card.explain({"smoker": True})
        >>> found["points"], found["total"], found["prediction"]
        ([{'attribute': 'smoker', 'bin': 'true', 'points': 3}], 2, 'yes')
        """
        bins, n_rows = self._encoded(one_row(row, self.used_attributes))
        if self.parts and n_rows != 1:
            raise ArgumentError("expected one row to explain, got none or several.")
        held = [
            (place, one)
            for place, ones in enumerate(self._totals.bins)
            for one in ones
            if one.start <= bins[one.attribute][0] < one.stop
        ]
        totals = self.totals_of(bins, 1)
        classes, whole = self.schema.classes if self.has_shares else (), totals[0].tolist()
        shares = dict(zip(classes, self.probabilities_of(totals)[0].tolist(), strict=True))
        ranked = sorted(held, key=lambda one: -max(map(abs, one[1].points)))
        return {
            "points": [self._totals.record(*one) for one in ranked],
            "base": self.base[0] if self.has_one_total else dict(zip(classes, self.base, strict=True)),
            "total": whole if self.has_one_total else dict(zip(classes, whole, strict=True)),
            "prediction": self.predictions_of(totals).tolist()[0],
            **({"probabilities": shares} if classes else {}),
        }

    def score_bands(self, most: int) -> ScoreBands:
        """Return at most about `most` bands of the totals for two classes; for more, one for each class."""
        self.schema.classes  # noqa: B018 -- raises for a number
        bands, places = self._totals.score_bands(most)
        return ScoreBands(bands, lambda bins, n_rows: places(self.totals_of(bins, n_rows)))

    def decisions(self, X: Any) -> RowDecisions:
        """Return what the total of each row decides, and the total; for `X` and errors see `predict`."""
        codes, n_rows = self._encoded(X)
        totals = self.totals_of(codes, n_rows)
        titles = self._totals.titles("total")
        reasons = dict(zip(titles, totals.reshape(len(totals), len(self.base)).T, strict=True))
        shares = self.probabilities_of(totals)

        def explained() -> dict[str, Any]:
            of_classes = np.zeros(n_rows, dtype=np.intp) if self.has_one_total else totals.argmax(axis=1)
            shown = {"probability": shares.max(axis=1)} if self.has_shares else {}
            return {"explanation": row_texts(self._totals, codes, of_classes), **shown}

        return RowDecisions(self.predictions_of(totals).tolist(), reasons, shares, explained)

    def listings(self) -> tuple[Listing, ...]:
        """Return the points by bin, and for two classes or a number what totals mean, as tables."""
        return self._totals.listings()

    def risks(self) -> list[dict[str, Any]]:
        """Return the probability of the second class, or the number, for at most 13 totals that rows can have.

        Each record has the total, its ``probability``, or the number (``prediction``), and the ends ``low`` and
        ``high`` of the 95 % interval by the noise, None where `error` is. Totals between the ends are round numbers.

        Raises
        ------
        ValueError
            If there are more than two classes: a row then has a total for each.
        """
        if not self.has_one_total:
            got = f"{len(self.base)}, for each of which a row has a total"
            raise ArgumentError(f"expected two classes, got {got}; use predict_proba.")
        return [one.record() for one in self._totals.risks]

    def to_sql(
        self,
        dialect: DialectName = "duckdb",
        *,
        types: ColumnTypes = "any",
        output: Literal["prediction", "total"] = "prediction",
    ) -> str:
        """Return an expression in an engine's SQL that gives what is predicted, or the total, from the raw columns.

        It is NULL where a value has no bin and `predict` raises an error. For columns see `Model.to_sql`.

        Parameters
        ----------
        dialect : {"duckdb", "postgres", "spark", "bigquery", "snowflake"}, default="duckdb"
            The engine.
        types : {"any", "declared"}, default="any"
            The types of the columns: see `Model.to_sql`.
        output : {"prediction", "total"}, default="prediction"
            What the expression gives; the total for two classes, or of a number, only.

        Raises
        ------
        ValueError
            If there is no such dialect, output or choice of types, or Spark would read a column's name as another.
        """
        from hedgerow.models import sql  # sqlglot takes long to import
        from hedgerow.models.dialects import dialect_named

        check_choice("output", output, ("prediction", "total"))
        if output == "total" and not self.has_one_total:
            raise ArgumentError(f"output='total' is for two classes, got {len(self.base)}; leave it out.")
        if output == "prediction":
            return super().to_sql(dialect, types=types)
        of = dialect_named(dialect, types)
        lines = total_sql(self._totals.bins, self.base, self.schema, of)
        return sql.expression(lines, of, self._guarantee)

    def _sql(self, dialect: Dialect) -> list[str]:
        return self._totals.sql(dialect)

    def to_python(self) -> str:
        """Return the source of Python functions ``predict(row)`` and ``total(row)`` that need nothing installed.

        For more than two classes, ``total`` returns one a class. A value without a bin is a ValueError.
        """
        of = self._totals
        return python_functions(of.bins, self.base, of.python, self.schema, self._guarantee)

    def reasons(self, X: Any, *, favourable: Value | None = None) -> Array:
        """Return the attributes that cost each row most points, shape ``(n_rows, 4)``: reason codes.

        An attribute costs the distance of its points from the best of its bins; of equal costs, the first of `parts`
        comes first. Of the four attributes that cost most, those are named whose cost is larger than its noise: 1.96
        standard errors of the difference of points, if `AttributePoints.errors` are known. A bin with too few rows is
        no reason. None stands after the last name. For `X` and errors see `predict`.

        Parameters
        ----------
        favourable : str, int or bool, optional
            The class for which a row loses points; by default the one for which points speak: the second, or that of
            the scale. Of a number, ``"high"`` or ``"low"``.

        Raises
        ------
        ValueError
            If it is no class, there are more than two, or no attribute.
        """
        is_high = self._is_high(favourable)
        codes, n_rows = self._encoded(X)
        return reasons_by_points(self.parts, self._totals.bins, codes, n_rows, highest_is_best=is_high)

    def _is_high(self, favourable: Value | None) -> bool:
        if not self.has_one_total or not self.parts:
            found = "no attribute" if self.has_one_total else f"{len(self.base)} classes"
            raise ArgumentError(f"expected a scorecard of attributes, for two classes or a number; got {found}.")
        choices = self.schema.classes if self.has_shares else ("low", "high")
        if favourable is not None and favourable not in choices:
            raise ArgumentError(f"favourable must be one of {listed(choices)}, got {shown(favourable)}.")
        return favourable is None or favourable == choices[self._totals.points_for]

    def to_pmml(self, *, favourable: Value | None = None) -> str:
        """Return the scorecard as PMML with total, prediction and `reasons`.

        An evaluator of PMML ranks all attributes, so that its last reasons may cost nothing. In the place of one whose
        cost is within the noise it gives a code such as "(within the noise, 3)", and "(too few rows, 3)" if the row's
        bin has too few rows for points of its own.
        """
        is_high, bins, said = self._is_high(favourable), self._totals.bins, self._totals.pmml
        return self._pmml_document(
            scorecard_model(self.parts, bins, self.base, self.schema, said, highest_is_best=is_high)
        )

    @property
    def _parts_html(self) -> str:
        return form_html(self._totals) + Html("".join(element("p", remark) for remark in self._remarks))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the points of each bin for the 12 attributes whose points differ most, and return the axes.

        Bins in an order are steps, and others bars, with the 95 % interval by the noise where it is known. Bins with
        too few rows are grey.
        """
        of = self._totals
        has_intervals = any(one.margins for lines in of.table.lines for one in lines)
        title = of.plot_title + f" ({BY_NOISE})" * has_intervals
        return points_plot(of.table.lines, of.columns, title, self._caption, ax)

    def form(self, ax: Axes | None = None) -> Axes:
        """Draw a form to print and to fill in by hand; ValueError if it has more than 150 bins, or 6 classes."""
        digest = self.to_dict()["digest"].removeprefix("sha256:")[:12]
        captions = f"Model file: digest {digest}…", f"Guarantee: {self._caption}."
        return draw_form(self._totals, captions, ax)

    @property
    def has_shares(self) -> bool:
        """True if its totals give probabilities of classes."""
        return self.schema.target.as_number is None

    def _caveats(self) -> Iterator[Caveat]:
        if len(self.base) > 1:
            points = [np.array(part.points, dtype=np.int64) for part in self.parts]
            return of_class_totals(self.outcomes, np.array(self.base, dtype=np.int64), points)
        return of_total(self.outcomes, self._totals.leads[0], has_classes=self.has_shares)

    @property
    def _caption(self) -> str:
        return printable(self.privacy.headline)

    @property
    def _text(self) -> str:
        return "\n".join([card_text(self._totals), *(f"({remark})" for remark in self._remarks)])

    @property
    def _remarks(self) -> list[str]:
        """Remarks below the totals."""
        noise = CountNoise.of(self.privacy)
        is_exact = noise is not None and noise.is_exact
        return [_UNKNOWN_NOISE] if self.error is None and not is_exact else []

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
