"""Numbers of the pages, written into them from committed files: `python docs/write_numbers.py`, or `make numbers`.

A page holds `<!-- table: NAME -->` and `<!-- /table -->` around a table, and `<!-- n: NAME -->12<!-- /n -->` around a
number of a sentence. NAME is a function of this file that is decorated with `table` or `number`. What stands between
the marks is replaced.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import cache
from itertools import groupby
from math import log10
from pathlib import Path
from statistics import fmean, median, stdev

from hedgerow.privacy.zcdp import drawn_rho, epsilon_at, pure_rho

ROOT = Path(__file__).parents[1]
RESULTS = "benchmarks/results"
NAMES = {
    "adult": "Adult",
    "compas": "COMPAS",
    "breast_cancer": "breast cancer",
    "german": "German Credit",
    "ctg": "cardiotocography",
}
MARK = re.compile(r"(<!-- (table|n): (\w+) -->)(.*?)(<!-- /\2 -->)", re.DOTALL)
MAKERS: dict[tuple[str, str], Callable[[], str]] = {}

Row = dict[str, str]
Maker = Callable[[], str]


def table(maker: Maker) -> Maker:
    """Register a function that makes a table."""
    MAKERS["table", maker.__name__] = maker
    return maker


def number(maker: Maker) -> Maker:
    """Register a function that makes a number."""
    MAKERS["n", maker.__name__] = maker
    return maker


def main() -> None:
    """Write the numbers of all pages."""
    for page in pages():
        page.write_text(written(page), encoding="utf-8")


def pages() -> list[Path]:
    """Return the pages that may hold marks."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def written(page: Path) -> str:
    """Return the text of a page with its numbers."""

    def value(match: re.Match[str]) -> str:
        made = MAKERS[match[2], match[3]]()
        around = "\n\n" if match[2] == "table" else ""
        return f"{match[1]}{around}{made}{around}{match[5]}"

    return MARK.sub(value, page.read_text(encoding="utf-8"))


@cache
def records(name: str) -> list[Row]:
    """Return the rows of a committed CSV file, as text."""
    path = ROOT / name if "/" in name else ROOT / RESULTS / name
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def short(value: float | str, digits: int) -> str:
    """Return a number as the pages write it: no zero before the point, a real minus."""
    text = f"{abs(float(value)):.{digits}f}"
    text = text[1:] if text.startswith("0.") else text
    return ("−" if float(value) < 0 < float(text) else "") + text


def markdown(header: Sequence[str], rows: Iterable[Iterable[str]], text_columns: int = 1) -> str:
    """Return a table; all but the first columns are aligned to the right."""
    marks = ["---"] * text_columns + ["---:"] * (len(header) - text_columns)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (header, marks, *rows))


# --- Models: README.md, docs/index.md, docs/models.md


@table
def league() -> str:
    """Accuracy at epsilon 1, a row a dataset."""
    keys = ("tree", "list", "DP-EBM", "CART of depth 3, not private", "majority")
    found = {(row["table"], float(row["epsilon"])): row for row in records("league.csv")}
    rows = ((NAMES[name], *(short(found[name, 1.0][key], 3) for key in keys)) for name in list(NAMES)[:3])
    return markdown(
        ("ε = 1", "private tree", "private list", "DP-EBM, δ = 1e-5", "CART, not private", "majority"), rows
    )


@table
def three_models() -> str:
    """AUROC, log-loss and accuracy of three private models."""
    found = {(row["table"], row["epsilon"], row["learner"]): row for row in records("scorecards.csv")}
    rows = []
    for name in list(NAMES)[:3]:
        for epsilon in ("0.1", "1.0"):
            cells = (
                " / ".join(
                    short(found[name, epsilon, learner][score], 3) for score in ("AUROC", "log-loss", "accuracy")
                )
                for learner in ("scorecard", "tree of depth 3, mixed", "DP-EBM")
            )
            rows.append((NAMES[name], f"{float(epsilon):g}", *cells))
    return markdown(("AUROC / log-loss / accuracy", "ε", "scorecard", "tree, depth 3", "DP-EBM, δ = 1e-5"), rows)


@table
def ways() -> str:
    """From a table to a signed report."""
    known = ("a list of ranges", "its publisher's Frictionless Table Schema", "a REDCap data dictionary")
    keys = ("table", "columns", "rows", "known", "commands", "refused", "edited lines")
    rows = (
        dict(row, rows=f"{int(row['rows']):,}", known=said) for row, said in zip(records("way.csv"), known, strict=True)
    )
    head = ("table", "columns", "rows", "known of it", "commands", "refused", "schema lines edited")
    return markdown(head, ((row[key] for key in keys) for row in rows))


# --- Draws: docs/exact.md, docs/forecasts.md, docs/studies/measured.md


@table
def prior() -> str:
    """Mean accuracy by the chance to stop."""
    mean = records("prior.csv")[-1]
    chances = [key.removeprefix("ρ = ") for key in mean if key.startswith("ρ")]
    found = [re.fullmatch(r"(.*) \(−(.*) ± (.*)\)", mean[f"ρ = {chance}"]) for chance in chances]
    numbers = [match.groups() for match in found if match]
    lost = [f"{short(less, 4)} ± {short(error, 4)}" for _, less, error in numbers[1:]]
    return markdown(
        ("ρ", *(f"**{chance}**" if chance == "0.1" else chance for chance in chances)),
        [("accuracy", *(short(accuracy, 4) for accuracy, _, _ in numbers)), ("lost", "", *lost)],
    )


@table
def objectives() -> str:
    """Accuracy, AUROC and log-loss by objective."""
    found = records("objectives.csv")
    names = list(dict.fromkeys(row["objective"] for row in found))

    def cell(dataset: str, epsilon: str, objective: str) -> str:
        same = [
            row for row in found if (row["dataset"], row["epsilon"], row["objective"]) == (dataset, epsilon, objective)
        ]
        return " / ".join(short(fmean(float(row[key]) for row in same), 3) for key in ("accuracy", "AUROC", "log-loss"))

    cases = [(dataset, epsilon) for dataset in ("breast_cancer", "ctg") for epsilon in ("0.1", "1.0")]
    rows = ((f"{NAMES[d]}, {float(e):g}", *(cell(d, e, name) for name in names)) for d, e in cases)
    return markdown(("data, ε", *names), rows)


@table
def calibration() -> str:
    """Calibration errors, their intervals, and those of calibrated models."""
    found = records("calibration.csv")
    models = list(dict.fromkeys(row["model"] for row in found))

    def cell(name: str, model: str) -> str:
        same = [row for row in found if (row["table"], row["model"]) == (name, model)]
        keys = ("calibration error", "low", "high", "of a calibrated model")
        return "{} ({} to {}), {}".format(*(short(fmean(float(row[key]) for row in same), 3) for key in keys))

    sizes = {row["table"]: f"{int(row['rows']):,}" for row in found}
    rows = ((f"{NAMES[n]}, {sizes[n]}", *(cell(n, model) for model in models)) for n in ("adult", "compas"))
    return markdown(("data, test rows", *models), rows)


@table
def searches() -> str:
    """Boxes and seconds of exact searches on raw Adult."""
    rows = ((r["what"], f"{int(r['boxes']):,}", r["seconds"], r["by masks"]) for r in records("exact_raw.csv"))
    return markdown(("search", "boxes", "seconds", "by masks"), rows)


@table
def forecasts_held() -> str:
    """Draws beside their forecasts."""
    rows = (
        (
            r["table"],
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
    return markdown(
        ("table", "rows", "model", "ε", "best of up to 3", "at most, said beforehand", "mean of 40", "worst"), rows
    )


@number
def forecasts_within() -> str:
    """Return how many forecasts held."""
    return str(sum(row["mean within"] == "True" for row in records("forecasts.csv")))


@number
def forecasts_cases() -> str:
    """Return how many forecasts there are."""
    return str(len(records("forecasts.csv")))


@table
def bins() -> str:
    """Accuracy by the most bins of a column."""
    found = {(row["problem"], row["bins"]): row for row in records("bins.csv")}
    sizes = ("2", "3", "4", "6", "8", "12", "16")
    rows = (
        (
            problem,
            f"{short(found[problem, 'auto']['accuracy'], 3)} ± {short(found[problem, 'auto']['se'], 3)}",
            *(short(found[problem, size]["accuracy"], 3) for size in sizes),
        )
        for problem in dict.fromkeys(problem for problem, _ in found)
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


# --- Large tables: docs/engines.md

_TEN_BILLION = 10**10


def _engine(rows: int) -> Row:
    return next(row for row in records("engines.csv") if int(row["rows"]) == rows)


def _split() -> Row:
    """Return Spark's line of ten million rows in ten partitions."""
    key = ("10000000", "20", "10")
    return next(r for r in records("spark.csv") if (r["rows"], r["attributes"], r["partitions"]) == key)


@table
def ten_billion() -> str:
    """Processor time, memory and shuffle that were measured, and at ten billion rows."""
    large, split = _engine(10**8), _split()
    duckdb, spark = float(large["CPU s per million more"]), float(split["CPU s"]) / 10
    groups, each = int(_engine(10**7)["groups"]), float(split["bytes per record"])
    millions = _TEN_BILLION / 10**6
    rows = [
        ("processor time for a million rows, DuckDB", f"{duckdb:.2f} s", f"{duckdb * millions / 3600:.1f} core hours"),
        ("processor time for a million rows, Spark", f"{spark:.1f} s", f"{spark * millions / 3600:.1f} core hours"),
        ("groups of 10⁷ rows", f"{groups:,}", f"{1000 * groups / 1e6:.0f} million from 1,000 partitions"),
        ("bytes shuffled for each, Spark", f"{each:g}", f"{1000 * groups * each / 1e9:.1f} GB"),
        ("peak memory at 10⁸ rows, DuckDB", f"{large['GiB at most']} GiB", "grows with groups"),
    ]
    return markdown(("what", "measured", "at 10¹⁰ rows"), rows)


def _growth(fewer: int, more: int) -> float:
    return log10(int(_engine(more)["groups"]) / int(_engine(fewer)["groups"]))


@number
def late_growth() -> str:
    """Return the exponent of growth from ten to a hundred million rows."""
    return f"{_growth(10**7, 10**8):.2f}"


@number
def early_growth() -> str:
    """Return the exponent of growth from one to ten million rows."""
    return f"{_growth(10**6, 10**7):.2f}"


@number
def groups_at_end() -> str:
    """Return the millions of groups at ten billion rows, by both exponents."""
    groups = int(_engine(10**8)["groups"]) / 1e6
    return " to ".join(f"{groups * 100**power:.1f}" for power in (_growth(10**7, 10**8), _growth(10**6, 10**7)))


# --- Composition: docs/mathematics.md


@table
def composition() -> str:
    """Costs of releases together, by basic composition and in zCDP."""
    delta, rows = Fraction(1, 10**6), []
    for epsilon in (Fraction(1, 10), Fraction(1, 2)):
        for releases in (10, 100):
            rho, basic = releases * drawn_rho(epsilon, epsilon), releases * epsilon
            amounts = (min(basic, epsilon_at(spent, delta)) for spent in (rho, releases * pure_rho(epsilon)))
            cells = (f"{float(amount):.2f}".removesuffix(".00") for amount in amounts)
            rows.append((f"{releases} of ε = {float(epsilon)}", f"{float(basic):g}", f"{float(rho):g}", *cells))
    head = ("releases", "sum of ε", "draws: sum of ρ", "draws: ε at δ = 10⁻⁶", "others: ε at δ = 10⁻⁶")
    return markdown(head, rows)


# --- Audits: docs/studies/measured.md


def _found(line: Row) -> str:
    found = short(line["found"], 2)
    return f"**{found}**" if line["refuted"] == "True" else found


def _by_learner(kind: str) -> list[tuple[str, list[Row]]]:
    lines = [line for line in records("epsilon.csv") if line["kind"] == kind]
    return [(learner, list(found)) for learner, found in groupby(lines, lambda line: line["learner"])]


def _most(lines: list[Row], epsilon: str) -> Row:
    return max((line for line in lines if line["epsilon"] == epsilon), key=lambda line: float(line["found"]))


@table
def claimed() -> str:
    """Claimed and found epsilon of hedgerow's mechanisms."""
    rows = []
    for learner, lines in _by_learner("hedgerow"):
        one, tenth = _most(lines, "1.0"), _most(lines, "0.1")
        claims = [f"{float(line['claimed']):.3g}" for line in (one, tenth)]
        rows.append((learner, one["tables"], claims[0], _found(one), claims[1], _found(tenth)))
    return markdown(("learner", "tables, at ε = 1", "claimed", "found", "claimed at ε = 0.1", "found"), rows, 2)


@table
def controls() -> str:
    """Learners that lose more than they claim."""
    rows = (
        (learner, _most(lines, "1.0")["tables"], _found(_most(lines, "1.0")))
        for learner, lines in _by_learner("control")
    )
    return markdown(("learner", "tables", "found"), rows, 2)


@table
def peers() -> str:
    """Other libraries at their own claims."""
    rows = [
        (learner, tables, *(_found(line) for line in both))
        for learner, lines in _by_learner("peer")
        for tables, both in groupby(lines, lambda line: line["tables"])
    ]
    return markdown(("learner", "tables", "found, claim 1", "found, claim 0.1"), rows, 2)


@number
def fits_of_ours() -> str:
    """Return how many fits of hedgerow's there were."""
    return f"{sum(2 * int(line['runs']) for line in records('epsilon.csv') if line['kind'] == 'hedgerow'):,}"


@number
def fits_of_all() -> str:
    """Return how many fits there were."""
    return f"{sum(2 * int(line['runs']) for line in records('epsilon.csv')):,}"


@number
def lines_of_all() -> str:
    """Return how many lines there are."""
    return str(len(records("epsilon.csv")))


@table
def risks() -> str:
    """Exact advantage of the best attack, for rows of three tables."""

    def small(text: str) -> str:
        return "< .0001" if float(text) < 5e-5 else short(text, 4)

    rows = [
        (
            f"{NAMES[row['table']]}, {int(row['rows']):,} rows",
            f"{float(row['epsilon']):g}",
            *(small(row[key]) for key in ("median", "99 %", "largest")),
            *(short(row[key], 4) for key in ("bound of a draw", "bound of epsilon")),
            f"{int(row['rows above half the largest']):,}",
        )
        for name in ("compas", "german", "adult")
        for row in records("exact_risk.csv")
        if row["table"] == name and row["epsilon"] in ("0.01", "0.1", "1.0", "10.0")
    ]
    head = ("table", "ε", "median row", "99 % of rows below", "worst row", "bound of a draw", "bound of ε")
    return markdown((*head, "rows above half of the worst"), rows)


def _attacked(row: Row) -> tuple[str, str]:
    return f"{NAMES[row['table']]}, {int(row['rows']):,} rows", row["learner"].replace("epsilon ", "ε = ")


def _with_error(row: Row, key: str, digits: int) -> str:
    return f"{short(row[key], digits)} ± {short(row[f'{key} error'], digits)}"


@table
def attacks() -> str:
    """Success of attacks by refits."""

    def rate(row: Row, attack: str) -> str:
        found, low, high = (short(row[f"{attack} TPR{side}"], 3) for side in ("", " low", " high"))
        return f"{found} ({low} to {high})"

    rows = (
        (
            *_attacked(row),
            *(_with_error(row, f"{attack} AUC", 3) for attack in ("lira", "lira offline", "rmia", "forest")),
            *(rate(row, attack) for attack in ("lira offline", "rmia")),
        )
        for row in records("membership.csv")
    )
    head = ("table", "learner", "AUC, online ratio", "offline ratio", "RMIA", "random forest")
    return markdown((*head, "TPR at FPR .01, offline ratio", "RMIA"), rows, 2)


@table
def gains() -> str:
    """Gains of attacks beside the exact advantage."""
    rows = (
        (
            *_attacked(row),
            *(_with_error(row, key, 4) for key in ("gain", "exact gain")),
            *(short(row[key], 3) for key in ("gain of 10", "exact gain of these 10", "exact, worst")),
            *(short(row[key], 4) for key in ("exact, worst TPR", "bound of epsilon, TPR")),
        )
        for row in records("membership.csv")
        if row["exact gain"]
    )
    head = ("table", "learner", "gain", "exact", "of 10 rows", "exact, of these", "exact, worst row")
    return markdown((*head, "its TPR at FPR .01", "bound of ε"), rows, 2)


PUBLISHED = {"1.0": (".132", ".145"), "10.0": (".045", ".077")}
"""DRAFT-DP: N = 100, ten trees of depth 5, N known; its error and that about other rows, means of five runs."""


@table
def forests() -> str:
    """Errors of tables that are reconstructed from leaf counts."""
    runs = records("forests.csv")

    def cells(forest: str, epsilon: str) -> list[str]:
        found = []
        for prior in ("none", "uniform", "marginals"):
            own = [r for r in runs if (r["forest"], r["epsilon"], r["prior"]) == (forest, epsilon, prior)]
            found += [short(fmean(float(r[key]) for r in own), 3) if own else "" for key in ("error", "about others")]
        return found

    grown = (
        "RandomForestClassifier, 10 trees of depth 5, all rows",
        "ExtraTreesClassifier, 10 trees of depth 5, all rows",
        "RandomForestClassifier, 100 trees of any depth, all rows",
        "RandomForestClassifier, 10 trees of depth 5, bootstrap samples",
        "RandomForestClassifier, 30 trees of any depth, bootstrap samples",
    )
    rows = [(forest, "", *cells(forest, ""), "", "") for forest in grown]
    for epsilon, published in PUBLISHED.items():
        rows.append(("private forest", f"{float(epsilon):g}", *cells("private forest", epsilon), *published))
        for name in ("PrivateTreeClassifier", "PrivateRuleListClassifier"):
            rows.append((f"{name} with counts", f"{float(epsilon):g}", *cells(name, epsilon), "", ""))
    kinds = ("without a prior", "uniform prior", "public marginals", "published")
    return markdown(("forest", "ε", *(word for kind in kinds for word in (kind, "about others"))), rows)


@number
def others_as_a_guess() -> str:
    """Return the error of other rows as a guess."""
    return short(fmean(float(run["others as a guess"]) for run in records("forests.csv")), 3)


def _solved(with_prior: bool) -> str:
    runs = [run for run in records("forests.csv") if run["forest"] == "private forest"]
    seconds = [float(run["seconds"]) for run in runs if (run["prior"] != "none") is with_prior]
    return short(median(seconds), 0 if with_prior else 1)


@number
def seconds_without_prior() -> str:
    """Return the median of seconds."""
    return _solved(False)


@number
def seconds_with_prior() -> str:
    """Return the median of seconds."""
    return _solved(True)


@number
def forest_error() -> str:
    """Return the mean error and its standard error at epsilon 10, without a prior."""
    runs = [
        r
        for r in records("forests.csv")
        if (r["forest"], r["prior"], r["epsilon"]) == ("private forest", "none", "10.0")
    ]
    errors = [float(run["error"]) for run in runs]
    return f"{short(fmean(errors), 3)} ± {short(stdev(errors) / len(errors) ** 0.5, 3)}"


if __name__ == "__main__":
    main()
