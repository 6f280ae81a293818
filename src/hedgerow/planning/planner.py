"""`plan`, which checks its public arguments and returns a forecast of private fits."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from hedgerow.boundary.arguments import check_integer, check_probability
from hedgerow.errors import ArgumentError, ArgumentTypeError
from hedgerow.learn.auto import automatic_choice
from hedgerow.learn.objectives import ClassificationLoss
from hedgerow.models.decisions import ClassWeight, Costs, by_class, cost_matrix
from hedgerow.planning.expected import (
    DefaultDraws,
    Expected,
    RareClass,
    bin_noise,
    chosen_first,
    cut_points_noise,
    even_spread,
    leaf_noise,
    rows_in_a_bin,
)
from hedgerow.planning.facts import epsilon_for_two_levels
from hedgerow.planning.forecast import Forecast
from hedgerow.planning.simulation import PublicTable, Simulation
from hedgerow.privacy.amounts import Amount, amount_text, exact, positive
from hedgerow.privacy.exponential_mechanism import MOST_ROWS, MOST_WHOLE
from hedgerow.privacy.facts import Fact
from hedgerow.schema.numbers import Numeric
from hedgerow.schema.schema import Schema
from hedgerow.text.messages import describe_argument, number_of, shown
from hedgerow.text.values import listed, quoted_text

ACCURACY_LOSS = 0.05
_SHARE_FOR_CUTS = Fraction(1, 5)
_RARE = 0.2  # the largest share of the rarest class of a public table that counts as rare


def plan(
    schema: Schema,
    rows: int,
    epsilon: Amount | None = None,
    *,
    units: int | None = None,
    delta: Amount = 0,
    accuracy_loss: float = ACCURACY_LOSS,
    spread: float | None = None,
    class_share: Mapping[Any, float] | None = None,
    class_weight: ClassWeight | None = None,
    costs: Costs | None = None,
    public: tuple[Any, Any] | None = None,
    runs: int | None = None,
    verbose: bool = False,
) -> Forecast:
    """Forecast private fits of a table, to choose the model, its size and ε before spending any budget.

    A forecast uses public information only; no private row is read.

    Parameters
    ----------
    schema : Schema
        The schema with its label.
    rows : int
        The approximate number of rows, from public knowledge; their exact number is private.
    epsilon : float, Fraction, Decimal or str, optional
        The ε of a model. Default: the smallest, to two digits, at which a tree of two levels loses at most
        `accuracy_loss`.
    units : int, optional
        The approximate number of units (persons). Required if the schema has a unit, since at most `max_rows` rows of
        each unit are used. The forecast assumes that units have about the same number of rows.
    delta : float, Fraction, Decimal or str, default=0
        The δ of a scorecard.
    accuracy_loss : float, default=0.05
        The accepted loss to noise: a share of the rows that are misclassified in addition to the errors of the best
        model of the same size; of a number, a reduction of R². If errors have costs, a share of the largest cost for
        each row; on a public table, a share of the constant's cost.
    spread : float, optional
        The approximate standard deviation of a number that is predicted, as a public guess, for R². The default is
        the standard deviation of numbers spread evenly between the bounds. It is rather large, so that R² may be lower
        than forecast.
    class_share : mapping of one class to its share, optional
        The share of a rare class among the rows as a public guess, such as ``{"yes": 0.03}``. The forecast then has the
        probability that a model predicts one class for everyone, and the effect of a class weight and a larger ε.
        Default: the rarest class of `public`, if its share is at most 20 %.
    class_weight : mapping of class to float, optional
        The cost of errors on a class, as for learners.
    costs : mapping of class to mapping of class to float, optional
        The costs of errors, as for learners; cannot be combined with `class_weight`.
    public : tuple of (data, labels), optional
        A **public** or synthetic table like the private table. Default models are fitted to `rows` of its rows, or to
        `units` of its units, and scored on held-out rows: accuracy, mean cost if errors have costs, or R² of a number.
    runs : int, optional
        With `public`, the number of fits of each model at each of six ε, from a twentieth to eight times `epsilon`.
        Default: 9, without kinds of models whose fits would take more than two and a half minutes in total.
    verbose : bool, default=False
        Whether to show progress, and the remaining time after the first run, on stderr.

    Returns
    -------
    Forecast
        Print it, plot it, or read its numbers.

    Raises
    ------
    ValueError
        If an argument is out of range, or `epsilon` is below the supported minimum.
    TypeError
        If `schema` is not a `Schema`.

    Examples
    --------
    >>> import hedgerow as hr
    >>> schema = hr.Schema({f"x{n}": hr.Boolean() for n in range(8)}, hr.Label("ill", ("no", "yes")))
    >>> forecast = plan(schema, rows=400, epsilon=1)
    >>> [round(bound.excess(forecast.epsilon)) for bound in forecast.draws if bound.kind == "tree"]
    [5, 11, 31, 98, 305]
    >>> print(forecast.recommendation)
    With about 400 rows and epsilon = 1, a tree of depth 2 misclassifies on average at most 11 of 400 rows ...
    """
    table_rows, rows = _checked_rows(schema, rows, units)
    units = None if units is None else int(units)
    _check_runs(runs, has_table=public is not None)
    check_probability("accuracy_loss", accuracy_loss)
    delta, deviation = _checked_delta(delta), _spread(schema, spread)
    costs = _costs(schema, class_weight, costs)
    table = None if public is None else PublicTable.of(schema, public)
    rare = _rare(schema, class_share, table)
    draws = DefaultDraws.of(schema, costs)
    bounds = draws.expected(deviation, rows)
    largest = max((float(bound.bound.scale) for bound in bounds), default=1.0) if costs is not None else 1.0
    epsilon = _checked_epsilon(epsilon, bounds, rows, accuracy_loss * rows * largest)
    simulation = Simulation(
        schema=schema, number=units or rows, rows=rows, epsilon=epsilon, delta=delta, costs=costs, runs=runs
    )
    attributes, noise = bin_noise(schema, epsilon, delta, rows)
    first = next(iter(draws.by_kind.values()), None)
    return Forecast(
        schema=schema,
        table_rows=table_rows,
        units=units,
        rows=rows,
        epsilon=epsilon,
        delta=delta,
        accuracy_loss=float(accuracy_loss),
        costs=costs,
        spread=deviation,
        draws=bounds,
        leaf_noise=None if first is None else leaf_noise(first[0].plan(epsilon)),
        bin_noise=None if deviation else noise,
        rows_in_a_bin=rows_in_a_bin(schema, rows),
        attributes=attributes,
        chosen_first=chosen_first(schema, epsilon, rows),
        cut_points=cut_points_noise(schema, epsilon * _SHARE_FOR_CUTS, rows),
        rare=rare,
        risks=() if rare is None else draws.risks(rows, epsilon, rare),
        rare_limit=draws.rare_limit(rows, epsilon),
        curve=None if table is None else simulation.run(table, verbose=verbose),
        choice=_choice(schema, rows, epsilon, costs),
    )


def _choice(schema: Schema, rows: int, epsilon: Fraction, costs: Costs | None) -> Fact | None:
    """Return the automatic choice, or None for a number and for costs with monotone attributes."""
    if schema.target.as_number is not None or (schema.monotone and costs is not None):
        return None
    return automatic_choice(schema, rows, epsilon, costs=costs)


def _costs(schema: Schema, class_weight: ClassWeight | None, costs: Costs | None) -> Costs | None:
    """Return the checked costs of errors, or None if all errors cost the same."""
    if class_weight is None and costs is None:
        return None
    if schema.target.as_number is not None:
        raise ArgumentError("costs and class_weight are not allowed, because the label is a number; leave them out.")
    ClassificationLoss(class_weight=class_weight, costs=costs).table(schema)
    matrix, classes = cost_matrix(schema.classes, class_weight, costs), schema.classes
    return {
        actual: {predicted: float(matrix[row, column]) for column, predicted in enumerate(classes) if row != column}
        for row, actual in enumerate(classes)
    }


def _rare(schema: Schema, given: Mapping[Any, float] | None, table: PublicTable | None) -> RareClass | None:
    """Return the given rare class, or the rarest class of a public table, with its share."""
    if schema.target.as_number is not None:
        if given is not None:
            raise ArgumentError("class_share is not allowed, because the label is a number; leave it out.")
        return None
    if given is None:
        if table is None:
            return None
        counts = {value: int((table.labels == value).sum()) for value in schema.classes}
        rarest = min(counts, key=lambda value: counts[value])
        share = counts[rarest] / len(table.labels)
        return RareClass(rarest, share) if 0 < share <= _RARE else None
    if not isinstance(given, Mapping) or len(given) != 1:
        raise ArgumentError(
            f"class_share must map a single class to its share, such as {{'yes': 0.03}}, got {shown(given)}."
        )
    ((value, share),) = by_class(schema.classes, given).items()
    if value not in schema.classes:
        classes = listed(schema.classes)
        raise ArgumentError(f"class_share: expected a class of the label ({classes}), got {describe_argument(value)}.")
    if isinstance(share, bool) or not isinstance(share, (int, float)) or not 0 < share <= 0.5:
        raise ArgumentError(f"class_share must be a number > 0 and <= 0.5, got {describe_argument(share)}.")
    return RareClass(value, float(share))


def _checked_rows(schema: Schema, rows: int, units: int | None) -> tuple[int, int]:
    """Return the numbers of rows in the table and of rows that are used, after checking the schema."""
    if not isinstance(schema, Schema):
        raise ArgumentTypeError(f"schema must be a Schema, got {type(schema).__name__}.")
    if schema.label is None or not len(schema):
        raise ArgumentError("the schema must have at least one attribute and a label.")
    if schema.weight is not None:
        problem = "a schema with a weight is not supported, because the sum of all weights is private"
        advice = "leave the weight out, and multiply epsilon by the usual weight divided by the largest weight"
        raise ArgumentError(f"{problem}; {advice}.")
    table_rows = check_integer("rows", rows, 1)
    counted = _counted_rows(schema, table_rows, units)
    numbers = [attribute for _, attribute in schema.attributes if isinstance(attribute, Numeric)]
    limit = MOST_ROWS if any(number.has_default_cuts or not number.cuts for number in numbers) else MOST_WHOLE
    if counted >= limit:
        raise ArgumentError(f"rows must be below {limit:,}, the limit of private draws, got {counted:,}.")
    return table_rows, counted


def _counted_rows(schema: Schema, rows: int, units: int | None) -> int:
    """Return the number of rows that are used, if all units have about the same number of rows."""
    unit = schema.unit
    if unit is None:
        if units is not None:
            raise ArgumentError("units requires a schema with a unit, which this schema lacks; leave units out.")
        return rows
    name = quoted_text(unit.column)
    if units is None:
        used = number_of(unit.max_rows, "row")
        problem = f"units (--units) is missing: give the approximate number of different values of {name}"
        raise ArgumentError(
            f"{problem}. The forecast needs it because each unit contributes at most {used} (max_rows)."
        )
    if check_integer("units", units, 1) > rows:
        raise ArgumentError(f"units must be at most rows ({rows:,}), because each unit has a row; got {units:,}.")
    return min(rows, int(units) * unit.max_rows)


def _spread(schema: Schema, given: float | None) -> float | None:
    """Return the checked or default standard deviation of a number; None for classes."""
    number = schema.target.as_number
    if number is None:
        if given is not None:
            raise ArgumentError("spread is not allowed, because the label has classes; leave it out.")
        return None
    if given is None:
        return even_spread(number)
    most = (number.high - number.low) / 2
    if isinstance(given, bool) or not isinstance(given, (int, float)) or not 0 < given <= most:
        raise ArgumentError(
            f"spread must be a number > 0 and <= {most:g}, half the range, got {describe_argument(given)}."
        )
    return float(given)


def _check_runs(runs: int | None, *, has_table: bool) -> None:
    if runs is not None:
        check_integer("runs", runs, 1)
        if not has_table:
            raise ArgumentError("runs requires public, the table to which models are fitted.")


def _checked_delta(given: Amount) -> Fraction:
    delta = exact(given, "delta")
    if not delta < 1:
        raise ArgumentError(f"delta must be a number >= 0 and < 1, got {amount_text(delta)}.")
    return delta


def _checked_epsilon(given: Amount | None, bounds: Sequence[Expected], rows: int, allowed: float) -> Fraction:
    """Return the given ε, or the smallest at which a tree of two levels has at most the allowed loss."""
    if given is not None:
        return positive(given, "epsilon")
    enough = epsilon_for_two_levels(bounds, allowed)
    if enough is None:
        reason = "no bound on the loss of trees and rule lists is known for this schema"
        if bounds:
            reason = f"no epsilon up to 100 is known to be sufficient for {rows:,} rows"
        raise ArgumentError(f"epsilon is missing and has no default here: {reason}.")
    return exact(enough, "epsilon")
