"""Accuracies and cut points on the pages of benchmarks."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from statistics import fmean

from hedgerow.datasets import load
from hedgerow.privacy.joint_quantiles import JointQuantiles
from hedgerow.schema import count_candidates
from page_numbers.marks import (
    NAMES,
    TUNED,
    TUNED_NOTE,
    Row,
    between,
    markdown,
    number,
    records,
    rounded,
    short,
    sized,
    table,
    tuned,
)

SCORES = ("accuracy", "AUROC", "log-loss")


def _epsilon(row: Row) -> str:
    return f"{float(row['epsilon']):g}"


def _or_empty(text: str, digits: int) -> str:
    return short(text, digits) if text else ""


# --- Intervals of evaluations


@table
def evaluation_misses() -> str:
    """How often intervals of evaluations miss, with their widths."""
    rows = (
        (
            r["case"],
            f"{int(r['rows']):,}",
            r["epsilon"],
            r["measure"],
            short(r["exact"], 3),
            f"{100 * float(r['missed on rows']):.1f} %",
            f"{100 * float(r['missed on others']):.1f} %",
            short(r["width on rows"], 3),
            short(r["width on others"], 3),
            _or_empty(r["rounded off"], 3),
        )
        for r in records("evaluation.csv")
    )
    head = ("model", "rows", "ε", "measure", "population", "noise only missed", "noise and sampling missed")
    return markdown((*head, "noise only width", "noise and sampling width", "rounded off"), rows)


# --- Rule lists of binary tables


@table
def accuracy() -> str:
    """Accuracy of private rule lists compared with its goal and SSRL's accuracy."""
    rows = (
        (
            row["dataset"],
            _epsilon(row),
            *(short(row[key], 4) for key in ("accuracy", "standard error")),
            *(_or_empty(row[key], 3) for key in ("goal", "SSRL smooth-laplace")),
            *(short(row[key], 4) for key in ("not private", "majority")),
        )
        for row in records("accuracy.csv")
    )
    head = ("dataset", "ε", "private", "std. error", "goal", "SSRL smooth-Laplace", "greedy, not private", "majority")
    return markdown(head, rows)


@number
def german_candidates() -> str:
    """Return how many candidate rules of two literals German Credit has."""
    return f"{count_candidates(load('german_binary').schema, 2):,}"


def _not_private(dataset: str) -> Row:
    return next(row for row in records("accuracy.csv") if row["dataset"] == dataset)


@number
def german_majority() -> str:
    """Return the accuracy of the majority class of German Credit."""
    return short(_not_private("german_binary")["majority"], 3)


@number
def german_greedy() -> str:
    """Return the accuracy of a greedy list of German Credit."""
    return short(_not_private("german_binary")["not private"], 4)


@number
def compas_greedy() -> str:
    """Return the accuracy of a greedy list of COMPAS."""
    return rounded(_not_private("compas_binary")["not private"], 3)


@number
def adult_greedy() -> str:
    """Return the accuracy of a greedy list of Adult."""
    return rounded(_not_private("adult_binary")["not private"], 3)


# --- SSRL's mechanisms


def _mechanism(name: str, dataset: str, mechanism: str) -> tuple[str, ...]:
    """Return the accuracy by ε, with the earlier measured accuracy of the authors' code in brackets."""
    cells = []
    for row in records("published.csv"):
        if (row["dataset"], row["mechanism"]) == (dataset, mechanism):
            authors = row["authors' code"]
            cells.append(rounded(row["accuracy"], 3) + (f" ({short(authors, 3)})" if authors else ""))
    return name, *cells


def _epsilons() -> tuple[str, ...]:
    return "ε", *dict.fromkeys(row["epsilon"] for row in records("published.csv"))


@table
def ssrl_mechanisms() -> str:
    """Accuracy of SSRL's mechanisms by ε."""
    adult = _mechanism("Adult, smooth-laplace", "adult_binary", "smooth-laplace")
    names = {"permute-and-flip": "permute-and-flip on −U"}
    of_compas = dict.fromkeys(row["mechanism"] for row in records("published.csv") if "compas" in row["dataset"])
    compas = [
        _mechanism(f"COMPAS, {names.get(mechanism, mechanism)}", "compas_binary", mechanism)
        for mechanism in of_compas
        if not mechanism.endswith("filtered")
    ]
    return markdown(_epsilons(), (*compas[:2], adult, *compas[2:]))


@table
def ssrl_filtered() -> str:
    """Accuracy of SSRL's mechanisms behind the filter of the authors' code."""
    mechanisms = dict.fromkeys(row["mechanism"] for row in records("published.csv"))
    filtered = (name for name in mechanisms if name.endswith("filtered"))
    return markdown(_epsilons(), (_mechanism(name, "compas_binary", name) for name in filtered))


def _errors(dataset: str) -> str:
    return between((float(row["standard error"]) for row in records("published.csv") if row["dataset"] == dataset), 3)


@number
def ssrl_compas_errors() -> str:
    """Return the standard errors on COMPAS."""
    return _errors("compas_binary")


@number
def ssrl_adult_errors() -> str:
    """Return the standard errors on Adult."""
    return _errors("adult_binary")


# --- Exact draws, the league, certified trees


@table
def exact_accuracy() -> str:
    """Accuracy of exact draws compared with greedy models, DP-EBM and the optimum."""
    rows = (
        (
            *(row[key] for key in ("models", "dataset", "epsilon")),
            f"**{short(row['exact'], 4)}**",
            short(row["standard error"], 4),
            _or_empty(row["goal"], 3),
            short(row["greedy"], 4),
            _or_empty(row["DP-EBM"], 3),
            *(short(row[key], 4) for key in ("optimum, not private", "majority")),
        )
        for row in records("exact_accuracy.csv")
    )
    head = ("models", "dataset", "ε", "exact", "std. error", "goal", "greedy", "DP-EBM", "optimum", "majority")
    return markdown(head, rows, (0, 1))


@table
def full_league() -> str:
    """Accuracy on raw tables by ε."""
    keys = (
        *("tree", "standard error", "best fixed depth", "list"),
        *("DP-EBM", "CART of depth 3, not private", "majority"),
    )
    rows = (
        (tuned(row["table"]), _epsilon(row), *(_or_empty(row[key], 3) for key in keys)) for row in records("league.csv")
    )
    head = ("table", "ε", "tree", "std. error", "best fixed depth", "list", "DP-EBM", "CART, depth 3", "majority")
    return markdown(head, rows) + TUNED_NOTE


@table
def league_means() -> str:
    """Mean accuracy over the tables of the league, and without those on which defaults were chosen."""
    keys = ("tree", "list", "CART of depth 3, not private", "majority")
    rows = []
    for epsilon in dict.fromkeys(row["epsilon"] for row in records("league.csv")):
        same = [row for row in records("league.csv") if row["epsilon"] == epsilon]
        for which, chosen in (("all", same), ("without †", [row for row in same if row["table"] not in TUNED])):
            peers = [row for row in chosen if row["DP-EBM"]]
            cells = [_mean(chosen, key) for key in keys] + [_mean(peers, key) for key in ("tree", "list", "DP-EBM")]
            rows.append((f"{which}: {len(chosen)}, {len(peers)}", f"{float(epsilon):g}", *cells))
    head = ("tables, of two classes", "ε", "tree", "list", "CART, depth 3", "majority")
    return markdown((*head, "two classes: tree", "list", "DP-EBM"), rows)


def _mean(rows: Sequence[Row], key: str) -> str:
    return short(fmean(float(row[key]) for row in rows), 3)


# --- Scorecards


@table
def all_scorecards() -> str:
    """AUROC and log-loss of scorecards, trees and DP-EBM."""
    result = {(row["table"], row["epsilon"], row["learner"]): row for row in records("scorecards.csv")}
    learners = ("scorecard", "scorecard with delta", "tree of depth 3, mixed", "DP-EBM", "DP-EBM on bins")

    def cell(row: Row) -> str:
        scores = f"{short(row['AUROC'], 3)} / {short(row['log-loss'], 3)}"
        size = ("attributes", "bins of a number") if "scorecard" in row["learner"] else ("leaves",)
        return " / ".join((scores, *(sized(row[key], key) or "–" for key in size if row["learner"] in learners[:3])))

    rows = (
        (
            tuned(name),
            f"{float(epsilon):g}",
            *(cell(result[name, epsilon, other]) for other in learners),
            cell(result[name, "", "logistic, not private"]),
        )
        for name, epsilon, learner in result
        if learner == "scorecard"
    )
    head = ("table", "ε", "scorecard", "with δ", "tree, mixed", "DP-EBM", "DP-EBM on bins", "logistic, not private")
    return markdown(head, rows) + TUNED_NOTE


@table
def wide() -> str:
    """AUROC of scorecards by the number of attributes that are used."""
    learners = (
        "default",
        "default, with delta",
        *(f"max_attributes={most}" for most in (3, 5, 10, 20)),
        "all",
        "oracle",
    )
    result = {(row["table"], row["epsilon"], row["learner"]): row for row in records("wide.csv")}

    def cell(row: Row | None) -> str:
        return f"{short(row['AUROC'], 3)} ± {short(row['standard error'], 3)}" if row else ""

    rows = (
        (
            name,
            f"{float(epsilon):g}",
            f"{float(row['used']):.0f}",
            *(cell(result.get((name, epsilon, other))) for other in learners),
            row["seconds"],
        )
        for (name, epsilon, learner), row in result.items()
        if learner == "default"
    )
    return markdown(("table", "ε", "k", "default", "with δ", "3", "5", "10", "20", "all", "oracle", "seconds"), rows)


@table
def wide_trees() -> str:
    """How often trees of wide tables are right."""
    result = {(row["attributes"], row["epsilon"], row["learner"]): row for row in records("wide_trees.csv")}

    def cell(row: Row | None) -> str:
        return f"{100 * float(row['accuracy']):.1f} %, {row['seconds']} s" if row else ""

    learners = ("default", "all attributes", "oracle")
    rows = (
        (f"{int(d):,}", f"{float(epsilon):g}", *(cell(result.get((d, epsilon, item))) for item in learners))
        for d, epsilon, learner in result
        if learner == "default"
    )
    return markdown(("attributes", "ε", "default", "drawn from all", "oracle"), rows)


def residuals_are_asked(row: Row) -> bool:
    """Return whether residuals made a difference; with the same seeds, runs without residuals are equal."""
    return any(float(row[f"{score}, more"]) for score in SCORES)


@table
def several_classes() -> str:
    """Scores of scorecards with several classes, with residuals (if the rule requests them) and without."""
    result = {(row["table"], row["epsilon"], float(row["delta"]) > 0): row for row in records("several_classes.csv")}

    def cell(row: Row, residuals: str) -> str:
        if residuals == "with" and not residuals_are_asked(row):
            return ""
        return " / ".join(short(row[f"{score}, {residuals}"], 3) for score in SCORES)

    rows = (
        (
            tuned(name),
            f"{float(epsilon):g}",
            *(cell(result[name, epsilon, delta], each) for delta in (False, True) for each in ("without", "with")),
        )
        for name in ("ctg", "compas, risk", "adult, relationship")
        for epsilon in ("0.1", "1.0", "10.0")
    )
    return markdown(("table", "ε", "without", "with residuals", "δ, without", "δ, with residuals"), rows) + TUNED_NOTE


@number
def several_classes_error() -> str:
    """Return the largest standard error of a difference by split."""
    asked = (row for row in records("several_classes.csv") if residuals_are_asked(row))
    return short(max(float(row[f"standard error of {score}, more"]) for row in asked for score in SCORES), 3)


@table
def risk_scores() -> str:
    """Scorecards without privacy compared with FasterRisk."""
    rows = (
        (
            tuned(row["table"]),
            row["learner"],
            f"{short(row['AUROC'], 3)} ± {short(row['standard error of AUROC'], 3)}",
            short(row["log-loss"], 3),
            *(f"{float(row[key]):.0f}" for key in ("attributes", "terms")),
            row["splits"],
        )
        for row in records("risk_scores.csv")
    )
    head = ("table", "learner", "AUROC ± s.e.", "log-loss", "attributes", "terms", "splits")
    return markdown(head, rows, (0, 1)) + TUNED_NOTE


def _seconds_on_adult(learner: str) -> str:
    key = ("adult", learner)
    result = next(row for row in records("risk_scores.csv") if (row["table"], row["learner"]) == key)
    return f"{float(result['seconds']):.0f}"


@number
def scorecard_seconds() -> str:
    """Return the seconds of a scorecard on Adult."""
    return _seconds_on_adult("5 attributes, points 5")


@number
def fasterrisk_seconds() -> str:
    """Return the seconds of both of FasterRisk's fits on Adult."""
    kinds = ("10 columns", "5 attributes")
    return " and ".join(_seconds_on_adult(f"FasterRisk, {kind}, points 5") for kind in kinds)


@table
def two_way_tables() -> str:
    """Scores of learners from two-way tables compared with learners with a public source."""
    result = {(row["epsilon"], row["learner"]): row for row in records("two_way_tables.csv")}
    rows = (
        (
            learner,
            *(" / ".join(short(result[epsilon, learner][score], 3) for score in SCORES) for epsilon in ("0.1", "1.0")),
        )
        for learner in dict.fromkeys(learner for _, learner in result)
    )
    return markdown(("learner", "ε = 0.1", "ε = 1"), rows)


@number
def two_way_tables_error() -> str:
    """Return the largest standard error of a difference by split."""
    result = records("two_way_tables.csv")
    return short(max(float(row[f"standard error of {score}, more"]) for row in result for score in SCORES[:2]), 4)


@table
def columns() -> str:
    """Accuracy of EXPRIL by the share of columns that a question is about."""
    shares = {"1": "all", "0.5": "half", "0.25": "a quarter"}
    rows = (
        (
            row["table"],
            shares[row["share of columns"]],
            f"{short(row['accuracy'], 3)} ± {short(row['se'], 3)}",
            f"{float(row['more than all']):+.3f} ± {float(row['se of that']):.3f}" if float(row["se of that"]) else "",
        )
        for row in records("columns.csv")
    )
    return markdown(("table", "columns", "accuracy ± s.e.", "more than all, by run"), rows, (0, 1))


# --- Cut points


@table
def cut_points() -> str:
    """Errors of cut points that are learned jointly and one at a time."""
    methods = ("jointly", "one at a time")
    rows = (
        (
            f"{int(row['rows']):,}",
            row["number"],
            row["bins"],
            short(row["least error"], 3),
            *(short(row[f"error, {method}"], 3) for method in methods),
            *(f"{float(row[f'{key}, {method}']):.1f}" for key in ("outside", "different") for method in methods),
        )
        for row in records("cut_points.csv")
        if row["epsilon"] == "0.5"
    )
    head = ["rows", "number", "bins", "least"]
    for kind in ("error", "outside", "different"):
        head += [f"{kind}, jointly", "one at a time"]
    return markdown(head, rows, (1,))


@table
def quantiles() -> str:
    """Errors of rank of quantiles drawn jointly and asked one by one of another library."""
    keys = ("jointly", "one by one")
    rows = (
        (
            f"{NAMES[row['table']]}, {row['number']}",
            f"{int(row['rows']):,}",
            row["bins"],
            _epsilon(row),
            *(f"{short(row[key], 4)} ({short(row[f'std. error, {key}'], 4)})" for key in keys),
        )
        for row in records("quantiles.csv")
    )
    return markdown(("number", "rows", "bins", "ε", "jointly", "one by one, diffprivlib"), rows)


@table
def cut_point_trees() -> str:
    """Accuracy of trees with learned cut points and with the default grid."""
    keys = ("jointly", "one at a time", "default grid")
    rows = (
        (_epsilon(row), *(f"{short(row[key], 4)} ({short(row[f'std. error, {key}'], 4)})" for key in keys))
        for row in records("cut_points_trees.csv")
    )
    return markdown(("ε", *keys[:2], "default grid, all of ε for the tree"), rows, ())


@number
def parts_of_ten_bins() -> str:
    """Return into how many parts a value is split for 10 bins of 1,000 candidates."""
    return str(JointQuantiles(Fraction(1), 10, 1_000).parts)


@number
def parts_of_many_bins() -> str:
    """Return into how many parts a value is split for 52 bins of 168 candidates."""
    return str(JointQuantiles(Fraction(1), 52, 168).parts)
