"""Forecasts of private fits: facts, text and plots."""

from typing import Any

from hedgerow.planning.facts import ForecastFacts
from hedgerow.planning.plot import draw_bounds, draw_curve
from hedgerow.planning.wording import page, recommendation
from hedgerow.privacy.amounts import amount_text
from hedgerow.text.axes import Axes


class Forecast(ForecastFacts):
    """Forecast of private fits of a table, from public information only.

    Print it for a page of text, or plot it.

    Attributes
    ----------
    schema : Schema
        The schema.
    table_rows : int
        The approximate number of rows of the table.
    units : int or None
        The approximate number of units (persons); None if the schema has no unit.
    rows : int
        The approximate number of rows that are used: all rows of the table or, if the schema has a unit, at most
        `max_rows` of each unit. All shares and losses are of these rows.
    epsilon, delta : Fraction
        The budget of a model.
    accuracy_loss : float
        The accepted loss: a share of rows that are misclassified in addition to the errors of the best model of the
        same size, a reduction of R² of a number, or of costs a share of the largest cost for each row; on a public
        table, of the constant model's cost.
    costs : mapping or None
        The costs of errors; None if all errors cost the same.
    spread : float or None
        The approximate standard deviation of a number; None for classes.
    draws : tuple of Expected
        Bounds for trees and rule lists that are drawn as a whole, by size.
    leaf_noise : int or None
        Half the width, in rows, of the 95 % interval of a leaf's count of one class, in a default tree or rule list;
        None if these release no counts at this ε.
    bin_noise : float or None
        Half the width, in rows, of the 95 % interval of a class's count in a bin of a default scorecard; None for a
        number.
    rows_in_a_bin : float
        The average number of rows of one class in a bin.
    attributes : int
        The number of attributes that a default scorecard uses: all, or the most informative attributes.
    chosen_first : int or None
        The number of attributes that a default tree or rule list chooses before it is drawn; None if it uses all.
    cut_points : tuple of (int, float), or None
        The number of attributes whose cut points `Schema.learn` can find for a fifth of ε, and the sum of the
        deviations of one attribute's bins from equal sizes, in rows; None if all attributes have cut points.
    rare : RareClass or None
        The rare class and its share, if they were given or follow from the public table.
    risks : tuple of ConstantRisk
        If `rare` is known, the probability that a model predicts the same class for every row, for default models and
        with other options.
    rare_limit : float or None
        The share of a class below which a default model probably predicts the other class for every row; see
        `DefaultDraws.rare_limit`. None for a number, or if errors have costs.
    curve : Curve or None
        Scores of default models on a public table, by ε.
    choice : Fact or None
        The model that `PrivateAutoClassifier` fits for this number of rows and ε, and why; None for a number.
    """

    @property
    def recommendation(self) -> str:
        """The model to fit, in a few sentences."""
        return recommendation(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the forecast as JSON-ready data."""
        return super().to_dict() | {"recommendation": self.recommendation}

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the scores on the public table by ε; without a public table, the bounds on the loss by ε."""
        return draw_bounds(self, ax) if self.curve is None else draw_curve(self, self.curve, ax)

    def __str__(self) -> str:
        return page(self)

    def __repr__(self) -> str:
        return f"<Forecast for {self.rows:,} rows, epsilon={amount_text(self.epsilon)}>"
