"""Text of forecasts, rendered from their facts."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import inf, isfinite
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.boundary.arrays import Floats
from hedgerow.learn.learners import COARSE_DEPTH, LARGEST_DEPTH
from hedgerow.learn.search.cost import MOST_SECONDS
from hedgerow.planning.constant import CAPTURED
from hedgerow.planning.curve import AUTOMATIC, CONSTANT, Curve, Metric, Trial
from hedgerow.planning.expected import CUT_BINS, round_up
from hedgerow.planning.facts import ForecastFacts
from hedgerow.privacy.amounts import amount_text
from hedgerow.schema.candidates import FEW_CUTS
from hedgerow.text.messages import aligned, number_of
from hedgerow.text.values import printable, rounded_text, value_text

if TYPE_CHECKING:
    from hedgerow.planning.constant import ConstantRisk
    from hedgerow.planning.expected import Expected

_WIDTH = 100
_NO_BREAK = "\u00a0"
_SLOW = 10.0  # seconds; a slower draw is mentioned
_MANY, _EQUAL = 0.1, 2.0  # smallest risk that is mentioned; standard errors within which two models are equal
_FEW = 1.5  # rows of a class; a smaller limit is not mentioned
_AHEAD = 0.005  # the smallest difference of AUROC that is visible in two digits


def page(forecast: ForecastFacts) -> str:
    """Return a forecast as one page of text."""
    budget = f"epsilon = {amount_text(forecast.epsilon)}"
    budget += f", delta = {amount_text(forecast.delta)}" if forecast.delta else ""
    lines = [
        _filled(
            f"Plan for about {rows_words(forecast)} and {budget}. It uses public information only and spends no budget."
        ),
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
    """Return the number of rows and, if the schema has a unit, of units."""
    unit = forecast.schema.unit
    if unit is None:
        return _rows(forecast.table_rows)
    return f"{forecast.units:,} units ({printable(unit.column)}) with {forecast.table_rows:,} rows"


def bound_name(bound: Expected) -> str:
    """Return the model of a bound with its size."""
    if bound.kind == "tree":
        return f"tree of depth {bound.size}"
    return f"rule list of {number_of(bound.size, 'rule')}"


def metric_words(metric: Metric) -> str:
    """Return the score that a curve shows."""
    return {"accuracy": "accuracy (%)", "cost": "mean cost", "r2": "R²"}[metric]


def constant_words(forecast: ForecastFacts) -> str:
    """Return the name of the constant prediction."""
    if forecast.spread is not None:
        return "the mean for every row"
    return "the most frequent class" if forecast.costs is None else "the class with the smallest cost"


# Rows and units


def _rows(number: int) -> str:
    return f"{number:,} {'row' if number == 1 else 'rows'}"


def _unit(forecast: ForecastFacts) -> list[str]:
    unit = forecast.schema.unit
    if unit is None:
        return []
    text = f"epsilon protects all rows of a unit together. At most {number_of(unit.max_rows, 'row')} of each unit "
    text += f"{'is' if unit.max_rows == 1 else 'are'} used, about {forecast.rows:,} rows in total."
    if unit.max_rows == 1:
        return [text]
    return [f"{text} If units have very different numbers of rows, fewer rows are used and the losses are larger."]


def _lost(forecast: ForecastFacts, bound: Expected, excess: float | None = None) -> str:
    """Return an excess loss as misclassified rows and their share, as a cost, or as a loss of R²."""
    lost = bound.excess(forecast.epsilon) if excess is None else excess
    share = f"{_percent(lost / forecast.rows)}"
    if forecast.spread is not None:
        return f"{lost / forecast.rows:.2g} of R²"
    if forecast.costs is not None:
        return f"a cost of {_cost(lost)} ({lost / forecast.rows:.2g} per row)"
    units = ""
    if forecast.units is not None:
        units = f"; on average the rows of {lost / forecast.rows * forecast.units:,.0f} units"
    return f"{lost:,.0f} of {forecast.rows:,} rows ({share}{units})"


def _loses(forecast: ForecastFacts) -> str:
    if forecast.spread is not None:
        return "loses"
    return "misclassifies" if forecast.costs is None else "causes"


# Bounds, without a public table


def _bounds(forecast: ForecastFacts) -> list[str]:
    if forecast.schema.monotone:
        return ["Fit a scorecard: trees and rule lists do not support the monotone attributes of this schema."]
    if not forecast.draws:
        reason = "they are grown greedily with this schema"
        if forecast.chosen_first == 0:
            reason = "there are too few rows to select attributes"
        elif forecast.chosen_first is not None:
            reason = f"{forecast.chosen_first} of {len(forecast.schema):,} attributes are selected first"
        return [f"No bounds are available for trees and rule lists, because {reason}."]
    needed = f"epsilon for at most {100 * forecast.accuracy_loss:g} %"
    if forecast.spread is not None:
        title = "Loss of R² because of noise (at most), compared with the best model of its size"
        head = ("", "on average", "in 95 % of fits", "absolute error added", needed)
        note = [
            f"The standard deviation is {rounded_text(forecast.spread, 4)}. The error added is for "
            "objective='absolute'."
        ]
    else:
        loss = "Rows misclassified" if forecast.costs is None else "Cost of errors"
        title = f"{loss} because of noise (average, at most), compared with the best model of its size"
        head, note = ("", *(("rows", "share") if forecast.costs is None else ("cost", "per row")), needed), []
    table = aligned([head, *(_bound_line(forecast, bound) for bound in forecast.draws)], left=1)
    sentences = [*note, *_levels(forecast), *_deeper(forecast)]
    return [_filled(title), *(f"  {line}" for line in table), *map(_filled, sentences)]


def _bound_line(forecast: ForecastFacts, bound: Expected) -> tuple[str, ...]:
    excess = bound.excess(forecast.epsilon)
    needed = bound.bound.epsilon_for(forecast.allowed)
    enough = f"{round_up(needed):g}" if isfinite(needed) else "not reached"
    leaves = f", up to {bound.leaves} leaves" if bound.kind == "tree" else ""
    name = f"{bound_name(bound)}{leaves}"
    if forecast.spread is not None:
        bounds = forecast.bounds_of_number(bound)
        texts = (f"{bounds[key]:.2g}" if bounds[key] < 1 else "no bound" for key in ("r2_below", "r2_usually_below"))
        return name, *texts, rounded_text(bounds["mae_above"], 3), enough
    if forecast.costs is not None:
        return name, _cost(excess), f"{excess / forecast.rows:.2g}", enough
    if excess >= forecast.rows:
        return name, "no bound", "", enough
    return name, f"{excess:,.0f} of {forecast.rows:,}", _percent(excess / forecast.rows), enough


def _levels(forecast: ForecastFacts) -> list[str]:
    """Return the gain that another level needs, since the depth is part of the draw."""
    trees = [bound for bound in forecast.draws if bound.kind == "tree"]
    steps = list[str]()
    for smaller, larger in pairwise(trees):
        more = larger.excess(forecast.epsilon) - smaller.excess(forecast.epsilon)
        if forecast.spread is not None:
            gain = f"{more / forecast.rows:.2g}"
        else:
            gain = _cost(more) if forecast.costs is not None else f"{more:,.0f}"
        steps.append(f"level {larger.size} more than {gain}")
    if not steps:
        return []
    gains = "corrects more rows than its noise can misclassify"
    if forecast.spread is not None:
        gains = "raises R² by more than its noise can lower it"
    elif forecast.costs is not None:
        gains = "saves more costs than its noise can add"
    return [
        f"A deeper tree is better only if its additional level {gains}: {', '.join(steps)}. A fit chooses the depth "
        "privately, within epsilon; max_depth limits it."
    ]


def _deeper(forecast: ForecastFacts) -> list[str]:
    """Return how to learn a deeper tree, if only the search time limits the default depth."""
    if not forecast.is_depth_limited:
        return []
    depth, fewer = max(bound.size for bound in forecast.draws if bound.kind == "tree"), ""
    more = min(depth + 2, LARGEST_DEPTH)
    if forecast.leaves_out_cut_points:
        more = min(depth + 1, LARGEST_DEPTH)
        fewer = (
            f" Even so, it uses only every second cut point of an attribute with more than {FEW_CUTS} "
            f"(max_depth={COARSE_DEPTH - 1} uses all), and the bounds compare it with trees of the same tests."
        )
    return [
        f"By default, a tree has at most {number_of(depth, 'level')}, because an exact search of more is expected to "
        f"take more than {MOST_SECONDS:g} seconds.{fewer} With many rows, a deeper tree may be more accurate: "
        f"max_depth={more} (--max-depth {more}) draws its levels in blocks, each for a share of epsilon; "
        "search='greedy' (--search greedy) with this max_depth takes less time."
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
            f"A scorecard {uses}. Its count of a class in a bin has noise of ± {forecast.bin_noise:,.0f} rows (95 %); "
            f"a bin has {forecast.rows_in_a_bin:,.0f} rows of a class on average."
        )
    elif used < attributes:
        sentences.append(f"A scorecard {uses}.")
    if forecast.leaf_noise is not None:
        sentences.append(
            f"The leaf counts that are released with a tree have noise of ± {forecast.leaf_noise:,} rows (95 %)."
        )
    if forecast.cut_points is not None:
        numbers, deviation = forecast.cut_points
        sentences.append(
            f"Cut points of {number_of(numbers, 'attribute')} can be learned for a fifth of epsilon. The {CUT_BINS} "
            f"bins, of {forecast.rows / CUT_BINS:,.0f} rows each, would then deviate by about {deviation:,.0f} rows in "
            "total."
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
        rows = f"fewer than {limit * forecast.rows:,.0f} rows ({_percent(limit)})"
        text = (
            f"A tree with default settings tends to predict the same class for everyone if the other class has {rows}"
        )
        return [_filled(f"{text}, even if a split separates it well. Add class_share (--class-share) for details.")]
    name = f"{printable(forecast.schema.target.name)} = {printable(value_text(rare.value))}"
    title = (
        f"Probability that a model predicts the same class for everyone, assuming that {_percent(rare.share)} of the "
        f"rows have {name} and that the only informative split finds {100 * CAPTURED:g} % of them, in a group in which "
        "their share is:"
    )
    columns = list(dict.fromkeys(risk.purity for risk in forecast.risks))
    by_option = dict[str, list[str]]()
    for risk in forecast.risks:
        by_option.setdefault(_option(forecast, risk), []).append(_probability(risk.probability))
    table = aligned([("", *map(_percent, columns)), *((name, *texts) for name, texts in by_option.items())], left=1)
    last = "A scorecard ranks people even if it predicts the same class for everyone; judge it by AUROC."
    return ["", _filled(title), *(f"  {line}" for line in table), last]


def _option(forecast: ForecastFacts, risk: ConstantRisk) -> str:
    if risk.class_weight is not None and forecast.rare is not None:
        weight = f"{printable(value_text(forecast.rare.value))}={risk.class_weight:g}"
        return f"{risk.kind}, class_weight {weight}"
    if risk.epsilon != forecast.epsilon:
        return f"{risk.kind}, epsilon = {amount_text(risk.epsilon)}"
    return f"{risk.kind}"


def _risk_advice(forecast: ForecastFacts) -> list[str]:
    """Return advice against a constant prediction, for the second of the assumed splits."""
    if forecast.rare is None or not forecast.risks:
        return []
    kind = forecast.risks[0].kind
    purities = sorted({risk.purity for risk in forecast.risks})
    purity = purities[len(purities) // 2]
    risks = [risk for risk in forecast.risks if (risk.kind, risk.purity) == (kind, purity)]
    first, *weighted = risks
    if first.probability < _MANY:
        return []
    if not forecast.is_rare_class_learnable:  # with a class weight, labels would be mostly noise
        weighted = [risk for risk in weighted if risk.class_weight is None]
    best = min(weighted, key=lambda risk: risk.probability, default=first)
    base = (
        f"A default {kind} predicts the same class for everyone with probability {_probability(first.probability)} if "
        f"the best split finds a group with {_percent(purity)} of class {printable(value_text(forecast.rare.value))}"
    )
    if best.probability > first.probability / 2:
        return [f"{base}; a larger epsilon or class weights help little. Fit a scorecard and rank by its score."]
    change = f"epsilon = {amount_text(best.epsilon)}"
    if best.class_weight is not None:
        weight = f"{printable(value_text(forecast.rare.value))}={best.class_weight:g}"
        change = f"class_weight={{{forecast.rare.value!r}: {best.class_weight:g}}} (--class-weight {weight})"
    return [f"{base}; {change} lowers this to {_probability(best.probability)}."]


def _probability(value: float) -> str:
    return "< 1 %" if value < 0.01 else "> 99 %" if value > 0.99 else f"{100 * value:.0f} %"


# A curve on a public table


def _curve(forecast: ForecastFacts, curve: Curve) -> list[str]:
    title = f"Public table: {metric_words(curve.metric)} on held-out rows"
    if curve.runs > 1:
        probability = f"{100 * curve.band_probability:.0f} %"
        title += f", mean of {curve.runs} runs (and band, which contains a further run with probability {probability})"
    else:
        title += ", a single run"
    models = (*curve.models, *([AUTOMATIC] if curve.has_automatic else []))
    rows: list[tuple[str, ...]] = [("epsilon", "constant", *models)]
    for epsilon in curve.epsilons:
        trials = [curve.trial(model, epsilon) for model in models]
        constant = _score(curve.metric, curve.trial(CONSTANT, epsilon).mean)
        mark = " <" if epsilon == forecast.epsilon else ""
        rows.append((f"{amount_text(epsilon)}{mark}", constant, *(_band(curve.metric, trial) for trial in trials)))
    lines = [_filled(title), *(f"  {line}" for line in aligned(rows, left=1))]
    lines.append(_filled(f"At epsilon = {amount_text(forecast.epsilon)} (marked <): {_sizes(forecast, curve)}."))
    for kind in curve.left_out:
        advice = f"To include it, set the number of runs (--runs {curve.runs})"
        minutes = f"{kind.seconds / 60:.0f} minutes"
        lines.append(f"The {kind.model} was not tried, because its fits would take about {minutes}. {advice}.")
    return lines


def _sizes(forecast: ForecastFacts, curve: Curve) -> str:
    parts = list[str]()
    for model in curve.models:
        trial = curve.trial(model, forecast.epsilon)
        counts = [size.n_parts for size in trial.sizes]
        text = f"{model} with {np.mean(counts):.0f} {trial.sizes[0].parts}"
        text += f" ({min(counts)} to {max(counts)})" if min(counts) < max(counts) else ""
        text += f", AUROC {np.mean(trial.auroc):.2f}" if trial.auroc else ""
        text += f", mean absolute error {rounded_text(float(np.mean(trial.errors)), 3)}" if trial.errors else ""
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
    """Return which model to fit, and from which ε on, in a few sentences."""
    sentences = _of_bounds(forecast) if forecast.curve is None else _of_curve(forecast, forecast.curve)
    return " ".join([*sentences, *_risk_advice(forecast), *_automatic(forecast)])


def _automatic(forecast: ForecastFacts) -> list[str]:
    """Return the model of the automatic choice."""
    if forecast.choice is None or forecast.is_hopeless:
        return []
    model, rows = forecast.choice["model"], forecast.choice.get("rows_needed")
    subject = "The automatic choice (--model auto)"
    if model == "either":
        return [
            f"{subject} draws from all trees and a scorecard; at this epsilon, it does so with {rows:,} rows or more."
        ]
    if forecast.choice["because"] == "few_rows":
        return [f"{subject} fits a tree; at this epsilon, it considers a scorecard with {rows:,} rows or more."]
    return [f"{subject} fits a {model}."]


def _of_bounds(forecast: ForecastFacts) -> list[str]:
    if forecast.is_hopeless:
        return _hopeless(forecast)
    sentences = [
        f"With about {rows_words(forecast)} and epsilon = {amount_text(forecast.epsilon)}, a {bound_name(bound)} "
        f"{_loses(forecast)} on average at most {_lost(forecast, bound)} "
        f"{'more than' if forecast.spread is None else 'compared with'} the best {bound.kind} of the same size."
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
            f"Always predicting the other class misclassifies {share} of the rows, and no model can correct more "
            "rows than these; to compare models, give a public or synthetic table (public=, --public)."
        )
    else:
        sentences.append(
            "Which model is most accurate depends on the rows; to compare models, give a public or synthetic table "
            "(public=, --public)."
        )
    return sentences


def _hopeless(forecast: ForecastFacts) -> list[str]:
    sentences = [
        f"With about {rows_words(forecast)} and epsilon = {amount_text(forecast.epsilon)}, noise may cost every tree "
        f"and rule list more than {_allowed(forecast)}."
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
        f"From epsilon = {forecast.enough_epsilon:g} on, or from {rows} on, noise costs a {bound_name(smallest)} "
        f"on average at most {_allowed(forecast)}. Fewer attributes, values or cut points also help.",
    ]


def _allowed(forecast: ForecastFacts) -> str:
    """Return the accepted loss in words."""
    if forecast.spread is not None:
        return f"{forecast.accuracy_loss:g} of R²"
    share = f"{100 * forecast.accuracy_loss:g} %"
    points = f"{100 * forecast.accuracy_loss:g} percentage points of accuracy"
    return points if forecast.costs is None else f"{share} of the largest cost per row"


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
        advice = "This holds for every epsilon that was tried."
        if later:
            start, model = min(later)
            tried = f"At epsilon = {amount_text(start)} and all larger values that were tried"
            advice = f"{tried}, a {model} was better in every run."
        constant_name = constant_words(forecast)
        return [f"At epsilon = {amount_text(epsilon)} no model was reliably better than {constant_name}. {advice}"]
    sentences = [
        f"Fit a {best}: at epsilon = {amount_text(epsilon)} its {measure} was {scores} for {constant_words(forecast)}. "
        f"It was better than this in every run, at epsilon = {amount_text(first)} and all larger values that were "
        "tried."
    ]
    sentences += _sufficient(forecast, curve)
    sentences += [_compared(curve, best, model, epsilon) for model in curve.models if model != best]
    return [*sentences, *_ranking(curve, trial)]


def _ranking(curve: Curve, best: Trial) -> list[str]:
    """Return the model that ranks clearly better than the recommended model."""
    if not best.auroc:
        return []
    trials = [curve.trial(model, best.epsilon) for model in curve.models]
    ahead = max(trials, key=lambda trial: float(np.mean(trial.auroc)))
    gains = np.subtract(ahead.auroc, best.auroc)
    if gains.mean() <= max(_AHEAD, _EQUAL * _standard_error(gains)):
        return []
    means = f"AUROC {np.mean(ahead.auroc):.2f}, compared with {np.mean(best.auroc):.2f}"
    return [f"For ranking, the {ahead.model} was better ({means})."]


def _standard_error(differences: Floats) -> float:
    """Return the standard error of a mean; infinite for a single run."""
    return float(differences.std(ddof=1) / len(differences) ** 0.5) if len(differences) > 1 else inf


def _sufficient(forecast: ForecastFacts, curve: Curve) -> list[str]:
    enough = curve.sufficient(forecast.accuracy_loss)
    if enough is None:
        return []
    model, epsilon = enough
    loss = f"{100 * forecast.accuracy_loss:g} percentage points"
    if curve.metric == "r2":
        loss = f"{forecast.accuracy_loss:g}"
    elif curve.metric == "cost":
        loss = f"{100 * forecast.accuracy_loss:g} % of the constant prediction's cost"
    last = amount_text(curve.epsilons[-1])
    return [
        f"The smallest sufficient epsilon was {amount_text(epsilon)}: at this and all larger values that were tried, a "
        f"{model} was on average within {loss} of the best result at epsilon = {last}."
    ]


def _compared(curve: Curve, best: str, model: str, epsilon: Fraction) -> str:
    """Return how a model compares with the best model, by paired differences."""
    scale, digits, unit = (100, 1, " percentage points") if curve.metric == "accuracy" else (1, 3, "")
    gains = scale * curve.gains(best, epsilon, model)
    error = _standard_error(gains)
    margin = f", standard error {error:.{digits}f}" if isfinite(error) else ""
    difference = f"{gains.mean():.{digits}f}{unit}"
    if gains.mean() <= _EQUAL * error:
        return f"At epsilon = {amount_text(epsilon)}, the {model} was about as good (difference {difference}{margin})."
    return f"At epsilon = {amount_text(epsilon)}, the {model} was worse by {difference}{margin}."


def _filled(text: str) -> str:
    """Wrap text without breaks before a percent sign or around an equals sign."""
    for unbroken in (" %", " = "):
        text = text.replace(unbroken, unbroken.replace(" ", _NO_BREAK))
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
