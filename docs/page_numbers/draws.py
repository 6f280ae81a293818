"""Draws and their composition: docs/{exact,forecasts,mathematics,studies/measured}.md."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import groupby
from math import sqrt
from statistics import fmean, stdev

from hedgerow.learn.auto import DRAW_SHARES, HANDICAP
from hedgerow.privacy.zcdp import drawn_rho, epsilon_at, pure_rho
from page_numbers.marks import NAMES, TUNED_NOTE, Row, markdown, number, records, short, table, tuned


@table
def stop_probability() -> str:
    """Mean accuracy by the constant probability of stopping."""
    mean = records("stop_probability.csv")[-1]
    chances = [key.removeprefix("ρ = ") for key in mean if key.startswith("ρ")]
    result = [re.fullmatch(r"(.*) \(−(.*) ± (.*)\)", mean[f"ρ = {chance}"]) for chance in chances]
    numbers = [match.groups() for match in result if match]
    lost = [f"{short(less, 4)} ± {short(error, 4)}" for _, less, error in numbers[1:]]
    return markdown(
        ("ρ", *(f"**{chance}**" if chance == "0.1" else chance for chance in chances)),
        [("accuracy", *(short(accuracy, 4) for accuracy, _, _ in numbers)), ("lost", "", *lost)],
    )


EPSILONS = ("0.05", "0.1", "1.0", "4.0")
OLD_RULE, RULE = "0.2.0: ρ = .1, depth drawn", "−2 + d/2 + w·d(d + 1)/2"


def _rules(use: str) -> str:
    """Return the mean difference from the prior of 0.2.0, and the mean number of leaves, by rule and ε."""
    result = [row for row in records("prior.csv") if row["use"] == use and row["table"] == "mean"]

    def cell(row: Row) -> str:
        return f"{_signed(row['difference'])}; {short(row['leaves'], 1)}, {short(row['share of small leaves'], 2)}"

    rows = dict.fromkeys(row["rule"] for row in result)
    cells = {(row["rule"], row["epsilon"]): cell(row) for row in result}
    head = ("log-odds of stopping", *(f"ε = {float(epsilon):g}" for epsilon in EPSILONS))
    names = {rule: f"**{rule}**" if rule == RULE else rule for rule in rows}
    return markdown(head, [(name, *(cells[rule, epsilon] for epsilon in EPSILONS)) for rule, name in names.items()])


def _signed(value: str) -> str:
    return ("+" if float(value) > 0 else "") + short(value, 4)


@table
def prior_choice() -> str:
    """Compare rules of the prior on the tables on which the rule was chosen."""
    return _rules("choice")


@table
def prior_losses() -> str:
    """Compare rules of the prior for other losses than errors."""
    return _rules("other losses")


@table
def prior_held_out() -> str:
    """Compare the chosen rule and 0.2.0 on the tables on which it was not chosen."""
    result = {
        (row["table"], row["rule"], row["epsilon"]): row for row in records("prior.csv") if row["use"] == "held out"
    }

    def cell(name: str, epsilon: str) -> str:
        old, new = (result[name, rule, epsilon] for rule in (OLD_RULE, RULE))
        error = f" ± {short(new['standard error'], 4)}" if int(new["splits"]) > 1 else ""
        small = " → ".join(short(row["share of small leaves"], 2) for row in (old, new))
        return f"{_signed(new['difference'])}{error}; {short(old['leaves'], 1)} → {short(new['leaves'], 1)}, {small}"

    splits = {name: row["splits"] for (name, *_), row in result.items()}
    head = ("table", "splits", *(f"ε = {float(epsilon):g}" for epsilon in EPSILONS))
    return markdown(head, [(name, n, *(cell(name, epsilon) for epsilon in EPSILONS)) for name, n in splits.items()])


TOLERATED = 0.005  # accuracy less than the better model's
ENOUGH_ROWS = min(DRAW_SHARES)


def _strength(row: Row) -> float:
    return float(row["epsilon"]) * int(row["rows"])


def _choice(model: str) -> Callable[[Row], float]:
    """Return a function of a cell: the loss of a tree with few rows times ε, and of this model with enough."""
    return lambda row: float(row[f"{model if _strength(row) >= ENOUGH_ROWS else 'tree'}, loss"])


def _model_rules() -> dict[str, Callable[[Row], float]]:
    rules: dict[str, Callable[[Row], float]] = {"tree": _choice("tree"), "tree, then scorecard": _choice("scorecard")}
    rules["scorecard"] = lambda row: float(row["scorecard, loss"])
    return rules | {f"tree, then one draw, handicap {h}": _choice(f"draw {h}") for h in (0, 6, 20, 40)}


@table
def model_choice_rules() -> str:
    """Compare rules that choose between a tree and a scorecard by the losses of all cells."""
    uses = {"choice": "tables of the choice", "other": "other tables"}
    cells = {use: [row for row in records("model_choice.csv") if row["use"] == use] for use in uses}

    def summary(loss: Callable[[Row], float], rows: Sequence[Row]) -> str:
        losses = [loss(row) for row in rows]
        within = sum(item <= TOLERATED for item in losses)
        return f"{short(fmean(losses), 4)}; {short(max(losses), 3)}; {within} of {len(losses)}"

    chosen = f"tree, then one draw, handicap {HANDICAP}"
    head = ("rule", *uses.values())
    rows = [
        (f"**{rule}**" if rule == chosen else rule, *(summary(loss, cells[use]) for use in uses))
        for rule, loss in _model_rules().items()
    ]
    return markdown(head, rows)


@table
def model_choice_cells() -> str:
    """Show the accuracy of both models and the loss of the chosen rule in each cell."""

    def loss(row: Row) -> str:
        model = f"draw {HANDICAP}" if _strength(row) >= ENOUGH_ROWS else "tree"
        return f"{short(row[f'{model}, loss'], 4)} ± {short(row[f'{model}, standard error'], 4)}"

    def chance(row: Row) -> str:
        return short(row[f"draw {HANDICAP}, P(scorecard)"], 2) if _strength(row) >= ENOUGH_ROWS else ""

    result = sorted(records("model_choice.csv"), key=lambda row: (row["use"], _strength(row)))
    head = ("table", "ε", "rows × ε", "splits", "tree", "scorecard", "loss of the rule", "P(scorecard)")
    rows = (
        (
            row["table"] + (" †" if row["use"] == "choice" else ""),
            f"{float(row['epsilon']):g}",
            f"{_strength(row):,.0f}",
            row["splits"],
            short(row["tree"], 4),
            short(row["scorecard"], 4),
            loss(row),
            chance(row),
        )
        for row in result
    )
    return markdown(head, rows) + "\n\n† The threshold and the handicap were chosen on this table."


@number
def model_choice_threshold() -> str:
    """Return the rows times ε from which on a scorecard competes."""
    return f"{ENOUGH_ROWS:,}"


@number
def model_choice_within() -> str:
    """Return in how many cells the chosen rule loses little, of the tables on which the rule was not chosen."""
    loss = _choice(f"draw {HANDICAP}")
    losses = [loss(row) for row in records("model_choice.csv") if row["use"] == "other"]
    return f"{sum(item <= TOLERATED for item in losses)} of {len(losses)}"


@number
def model_choice_average() -> str:
    """Return the mean gain of the chosen rule over a tree, on the tables of the choice and on the others."""
    loss = _choice(f"draw {HANDICAP}")

    def mean(use: str) -> str:
        gains = [float(row["tree, loss"]) - loss(row) for row in records("model_choice.csv") if row["use"] == use]
        return f"{_signed(str(fmean(gains)))} ± {short(stdev(gains) / sqrt(len(gains)), 4)}"

    return f"{mean('choice')} on the first tables and {mean('other')} on the held-out tables"


@number
def model_choice_gains() -> str:
    """Return the largest gain of the chosen rule over a tree on two tables, with its epsilon."""
    loss = _choice(f"draw {HANDICAP}")

    def gain(row: Row) -> float:
        return float(row["tree, loss"]) - loss(row)

    def largest(name: str) -> str:
        row = max((row for row in records("model_choice.csv") if row["table"] == name), key=gain)
        return f"{NAMES[name]} (by {short(gain(row), 3)} at ε = {float(row['epsilon']):g})"

    return f"{largest('adult')} and {largest('german')}"


@table
def objectives() -> str:
    """Accuracy, AUROC and log-loss by objective."""
    result = records("objectives.csv")
    names = list(dict.fromkeys(row["objective"] for row in result))

    def cell(dataset: str, epsilon: str, objective: str) -> str:
        same = [
            row for row in result if (row["dataset"], row["epsilon"], row["objective"]) == (dataset, epsilon, objective)
        ]
        return " / ".join(short(fmean(float(row[key]) for row in same), 3) for key in ("accuracy", "AUROC", "log-loss"))

    cases = [(dataset, epsilon) for dataset in ("breast_cancer", "ctg") for epsilon in ("0.1", "1.0")]
    rows = ((tuned(d, f"{NAMES[d]}, {float(e):g}"), *(cell(d, e, name) for name in names)) for d, e in cases)
    return markdown(("data, ε", *names), rows) + TUNED_NOTE


@table
def leaf_shares() -> str:
    """Gains of class shares against labels alone, by ε and setting."""
    result = [row for row in records("leaf_shares.csv") if row["setting"] != "labels alone"]
    scores = ("accuracy", "AUROC", "log-loss", "calibration error")
    head = ("ε", "setting", *scores, "accuracy of the worst table")
    return markdown(
        head,
        [
            (
                f"{float(row['epsilon']):g}",
                row["setting"],
                *(row[f"{score} − labels alone"].replace("0.", ".").replace("-", "−") for score in scores),
                row["worst table, accuracy"].replace("0.", ".").replace("-", "−"),
            )
            for row in result
        ],
    )


@table
def calibration() -> str:
    """Calibration errors, their intervals, and the errors of calibrated models."""
    result = records("calibration.csv")
    models = list(dict.fromkeys(row["model"] for row in result))

    def cell(name: str, model: str) -> str:
        same = [row for row in result if (row["table"], row["model"]) == (name, model)]
        keys = ("calibration error", "low", "high", "of a calibrated model")
        return "{} ({} to {}), {}".format(*(short(fmean(float(row[key]) for row in same), 3) for key in keys))

    sizes = {row["table"]: f"{int(row['rows']):,}" for row in result}
    rows = ((f"{NAMES[n]}, {sizes[n]}", *(cell(n, model) for model in models)) for n in ("adult", "compas"))
    return markdown(("data, test rows", *models), rows)


@table
def searches() -> str:
    """Boxes and seconds of exact searches on raw Adult."""
    rows = ((r["what"], f"{int(r['boxes']):,}", r["seconds"], r["by masks"]) for r in records("exact_raw.csv"))
    return markdown(("search", "boxes", "seconds", "by masks"), rows)


@table
def forecasts_held() -> str:
    """Draws compared with their forecasts."""
    rows = (
        (
            tuned(r["table"]),
            f"{int(r['rows']):,}",
            r["model"],
            r["epsilon"],
            r["best"],
            r["at most"],
            r["drawn"],
            r["most drawn"],
        )
        for r in records("forecasts.csv")
        if r["table"] in ("breast_cancer", "ctg", "compas", "german")
    )
    head = ("table", "rows", "model", "ε", "best of up to 3", "predicted upper bound", "mean of 40", "worst")
    return markdown(head, rows) + TUNED_NOTE


@number
def forecasts_within() -> str:
    """Return how many forecasts held."""
    return str(sum(row["mean within"] == "True" for row in records("forecasts.csv")))


@number
def forecasts_cases() -> str:
    """Return how many forecasts there are."""
    return str(len(records("forecasts.csv")))


@number
def forecasts_draws_within() -> str:
    """Return how many of all draws were within their forecast, 40 a case."""
    shares = [float(row["draws within"]) for row in records("forecasts.csv")]
    return f"{round(40 * sum(shares)):,} of {40 * len(shares):,}"


@table
def bins() -> str:
    """Accuracy by the most bins of a column."""
    result = {(row["problem"], row["bins"]): row for row in records("bins.csv")}
    sizes = ("2", "3", "4", "6", "8", "12", "16")
    rows = (
        (
            problem,
            f"{short(result[problem, 'auto']['accuracy'], 3)} ± {short(result[problem, 'auto']['se'], 3)}",
            *(short(result[problem, size]["accuracy"], 3) for size in sizes),
        )
        for problem in dict.fromkeys(problem for problem, _ in result)
    )
    return markdown(("problem", "default ± s.e.", *(f"{size} bins" for size in sizes)), rows)


@table
def end_to_end() -> str:
    """Losses that draws of the real path refute."""
    rows = []
    for release, pairs in groupby(records("docs/studies/privacy/end-to-end.csv"), lambda row: row["release"]):
        some = list(pairs)
        delta = f" ({float(some[0]['delta']):g})" if float(some[0]["delta"]) else ""
        most = f"{max(float(row['refuted']) for row in some):.2f}"
        shares = ", ".join(f"{float(row['share']):.2f}" for row in some)
        rows.append((release, f"{float(some[0]['epsilon']):g}{delta}", most, shares))
    return markdown(("release", "ε (δ)", "largest loss refuted", "share of ε, on three pairs"), rows)


@table
def composition() -> str:
    """Costs of releases together, by basic composition and in zCDP."""
    delta, rows = Fraction(1, 10**6), []
    for epsilon in (Fraction(1, 10), Fraction(1, 2)):
        for releases in (10, 100):
            rho, basic = releases * drawn_rho(epsilon, epsilon), releases * epsilon
            amounts = (min(basic, epsilon_at(spent, delta)) for spent in (rho, releases * pure_rho(epsilon)))
            cells = (f"{float(amount):.2f}".removesuffix(".00") for amount in amounts)
            rows.append((f"{releases} of ε = {float(epsilon)}", f"{float(basic):g}", f"{float(rho):.4g}", *cells))
    head = ("releases", "sum of ε", "draws: sum of ρ", "draws: ε at δ = 10⁻⁶", "other releases: ε at δ = 10⁻⁶")
    return markdown(head, rows)
