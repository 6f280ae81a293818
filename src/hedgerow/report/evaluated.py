"""The section of a report on a released evaluation: each measure with its intervals and the best constant's value."""

from collections.abc import Iterator

from hedgerow.evaluation.evaluation import Evaluation
from hedgerow.evaluation.intervals import Interval
from hedgerow.evaluation.measures import Estimate
from hedgerow.privacy.amounts import amount_text
from hedgerow.report.contents import Cell, Column, Grid, Section, SheetLine, section
from hedgerow.schema.targets import Label
from hedgerow.text.language import N_, _, decimal, number, percent, significant
from hedgerow.text.values import shown_text


def evaluated(evaluation: Evaluation | None) -> tuple[Section, ...]:
    """Return the section on an evaluation, if there is one."""
    if evaluation is None:
        return ()
    rows, (low, high) = evaluation.rows()
    text = _("about {rows} ({low} to {high})", rows=rows, low=low, high=high)
    facts = [SheetLine("rows", _("rows"), text, rows, (low, high))]
    facts += [_measure_line(evaluation, estimate) for estimate in evaluation.estimates]
    scale = number(amount_text(evaluation.scale))
    facts += [
        SheetLine("guarantee", _("guarantee"), evaluation.privacy.headline),
        SheetLine("scale", _("scale of the noise on each count, in rows"), scale, float(evaluation.scale)),
    ]
    grids = []
    if evaluation.by is not None:
        measures = (Column(own.key, _estimate_name(evaluation, own)) for own in evaluation.estimates)
        columns = (Column("group", evaluation.by, is_text=True), Column("rows", _("rows")), *measures)
        lines = [
            (name, evaluation.rows(name)[0], *map(_measure_cell, estimates))
            for name, estimates in evaluation.by_group.items()
        ]
        grids = [Grid("by_group", _("By {column}", column=evaluation.by), columns, tuple(lines))]
    return (section("evaluation", facts, grids, sentences=" ".join(_evaluation_sentences(evaluation))),)


def _evaluation_sentences(evaluation: Evaluation) -> Iterator[str]:
    first = _estimate_text(evaluation.estimates[0])
    if not isinstance(evaluation.target, Label):
        yield _("The mean absolute error is {error}.", error=first)
        return
    yield _("The accuracy is {accuracy}.", accuracy=first)
    has_costs = evaluation.costs is not None
    if evaluation.verdict == "too noisy to say":
        unclear = _(
            "The noise is too large to determine whether the model has fewer errors than a constant prediction."
        )
        if has_costs:
            unclear = _("The noise is too large to determine whether the model costs less than a constant prediction.")
        yield unclear
    elif evaluation.verdict == "better":
        fewer = _("The model has fewer errors than always predicting one class.")
        yield _("The model costs less than always predicting one class.") if has_costs else fewer
    else:
        more = _("The model has more errors than always predicting one class.")
        yield _("The model costs more than always predicting one class.") if has_costs else more


_ESTIMATES = {
    "accuracy": N_("accuracy"),
    "mean_cost": N_("mean cost"),
    "mean_distance": N_("mean distance in classes"),
    "log_loss": N_("log-loss"),
    "mae": N_("mean absolute error"),
    "rmse": N_("root mean squared error"),
    "true_less_predicted": N_("true minus predicted value"),
    "clipped_errors": N_("share of errors that may be clipped"),
}
"""The names of measures of an evaluation that do not name a class."""


def _estimate_name(evaluation: Evaluation, estimate: Estimate) -> str:
    labels = evaluation.target.values
    if estimate.key.startswith("errors_class_"):
        label = labels[int(estimate.key.rpartition("_")[2]) - 1]
        return _("errors among rows of class {label}", label=shown_text(label))
    if estimate.key == "observed_less_predicted":
        return _("observed minus predicted share of {label}", label=shown_text(labels[1]))
    return _(_ESTIMATES[estimate.key]) if estimate.key in _ESTIMATES else estimate.name


def _estimate_text(estimate: Estimate) -> str:
    """Return the text of an estimate with its intervals."""
    text = _value_text(estimate)
    if not estimate.is_informative:
        return text
    rows = _span_text(estimate, estimate.on_rows)
    if estimate.of_others is None:
        return _("{value} (noise only: {rows})", value=text, rows=rows)
    both = _span_text(estimate, estimate.of_others)
    return _("{value} (noise only: {rows}; noise and sampling: {both})", value=text, rows=rows, both=both)


def _value_text(estimate: Estimate) -> str:
    if estimate.value is None or not estimate.is_informative:
        return _("not known: the noise is too large")
    return percent(estimate.value, 1) if estimate.is_share else significant(estimate.value)


def _span_text(estimate: Estimate, ends: Interval) -> str:
    low, high = (significant(end) for end in ends)
    if estimate.is_share:
        low, high = decimal(100 * ends[0], 1), percent(ends[1], 1)
    return _("{low} to {high}", low=low, high=high)


def _measure_line(evaluation: Evaluation, estimate: Estimate) -> SheetLine:
    """Return the line of a measure: its intervals, and the same measure for the best constant prediction."""
    text = _estimate_text(estimate)
    if estimate.constant is not None:
        text = _("{measure}; best constant {constant}", measure=text, constant=_value_text(estimate.constant))
    return SheetLine(estimate.key, _estimate_name(evaluation, estimate), text, *_measured(estimate))


def _measure_cell(estimate: Estimate) -> Cell:
    return Cell(_estimate_text(estimate), *_measured(estimate))


def _measured(estimate: Estimate) -> tuple[float | None, tuple[float, float] | None]:
    """Return the value of an estimate with its interval for the rows that were counted; None if it is too noisy."""
    return (estimate.value, estimate.on_rows) if estimate.is_informative else (None, None)
