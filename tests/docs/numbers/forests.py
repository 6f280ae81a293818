"""docs/forests.md, from the file of benchmarks/forests.py."""

from __future__ import annotations

from statistics import fmean, median, stdev

from tests.docs.page import Page, records, short

PAGE = "docs/forests.md"
PUBLISHED = {1.0: (0.132, 0.145), 10.0: (0.045, 0.077)}
"""DRAFT-DP: N = 100, ten trees of depth 5, N known; its error and that about other rows, means of five runs."""
EPSILONS = (1.0, 10.0)
FORESTS = (
    "RandomForestClassifier, 10 trees of depth 5, all rows",
    "ExtraTreesClassifier, 10 trees of depth 5, all rows",
    "RandomForestClassifier, 100 trees of any depth, all rows",
    "RandomForestClassifier, 10 trees of depth 5, bootstrap samples",
    "RandomForestClassifier, 30 trees of any depth, bootstrap samples",
)
DRAWN = ("PrivateTreeClassifier", "PrivateRuleListClassifier")


def check(page: Page) -> None:
    page.given("DRAFT (Ferry et al., 2024) and DRAFT-DP (Gorgé et al., 2026)", "up to 200,000 of them")
    page.given("COMPAS has 640 as the papers bin it; 16 booleans")
    page.given("100 rows of COMPAS in the 14 columns of DRAFT's file")
    runs = records("benchmarks/results/forests.csv")
    for forest in FORESTS:
        page.row(forest, "", *cells(runs, forest, ""), "", "")
    for epsilon in EPSILONS:
        published = [short(number, 3) for number in PUBLISHED[epsilon]]
        page.row("private forest", f"{epsilon:g}", *cells(runs, "private forest", str(epsilon)), *published)
        for name in DRAWN:
            page.row(f"{name} with counts", f"{epsilon:g}", *cells(runs, name, str(epsilon)), "", "")
    others = fmean(float(run["others as a guess"]) for run in runs)
    page.says("100 other rows as a guess, without any model, are off by {}", short(others, 3))
    private = [run for run in runs if run["forest"] == "private forest"]
    without, informed = ([run for run in private if (run["prior"] == "none") is kind] for kind in (True, False))
    assert {run["status"] for run in without} == {"optimal"}
    page.says("proven optimal in a median of {} s without a prior", short(median(seconds(without)), 1))
    page.says("and {} s with one", short(median(seconds(informed)), 0))
    late = sum(run["status"] != "optimal" for run in informed)
    page.says("(stopped after a minute in {} of {} runs)", str(late), str(len(informed)))
    page.given("stopped after two hours", "N = 100 known")
    ours = [float(run["error"]) for run in without if run["epsilon"] == "10.0"]
    page.says("its error is {} ± {} (standard error", short(fmean(ours), 3), short(stdev(ours) / len(ours) ** 0.5, 3))
    page.says("where {} is published, without a deviation", short(PUBLISHED[10.0][0], 3))
    check_words(runs)


def check_words(runs: list[dict[str, str]]) -> None:
    """What the page says about the table in words."""
    mean = {
        (forest, epsilon): [float(cell or "nan") for cell in cells(runs, forest, epsilon)]
        for forest, epsilon in {(run["forest"], run["epsilon"]) for run in runs}
    }
    others = fmean(float(run["others as a guess"]) for run in runs)
    assert mean[FORESTS[2], ""][0] == 0
    low, high = mean["private forest", "1.0"], mean["private forest", "10.0"]
    assert max(high[0], high[2], high[4]) < PUBLISHED[10.0][0]
    assert all(high[i] < 0.6 * high[i + 1] for i in (0, 2, 4))
    assert all(abs(low[i] - low[i + 1]) < 0.015 for i in (0, 2, 4))
    assert others - 0.005 < low[4] < PUBLISHED[1.0][0] / 2
    for name in DRAWN:
        assert abs(mean[name, "1.0"][4] - mean[name, "1.0"][5]) < 0.01
        assert 0 < mean[name, "10.0"][5] - mean[name, "10.0"][4] < 0.02


def seconds(runs: list[dict[str, str]]) -> list[float]:
    return [float(run["seconds"]) for run in runs]


def cells(runs: list[dict[str, str]], forest: str, epsilon: str) -> list[str]:
    """Return the mean error, and that about others, for each prior; nothing where there are no runs."""
    found: list[str] = []
    for prior in ("none", "uniform", "marginals"):
        own = [r for r in runs if (r["forest"], r["epsilon"], r["prior"]) == (forest, epsilon, prior)]
        assert len(own) in (0, 5)
        for key in ("error", "about others"):
            found.append(short(fmean(float(run[key]) for run in own), 3) if own else "")
    return found
