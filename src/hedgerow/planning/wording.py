"""All text about forecasts, rendered from their facts."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import inf, isfinite
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.boundary.arrays import Floats
from hedgerow.planning.constant import CAPTURED
from hedgerow.planning.curve import AUTOMATIC, CONSTANT, Curve, Metric, Trial
from hedgerow.planning.expected import CUT_BINS, round_up
from hedgerow.planning.facts import ForecastFacts
from hedgerow.privacy.amounts import amount_text
from hedgerow.text.messages import aligned, number_of
from hedgerow.text.values import printable, value_text

if TYPE_CHECKING:
    from hedgerow.planning.constant import ConstantRisk
    from hedgerow.planning.expected import Expected

_WIDTH = 100
_NO_BREAK = "\u00a0"
_SLOW = 10.0  # seconds of a draw that are worth a line
_MANY, _EQUAL = 0.1, 2.0  # a risk that is worth a sentence; standard errors within which two models are equally good
_FEW = 1.5  # rows of a class: a limit below two rows is no help
_AHEAD = 0.005  # the smallest difference of AUROC that is visible in two digits
_ORDINALS = ("", "1st", "2nd", "3rd", "4th", "5th")


def page(forecast: ForecastFacts) -> str:
    """Return a forecast as one page of text."""
    budget = f"epsilon = {amount_text(forecast.epsilon)}"
    budget += f", delta = {amount_text(forecast.delta)}" if forecast.delta else ""
    lines = [
        _filled(f"Plan for about {rows_words(forecast)}, {budget}. It uses public numbers only: nothing was spent."),
        *(_filled(sentence) for sentence in _unit(forecast)),
    ]
    if forecast.curve is None:
        lines += ["", *_bounds(forecast)]
    else:
        lines += ["", *_curve(forecast, forecast.curve)]
    noise = [_filled(sentence) for sentence in _noise(forecast)]
    lines += ["", *noise] if noise else []
    lines += _risks(forecast)
    return "\n".join([*lines, "", "Recommendation", _filled(recommendation(forecast))])


def rows_words(forecast: ForecastFacts) -> str:
    """Return the number of rows, and of units if the schema has a unit."""
    unit = forecast.schema.unit
    if unit is None:
        return _rows(forecast.table_rows)
    return f"{forecast.units:,} units ({printable(unit.column)}) with {forecast.table_rows:,} rows"


def bound_name(bound: Expected) -> str:
    """Return the model of a bound with its size."""
    if bound.kind == "tree":
        return f"tree of {number_of(bound.size, 'level')}"
    return f"rule list of {number_of(bound.size, 'rule')}"


def metric_words(metric: Metric) -> str:
    """Return the score that a curve shows."""
    return {"accuracy": "accuracy (%)", "cost": "mean cost", "r2": "R²"}[metric]


def constant_words(forecast: ForecastFacts) -> str:
    """Return the model that predicts the same for every row."""
    if forecast.spread is not None:
        return "the mean for every row"
    return "the most frequent class" if forecast.costs is None else "the class of the smallest cost"


# Rows and units


def _rows(number: int) -> str:
    return f"{number:,} {'row' if number == 1 else 'rows'}"


def _unit(forecast: ForecastFacts) -> list[str]:
    unit = forecast.schema.unit
    if unit is None:
        return []
    text = f"epsilon protects all rows of a unit. At most {number_of(unit.max_rows, 'row')} of each unit are used, "
    text += f"about {forecast.rows:,} rows in all"
    if unit.max_rows == 1:
        return [f"{text}."]
    return [f"{text}; fewer if the units have very different numbers of rows, and the losses are then larger."]


def _lost(forecast: ForecastFacts, bound: Expected, excess: float | None = None) -> str:
    """Return an excess loss as a number of predictions and their share, or as a cost, or as a loss of R²."""
    lost = bound.excess(forecast.epsilon) if excess is None else excess
    share = f"{_percent(lost / forecast.rows)}"
    if forecast.spread is not None:
        return f"{lost / forecast.rows:.2g} of R²"
    if forecast.costs is not None:
        return f"a cost of {_cost(lost)} ({lost / forecast.rows:.2g} per row)"
    units = ""
    if forecast.units is not None:
        units = f", as many rows as {lost / forecast.rows * forecast.units:,.0f} units have"
    return f"{lost:,.0f} of {forecast.rows:,} predictions ({share}{units})"


# Bounds, without a public table


def _bounds(forecast: ForecastFacts) -> list[str]:
    if forecast.schema.monotone:
        return ["No tree or rule list: they do not keep what the schema declares as monotone; a scorecard does."]
    if not forecast.draws:
        why = "with this schema they are grown greedily"
        if forecast.chosen_first == 0:
            why = "there are too few rows to choose attributes by"
        elif forecast.chosen_first is not None:
            why = f"{forecast.chosen_first} of {len(forecast.schema):,} attributes are chosen first"
        return [f"No bounds are known for trees and rule lists: {why}."]
    needed = f"epsilon for {100 * forecast.accuracy_loss:g} %"
    if forecast.spread is not None:
        what = "R² lost to noise, at most, compared with the best model of the same size"
        head = ("", "on average", "in 95 % of fits", "absolute error added", needed)
        note = [f"For a standard deviation of {forecast.spread:.4g}. Errors are added if objective='absolute'."]
    else:
        lost = "Predictions" if forecast.costs is None else "Cost"
        what = f"{lost} lost to noise, at most, on average, compared with the best model of the same size"
        head, note = ("", "lost", "share" if forecast.costs is None else "per row", needed), []
    table = aligned([head, *(_bound_line(forecast, bound) for bound in forecast.draws)], left=1)
    return [what, *(f"  {line}" for line in table), *map(_filled, [*note, *_levels(forecast)])]


def _bound_line(forecast: ForecastFacts, bound: Expected) -> tuple[str, ...]:
    excess = bound.excess(forecast.epsilon)
    needed = bound.bound.epsilon_for(forecast.allowed)
    enough = f"{round_up(needed):g}" if isfinite(needed) else "none"
    leaves = f", up to {bound.leaves} leaves" if bound.kind == "tree" else ""
    name = f"{bound_name(bound)}{leaves}"
    if forecast.spread is not None:
        of = forecast.bounds_of_number(bound)
        texts = (f"{of[key]:.2g}" if of[key] < 1 else "no bound" for key in ("r2_below", "r2_usually_below"))
        return name, *texts, f"{of['mae_above']:.3g}", enough
    if forecast.costs is not None:
        return name, _cost(excess), f"{excess / forecast.rows:.2g}", enough
    if excess >= forecast.rows:
        return name, "no bound", "", enough
    return name, f"{excess:,.0f} of {forecast.rows:,}", _percent(excess / forecast.rows), enough


def _levels(forecast: ForecastFacts) -> list[str]:
    """Return what a further level has to gain: the number of levels is part of the draw."""
    trees = [bound for bound in forecast.draws if bound.kind == "tree"]
    steps = list[str]()
    for smaller, larger in pairwise(trees):
        more = larger.excess(forecast.epsilon) - smaller.excess(forecast.epsilon)
        if forecast.spread is not None:
            steps.append(f"a {_ORDINALS[larger.size]} more than {more / forecast.rows:.2g}")
        elif forecast.costs is not None:
            steps.append(f"a {_ORDINALS[larger.size]} more than {_cost(more)}")
        else:
            steps.append(f"a {_ORDINALS[larger.size]} more than {more:,.0f}")
    if not steps:
        return []
    what = {True: "raises R² by", False: "corrects"}[forecast.spread is not None]
    gains = "saves costs of" if forecast.costs is not None else what
    rows = " predictions" if forecast.spread is None and forecast.costs is None else ""
    return [
        f"A further level is worth its noise if it {gains} more than it can lose: {', '.join(steps)}{rows}. A fit "
        "chooses the number of levels privately, within epsilon; max_depth limits it."
    ]


# Noise on other releases


def _noise(forecast: ForecastFacts) -> list[str]:
    sentences = list[str]()
    used, attributes = forecast.attributes, len(forecast.schema)
    uses = f"chooses {used} of {attributes:,} attributes"
    if used == attributes:
        uses = f"uses all {attributes:,} attributes" if attributes > 1 else "uses the attribute"
    if forecast.bin_noise is not None:
        sentences.append(
            f"A scorecard {uses}; the rows of a class in a bin have noise of ± {forecast.bin_noise:,.0f} "
            f"(95 %), compared with {forecast.rows_in_a_bin:,.0f} rows on average."
        )
    elif used < attributes:
        sentences.append(f"A scorecard {uses}.")
    if forecast.leaf_noise is not None:
        sentences.append(
            f"The row counts of leaves that are released with a tree have noise of ± {forecast.leaf_noise:,} (95 %)."
        )
    if forecast.cut_points is not None:
        numbers, off = forecast.cut_points
        sentences.append(
            f"Cut points of {number_of(numbers, 'attribute')} can be learned for a fifth of epsilon: {CUT_BINS} bins "
            f"of {forecast.rows / CUT_BINS:,.0f} rows would deviate by about {off:,.0f} rows in total."
        )
    times = {bound.kind: bound.seconds for bound in forecast.draws if bound.seconds >= _SLOW}
    sentences += [f"Drawing a {kind} takes about {seconds:.0f} s." for kind, seconds in times.items()]
    return sentences


# Rare classes


def _risks(forecast: ForecastFacts) -> list[str]:
    rare = forecast.rare
    if rare is None or not forecast.risks:
        limit = forecast.rare_limit
        if limit is None or forecast.curve is not None or limit * forecast.rows < _FEW:
            return []
        rows = f"{limit * forecast.rows:,.0f} rows ({_percent(limit)})"
        text = f"A default tree tends to predict one class for everyone if the other class has fewer than {rows}"
        return [_filled(f"{text}, even if a split separates it well. Give class_share (--class-share) for details.")]
    name = f"{printable(forecast.schema.target.name)} = {printable(value_text(rare.value))}"
    what = (
        f"Probability that a model predicts one class for everyone, if {_percent(rare.share)} of the rows have {name}, "
        f"and the only informative split finds {100 * CAPTURED:g} % of these in a group where their share is"
    )
    columns = list(dict.fromkeys(risk.purity for risk in forecast.risks))
    by_option = dict[str, list[str]]()
    for risk in forecast.risks:
        by_option.setdefault(_option(forecast, risk), []).append(_probability(risk.probability))
    table = aligned([("", *map(_percent, columns)), *((name, *texts) for name, texts in by_option.items())], left=1)
    last = "A scorecard ranks people even if it predicts the same class for everyone: judge it by AUROC."
    return ["", _filled(what), *(f"  {line}" for line in table), last]


def _option(forecast: ForecastFacts, risk: ConstantRisk) -> str:
    if risk.class_weight is not None and forecast.rare is not None:
        weight = f"{printable(value_text(forecast.rare.value))}={risk.class_weight:g}"
        return f"{risk.kind}, class_weight {weight}"
    if risk.epsilon != forecast.epsilon:
        return f"{risk.kind}, epsilon = {amount_text(risk.epsilon)}"
    return f"{risk.kind}"


def _risk_advice(forecast: ForecastFacts) -> list[str]:
    """Return what helps against one class for everyone, for the second of the assumed splits."""
    if forecast.rare is None or not forecast.risks:
        return []
    kind = forecast.risks[0].kind
    purities = sorted({risk.purity for risk in forecast.risks})
    purity = purities[len(purities) // 2]
    risks = [risk for risk in forecast.risks if (risk.kind, risk.purity) == (kind, purity)]
    first, *others = risks
    if first.probability < _MANY:
        return []
    if not forecast.is_rare_class_learnable:  # with a class weight the labels would be noise
        others = [risk for risk in others if risk.class_weight is None]
    best = min(others, key=lambda risk: risk.probability, default=first)
    base = (
        f"A default {kind} predicts one class for everyone with probability {_probability(first.probability)} if the "
        f"best split finds a group in which {_percent(purity)} are {printable(value_text(forecast.rare.value))}"
    )
    if best.probability > first.probability / 2:
        return [f"{base}; a larger epsilon or class weights help little. Fit a scorecard, and rank by its score."]
    change = f"epsilon = {amount_text(best.epsilon)}"
    if best.class_weight is not None:
        weight = f"{printable(value_text(forecast.rare.value))}={best.class_weight:g}"
        change = f"class_weight={{{forecast.rare.value!r}: {best.class_weight:g}}} (--class-weight {weight})"
    return [f"{base}; {change} lowers this to {_probability(best.probability)}."]


def _probability(value: float) -> str:
    return "< 1 %" if value < 0.01 else "> 99 %" if value > 0.99 else f"{100 * value:.0f} %"


# A curve on a public table


def _curve(forecast: ForecastFacts, curve: Curve) -> list[str]:
    what = f"Public table, {metric_words(curve.metric)} on rows that were not used for the fit"
    if curve.runs > 1:
        chance = f"{100 * curve.band_probability:.0f} %"
        what += f": mean of {curve.runs} runs (a further run is within the band with probability {chance})"
    else:
        what += ", one run"
    models = (*curve.models, *([AUTOMATIC] if curve.has_automatic else []))
    rows: list[tuple[str, ...]] = [("epsilon", "constant", *models)]
    for epsilon in curve.epsilons:
        trials = [curve.trial(model, epsilon) for model in models]
        constant = _score(curve.metric, curve.trial(CONSTANT, epsilon).mean)
        mark = " <" if epsilon == forecast.epsilon else ""
        rows.append((f"{amount_text(epsilon)}{mark}", constant, *(_band(curve.metric, trial) for trial in trials)))
    lines = [_filled(what), *(f"  {line}" for line in aligned(rows, left=1))]
    lines.append(_filled(f"At epsilon = {amount_text(forecast.epsilon)}: {_sizes(forecast, curve)}."))
    for kind in curve.left_out:
        runs = f"Set runs (--runs {curve.runs}) to include it"
        lines.append(f"The {kind.model} was not tried: it would take about {kind.seconds / 60:.0f} minutes. {runs}.")
    return lines


def _sizes(forecast: ForecastFacts, curve: Curve) -> str:
    parts = list[str]()
    for model in curve.models:
        trial = curve.trial(model, forecast.epsilon)
        counts = [size.n_parts for size in trial.sizes]
        text = f"{model} with {np.mean(counts):.0f} {trial.sizes[0].parts}"
        text += f" ({min(counts)} to {max(counts)})" if min(counts) < max(counts) else ""
        text += f", AUROC {np.mean(trial.auroc):.2f}" if trial.auroc else ""
        text += f", mean absolute error {np.mean(trial.errors):.3g}" if trial.errors else ""
        if trial.constant:
            text += f", the same prediction for everyone in {trial.constant} of {curve.runs} runs"
        parts.append(text)
    return "; ".join(parts)


def _band(metric: Metric, trial: Trial) -> str:
    low, high = (_score(metric, end) for end in trial.band)
    band = f" ({low} to {high})" if len(trial.scores) > 1 else ""
    return f"{_score(metric, trial.mean)}{band}"


def _score(metric: Metric, value: float) -> str:
    return f"{100 * value:.1f}" if metric == "accuracy" else f"{value:.3f}"


# Recommendations


def recommendation(forecast: ForecastFacts) -> str:
    """Return which model to fit, and from which ε on it is worth it, in a few sentences."""
    sentences = _of_bounds(forecast) if forecast.curve is None else _of_curve(forecast, forecast.curve)
    return " ".join([*sentences, *_risk_advice(forecast), *_automatic(forecast)])


def _automatic(forecast: ForecastFacts) -> list[str]:
    """Return what the automatic choice takes."""
    if forecast.choice is None or forecast.is_hopeless:
        return []
    model, rows = forecast.choice["model"], forecast.choice.get("rows_needed")
    subject = "The automatic choice (--model auto)"
    if model == "either":
        return [f"{subject} draws from all trees and a scorecard, as for {rows:,} rows or more at this epsilon."]
    if forecast.choice["because"] == "few_rows":
        return [f"{subject} takes a tree, as for fewer than {rows:,} rows at this epsilon."]
    return [f"{subject} takes a {model}."]


def _of_bounds(forecast: ForecastFacts) -> list[str]:
    if forecast.is_hopeless:
        return _hopeless(forecast)
    sentences = [
        f"With about {rows_words(forecast)} and epsilon = {amount_text(forecast.epsilon)}, a {bound_name(bound)} loses "
        f"on average at most {_lost(forecast, bound)} compared with the best {bound.kind} of its size."
        for bound in forecast.largest[:1]
    ]
    rare = forecast.rare
    if not forecast.largest:
        sentences.append("Fit a scorecard: its noise is small compared with the rows in its bins.")
    elif not forecast.is_scorecard_sensible and forecast.bin_noise is not None:
        sentences.append("Do not fit a scorecard: its noise exceeds the rows in its bins.")
    elif rare is not None and forecast.costs is None and len(forecast.schema.classes) == 2:
        share = _percent(rare.share)
        sentences.append(
            f"Always predicting the other class is wrong for {share}: no model can save more (try --public)."
        )
    else:
        sentences.append(
            "Which model is most accurate depends on the rows: try a public or synthetic table (public=, --public)."
        )
    return sentences


def _hopeless(forecast: ForecastFacts) -> list[str]:
    sentences = [
        f"With about {rows_words(forecast)} and epsilon = {amount_text(forecast.epsilon)}, every tree and rule list "
        f"may lose more than {_allowed(forecast)} to noise."
    ]
    if forecast.enough_epsilon is None:
        return [*sentences, "Declare fewer attributes, values or cut points, or choose a larger epsilon."]
    smallest = min(forecast.draws, key=lambda bound: bound.excess(forecast.epsilon))
    share = smallest.excess(forecast.epsilon) / forecast.allowed
    if forecast.units is None:
        rows = f"{round_up(share * forecast.rows):,.0f} rows"
    else:
        rows = f"{round_up(share * forecast.units):,.0f} units"
    return [
        *sentences,
        f"From epsilon = {forecast.enough_epsilon:g} on, or with {rows}, a {bound_name(smallest)} loses at most "
        f"{_allowed(forecast)} on average. Fewer attributes, values or cut points help, too.",
    ]


def _allowed(forecast: ForecastFacts) -> str:
    """Return the accepted loss in words."""
    if forecast.spread is not None:
        return f"{forecast.accuracy_loss:g} of R²"
    share = f"{100 * forecast.accuracy_loss:g} %"
    return f"{share} of the predictions" if forecast.costs is None else f"{share} of the largest cost per row"


def _of_curve(forecast: ForecastFacts, curve: Curve) -> list[str]:
    epsilon = forecast.epsilon
    best = curve.best(epsilon)
    trial, constant = curve.trial(best, epsilon), curve.trial(CONSTANT, epsilon)
    first = curve.beats_constant_from(best)
    unit = " %" if curve.metric == "accuracy" else ""
    scores = f"{_score(curve.metric, trial.mean)}{unit}, compared with {_score(curve.metric, constant.mean)}{unit}"
    measure = metric_words(curve.metric).removesuffix(" (%)")
    if first is None or first > epsilon:
        later = [(start, model) for model in curve.models if (start := curve.beats_constant_from(model)) is not None]
        advice = "No model tried here is reliably better at any of these epsilon."
        if later:
            start, model = min(later)
            advice = f"From epsilon = {amount_text(start)} on a {model} is better in every run."
        return [
            f"At epsilon = {amount_text(epsilon)} no model is reliably better than {constant_words(forecast)}. {advice}"
        ]
    sentences = [
        f"Fit a {best}: at epsilon = {amount_text(epsilon)} its {measure} is {scores} for {constant_words(forecast)}. "
        f"It is better in every run from epsilon = {amount_text(first)} on."
    ]
    sentences += _sufficient(forecast, curve)
    sentences += [_compared(curve, best, model, epsilon) for model in curve.models if model != best]
    return [*sentences, *_ranking(curve, trial)]


def _ranking(curve: Curve, best: Trial) -> list[str]:
    """Return which model ranks better than the recommended one, if the difference is clear."""
    if not best.auroc:
        return []
    trials = [curve.trial(model, best.epsilon) for model in curve.models]
    ahead = max(trials, key=lambda trial: float(np.mean(trial.auroc)))
    gains = np.subtract(ahead.auroc, best.auroc)
    if gains.mean() <= max(_AHEAD, _EQUAL * _standard_error(gains)):
        return []
    means = f"AUROC {np.mean(ahead.auroc):.2f}, not {np.mean(best.auroc):.2f}"
    return [f"For ranking, the {ahead.model} is ahead ({means})."]


def _standard_error(differences: Floats) -> float:
    """Return the standard error of a mean; infinite for one run."""
    return float(differences.std(ddof=1) / len(differences) ** 0.5) if len(differences) > 1 else inf


def _sufficient(forecast: ForecastFacts, curve: Curve) -> list[str]:
    enough = curve.sufficient(forecast.accuracy_loss)
    if enough is None:
        return []
    model, epsilon = enough
    loss = f"{100 * forecast.accuracy_loss:g} points"
    if curve.metric == "r2":
        loss = f"{forecast.accuracy_loss:g}"
    elif curve.metric == "cost":
        loss = f"{100 * forecast.accuracy_loss:g} % of the constant's cost"
    last = amount_text(curve.epsilons[-1])
    return [
        f"The smallest epsilon tried that is enough is {amount_text(epsilon)}: a {model} is then within {loss} of the "
        f"best result at epsilon = {last}."
    ]


def _compared(curve: Curve, best: str, model: str, epsilon: Fraction) -> str:
    """Return how a model compares with the best model, by paired differences."""
    scale, digits, unit = (100, 1, " points") if curve.metric == "accuracy" else (1, 3, "")
    gains = scale * curve.gains(best, epsilon, model)
    error = _standard_error(gains)
    margin = f", standard error {error:.{digits}f}" if isfinite(error) else ""
    difference = f"{gains.mean():.{digits}f}{unit}"
    if gains.mean() <= _EQUAL * error:
        return f"The {model} is about as good (difference {difference}{margin})."
    return f"The {model} is worse by {difference}{margin}."


def _filled(text: str) -> str:
    """Return text in lines that do not break before a percent sign or around an equals sign."""
    for kept in (" %", " = "):
        text = text.replace(kept, kept.replace(" ", _NO_BREAK))
    return fill(text, _WIDTH, break_on_hyphens=False, break_long_words=False).replace(_NO_BREAK, " ")


def _cost(cost: float) -> str:
    return f"{cost:,.0f}" if cost >= 100 else f"{cost:.3g}"


def _percent(share: float) -> str:
    percent = 100 * share
    return (
        f"{percent:.0f} %"
        if percent >= 10
        else f"{percent:.1f} %"
        if percent >= 0.1
        else f"{percent:.2f} %"
        if percent >= 0.01
        else "< 0.01 %"
    )
