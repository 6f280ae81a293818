"""docs/exact.md, from the files of prior.py, objectives.py, calibration.py and exact.py in benchmarks."""

from __future__ import annotations

import re

from hedgerow.learn.search.losses import FINE_STEPS, STEPS, Loss
from hedgerow.schema import Boolean, Label, Schema, count_candidates
from tests.docs.page import Page, figures, records, short

PAGE = "docs/exact.md"
ERROR = "calibration error"


def check(page: Page) -> None:
    page.given("over 20 splits")
    seconds = {row["what"]: float(row["seconds"]) for row in records("benchmarks/results/exact.csv")}
    two = seconds["list, 2 rules jointly, 2 literals (one block)"]
    three = seconds["list, 3 rules jointly, 2 literals"]
    adult = Schema({f"x{i}": Boolean() for i in range(20)}, Label("y", (0, 1)))
    page.says("with {} rules to choose from,", str(count_candidates(adult, 2)))
    page.says("two at a time take {} s and three take {} s", figures(two, 1), figures(three))
    _prior(page)
    _objectives(page)
    _calibration(page)
    _tables(page)


def _prior(page: Page) -> None:
    *cells, mean = records("benchmarks/results/prior.csv")
    epsilons = sorted({float(row["epsilon"]) for row in cells})
    page.says(f"fixed at ε from {epsilons[0]:g} to {epsilons[-1]:g} on data")
    chances = [key.removeprefix("ρ = ") for key in mean if key.startswith("ρ")]
    found = [re.fullmatch(r"(.*) \(−(.*) ± (.*)\)", mean[f"ρ = {chance}"]) for chance in chances]
    numbers = [[float(text) for text in match.groups()] for match in found if match]
    lost = {chance: (less, error) for chance, (_, less, error) in zip(chances, numbers, strict=True)}
    chosen = max((chance for chance, (less, error) in lost.items() if less <= 2 * error), key=float)
    page.row("ρ", *(f"**{chance}**" if chance == chosen else chance for chance in chances))
    page.row("accuracy", *(short(accuracy, 4) for accuracy, _, _ in numbers))
    page.row("lost", "", *(f"{short(less, 4)} ± {short(error, 4)}" for less, error in list(lost.values())[1:]))
    page.says("{} is the largest chance", chosen)


def _objectives(page: Page) -> None:
    page.given("85 %; about 120 rows", "85 % of 120")  # made up, to show the form
    page.given("are clipped at .01", "on breast cancer at ε = 0.1")
    two = [f".{round(100 * second):02d}" for _, second in Loss.of("mixed", 2).values]
    page.says("in whole steps of 1/{}, with", str(STEPS))
    page.says("They come in steps of 1/{}. In steps of 1/{}", str(FINE_STEPS), str(STEPS))
    page.says("by up to {} with", short(max(_moved(k) for k in (2, 3, 5)), 2))
    page.given("75 %; 1536 rows")  # to show the form
    page.says("by {}, {}, {}, {} and {} %, with all classes alike", *_mixtures())
    page.says("of two classes the chances {}, {}, {}, …, {}", *two[:3], two[-1])
    rows = records("benchmarks/results/objectives.csv")
    objectives = list(dict.fromkeys(row["objective"] for row in rows))
    page.row("data, ε", *objectives)
    for name, words in (("breast_cancer", "breast cancer"), ("ctg", "cardiotocography")):
        for epsilon in ("0.1", "1.0"):
            cells = [_means(rows, name, epsilon, objective) for objective in objectives]
            page.row(f"{words}, {float(epsilon):g}", *cells)
    page.says("loses up to {} of accuracy at ε = 0.1", short(_most_lost(rows, "0.1"), 3))
    page.says("at most {} at ε = 1", short(_most_lost(rows, "1.0"), 4))


def _moved(n_classes: int) -> float:
    """Return how far rounding moves the share of a class from which the next chance of "mixed" is better."""
    loss = Loss.of("mixed", n_classes)
    own, other = loss.table[0], loss.table[1]
    chances = [value[0] for value in loss.values]
    moved: list[float] = []
    for place in range(4):  # the values of the first class, the most certain first
        gained, lost = own[place + 1] - own[place], other[place] - other[place + 1]
        moved.append(abs(lost / (gained + lost) - (chances[place] + chances[place + 1]) / 2))
    return max(moved)


def _calibration(page: Page) -> None:
    rows = records("benchmarks/results/calibration.csv")
    page.given("over ten bins, its approximate 95 % interval", "19 times in 20; means over 5 splits")
    bins = records("benchmarks/results/calibration_bins.csv")
    of_list = [one for one in bins if (one["table"], one["model"]) == ("adult", "list, mixed")]
    most = sorted(of_list, key=lambda one: -int(one["rows"]))[:2]
    page.says("have {} or {} %", *(f"{100 * float(one['chance']):.0f}" for one in most))
    models = list(dict.fromkeys(row["model"] for row in rows))
    page.row("data, test rows", *models)
    for table, words in (("adult", "Adult"), ("compas", "COMPAS")):
        here = [[row for row in rows if (row["table"], row["model"]) == (table, model)] for model in models]
        assert all(len(same) == 5 for same in here)
        page.row(f"{words}, {int(here[0][0]['rows']):,}", *map(_error, here))
        within = [str(sum(float(r[ERROR]) <= float(r["of a calibrated model"]) for r in same)) for same in here]
        if table == "adult":
            assert set(within) == {"0"}  # "all three differ in every split"
        else:
            page.says("within chance in {} splits of a tree, {} of a list and {} of a scorecard", *within)


def _error(rows: list[dict[str, str]]) -> str:
    keys = (ERROR, "low", "high", "of a calibrated model")
    return "{} ({} to {}), {}".format(*(short(sum(float(r[key]) for r in rows) / len(rows), 3) for key in keys))


def _mixtures() -> list[str]:
    return [f"{round(100 * (2 * second - 1))}" for _, second in Loss.of("mixed", 2).values[5:]]


def _means(rows: list[dict[str, str]], name: str, epsilon: str, objective: str) -> str:
    same = [r for r in rows if (r["dataset"], r["epsilon"], r["objective"]) == (name, epsilon, objective)]
    scores = ([float(row[score]) for row in same] for score in ("accuracy", "AUROC", "log-loss"))
    return " / ".join(short(sum(each) / len(each), 3) for each in scores)


def _most_lost(rows: list[dict[str, str]], epsilon: str) -> float:
    """Return the most accuracy that "mixed" loses against errors."""
    mixed = (row for row in rows if (row["epsilon"], row["objective"]) == (epsilon, "mixed"))
    return max(-float(row["accuracy − errors"].split(" ± ")[0]) for row in mixed)


def _tables(page: Page) -> None:
    rows = records("benchmarks/results/exact_raw.csv")
    page.says("Raw Adult, {} patterns, one core", f"{int(rows[0]['patterns']):,}")
    for row in rows:
        page.row(row["what"], f"{int(row['boxes']):,}", row["seconds"], row["by masks"])
    page.given("ICML 2008", "ICML 2021", "ICML 2022", "SIAM J. Comput. 2011", "FPS 2012, in print 2013", "ICML 2015")
    page.given("(arXiv 2204.01585, 2022)")
