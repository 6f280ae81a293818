"""Plans of private fits: the public arguments of `plan` are checked, and a forecast is made of them."""

from fractions import Fraction
from math import inf
from typing import Any

from hedgerow.boundary.arguments import check_integer, check_probability
from hedgerow.errors import ArgumentError, ArgumentTypeError
from hedgerow.planning.expected import (
    DefaultDraws,
    bin_noise,
    cut_points_noise,
    even_spread,
    leaf_noise,
    least_epsilon,
    rows_in_a_bin,
)
from hedgerow.planning.forecast import Forecast, least_epsilon_for
from hedgerow.planning.simulation import ByEpsilon, simulate, simulate_others
from hedgerow.privacy.amounts import Amount, exact
from hedgerow.privacy.exponential_mechanism import MOST_ROWS, MOST_WHOLE
from hedgerow.privacy.unit import rows_of
from hedgerow.schema.numbers import Numeric
from hedgerow.schema.schema import Schema
from hedgerow.text.messages import number_of
from hedgerow.text.values import quoted_text

ACCURACY_LOSS = 0.05
_SHARE_FOR_CUTS = Fraction(1, 5)


def plan(
    schema: Schema,
    rows: int,
    epsilon: Amount | None = None,
    *,
    units: int | None = None,
    delta: Amount = 0,
    accuracy_loss: float = ACCURACY_LOSS,
    spread: float | None = None,
    public: tuple[Any, Any] | None = None,
    runs: int = 20,
    curve_runs: int = 0,
    verbose: bool = False,
) -> Forecast:
    """Forecast what private fits do to a table, before anything is spent. No private row is looked at.

    Parameters
    ----------
    schema : Schema
        The schema with its label.
    rows : int
        About how many rows there are, as somebody who does not look knows it: their exact number is private.
    epsilon : float, Fraction, Decimal or str, optional
        The ε of a model. Default: the smallest, to two digits, at which one test loses no more than `accuracy_loss`.
    units : int, optional
        About how many units there are. Required if the schema has a unit, since at most `max_rows` rows of each are
        counted. The forecast assumes that units have about the same number of rows.
    delta : float, Fraction, Decimal or str, default=0
        The δ of a scorecard.
    accuracy_loss : float, default=0.05
        The share of rows that may be in error besides those that the best model gets wrong; of a number, by how much R²
        may be lower than the best model's.
    spread : float, optional
        About the standard deviation of a number that is predicted, as somebody who does not look knows it, for R².
        Default: that of numbers that are spread evenly between the bounds, which is rather large: R² is then
        lower by more than is said.
    public : tuple of (data, labels), optional
        A **public** table like the private one: default models are fitted to as many of its rows, and tried on others;
        if the schema has a unit, to as many of its units.
    runs : int, default=20
        How often.
    curve_runs : int, default=0
        How often at each of five other ε, from a twentieth to eight times `epsilon`, for the plot; 0 for not at all.
    verbose : bool, default=False
        Whether to show progress on stderr.

    Returns
    -------
    Forecast
        Print it, plot it, or read its numbers.

    Raises
    ------
    ValueError
        If an argument is out of range, or `epsilon` is below the supported minimum.
    TypeError
        If `schema` is no schema.

    Examples
    --------
    >>> import hedgerow as hr
    >>> schema = hr.Schema({f"x{n}": hr.Boolean() for n in range(8)}, hr.Label("ill", ("no", "yes")))
    >>> forecast = plan(schema, rows=400, epsilon=1)
    >>> forecast.leaf_noise, forecast.least_epsilon
    (15, 0.77)
    >>> print(forecast.recommendation)
    A private tree misclassifies, on average, at most 5 % of the rows more than the best tree with up to 4 leaves; ...
    """
    table_rows, rows = _checked_rows(schema, rows, units)
    check_integer("runs", runs, 1)
    if check_integer("curve_runs", curve_runs, 0) and public is None:
        raise ArgumentError("curve_runs needs public, the rows that models are tried on.")
    check_probability("accuracy_loss", accuracy_loss)
    slack, about = exact(delta, "delta"), _spread(schema, spread)
    draws = DefaultDraws.of(schema)
    spent = _enough(draws, rows, float(accuracy_loss), about) if epsilon is None else exact(epsilon, "epsilon")
    if not spent:
        raise ArgumentError("epsilon must be a number > 0, got 0.")
    if not slack < 1:
        raise ArgumentError("delta must be a number from 0 to 1, 1 excluded.")
    drawn = rows if units is None else int(units)
    simulated = () if public is None else simulate(schema, drawn, spent, slack, public, runs, verbose=verbose)
    others: ByEpsilon = ()
    if public is not None and curve_runs:
        others = simulate_others(schema, drawn, spent, slack, public, curve_runs, verbose=verbose)
    attributes, noise = bin_noise(schema, spent, slack, rows)
    return Forecast(
        schema=schema,
        rows=rows,
        table_rows=table_rows,
        units=None if units is None else int(units),
        epsilon=spent,
        delta=slack,
        accuracy_loss=float(accuracy_loss),
        draws=draws.expected(spent, about, rows),
        leaf_noise=leaf_noise(float(spent) / rows_of(schema.unit)),
        bin_noise=inf if about else noise,
        rows_in_a_bin=rows_in_a_bin(schema, rows),
        attributes=attributes,
        least_epsilon=least_epsilon(rows) * rows_of(schema.unit),
        cut_points=cut_points_noise(schema, spent * _SHARE_FOR_CUTS, rows),
        simulated=simulated,
        spread=about,
        constants=draws.constants(rows, spent),
        by_epsilon=tuple(sorted([*others, (spent, simulated)], key=lambda point: point[0])) if others else (),
    )


def _checked_rows(schema: Schema, rows: int, units: int | None) -> tuple[int, int]:
    """Return the rows of the table, and how many of them are counted, of a schema that can be forecast for."""
    if not isinstance(schema, Schema):
        raise ArgumentTypeError(f"schema must be a Schema, got {type(schema).__name__}.")
    if schema.label is None or not len(schema):
        raise ArgumentError("expected a schema with attributes and a label to forecast for, got one without.")
    if schema.weight is not None:
        problem = "leave the weight out of the schema: the sum of all weights is private"
        raise ArgumentError(f"{problem}. Forecast at epsilon times the usual weight over the largest.")
    table_rows = check_integer("rows", rows, 1)
    counted = _counted_rows(schema, table_rows, units)
    numbers = [one for _, one in schema.attributes if isinstance(one, Numeric)]
    most = MOST_ROWS if any(one.has_default_cuts or not one.cuts for one in numbers) else MOST_WHOLE
    if counted >= most:
        raise ArgumentError(f"rows must be below {most:,}, the most that draws of models or, first, cut points take.")
    return table_rows, counted


def _counted_rows(schema: Schema, rows: int, units: int | None) -> int:
    """Return how many rows of the table are counted if all units have about the same number of rows."""
    unit = schema.unit
    if unit is None:
        if units is not None:
            raise ArgumentError("units is for a schema with a unit, and this schema has none; leave units out.")
        return rows
    name = quoted_text(unit.column)
    if units is None:
        counted = number_of(unit.max_rows, "row")
        problem = f"give units (--units): about how many different values of {name} there are"
        raise ArgumentError(f"{problem}. At most {counted} of each unit (max_rows) are counted, not all {rows:,} rows.")
    if check_integer("units", units, 1) > rows:
        raise ArgumentError(f"units must be at most rows ({rows:,}), as each unit has a row; got {units:,}.")
    return min(rows, int(units) * unit.max_rows)


def _spread(schema: Schema, given: float | None) -> float | None:
    """Return about the standard deviation of a number, checked; None of classes."""
    number = schema.target.as_number
    if number is None:
        if given is not None:
            raise ArgumentError("spread must be left out: the label has classes, and spread is of a number.")
        return None
    if given is None:
        return even_spread(number)
    most = (number.high - number.low) / 2
    if isinstance(given, bool) or not isinstance(given, (int, float)) or not 0 < given <= most:
        raise ArgumentError(f"spread must be a number > 0 and <= {most:g}, half the bounds' distance, got another.")
    return float(given)


def _enough(draws: DefaultDraws, rows: int, loss: float, spread: float | None) -> Fraction:
    expected_losses = draws.expected(Fraction(1), spread)
    found = least_epsilon_for(expected_losses, loss, rows)
    if found is None:
        problem = "give epsilon: with this schema models are not drawn as a whole, and no loss is known beforehand"
        if expected_losses:
            problem = f"give epsilon: with {rows:,} rows no epsilon up to 100 is known to be enough"
        raise ArgumentError(f"{problem}.")
    return exact(found, "epsilon")
