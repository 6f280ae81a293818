"""docs/privacy.md, from the files of its draws and of the benchmarks, and its own formulas."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import log

from hedgerow.engines.count import MOST_PATTERNS
from hedgerow.learn.scorecard.counts import STEPS as RESIDUAL_STEPS
from hedgerow.learn.search.losses import STEPS
from hedgerow.privacy.exponential_mechanism import MOST_ROWS, Rounding
from hedgerow.privacy.joint_quantiles import JointQuantiles
from hedgerow.privacy.zcdp import drawn_rho, epsilon_at, pure_rho
from hedgerow.schema.private_cuts import MOST_CANDIDATES
from tests.adversarial.end_to_end import FULL
from tests.adversarial.test_running_figures import largest_delta
from tests.docs.page import Page, records, short

PAGE = "docs/privacy.md"


def check(page: Page) -> None:
    page.given(
        # what the authors' code does, and how SSRL publishes a mechanism
        "fewer than 5 % or more than 95 % of the training rows",
        "c² > 2 ln(1.25/δ)",
        # groups of rows
        "(Dwork and Roth, Theorem 2.2)",
        "(Bun and Steinke 2016, Proposition 1.9)",
        "The key is 256 bits",
        # what NumPy draws for a uniform number
        "from 53 random bits",
        # where what adds up by answers was published
        "*Privacy Odometers and Filters*, 2016",
        "*Individual Privacy Accounting via a Rényi Filter*, 2021",
        "*Fully-Adaptive Composition in Differential Privacy*, ICML 2023",
        "*Exact zCDP Characterizations*, FORC 2026, have",
        # where a score was published
        "*Differentially Private Quantiles*, ICML 2021, Section 3",
    )
    page.says("| {} steps in ℓ1 and in ℓ2 |", str(RESIDUAL_STEPS))
    page.says("| 2·{} steps, in either direction |", str(RESIDUAL_STEPS))
    page.says("| 2·{} steps in ℓ1, √2·{} in ℓ2 |", str(RESIDUAL_STEPS), str(RESIDUAL_STEPS))
    page.says("m = {} be the steps", str(RESIDUAL_STEPS))
    # trees of depth 4 on 20 booleans, as in the benchmarks, at ε = 1
    weight = Rounding(depth=4, leaves=16, options=20, values=2, stop_probability=0.1).weight(Fraction(1))
    page.says("about {}e-4 of ε for trees of depth 4", f"{float(1 - weight) * 1e4:.0f}")
    cuts = JointQuantiles(Fraction(1), bins=10, candidates=MOST_CANDIDATES)
    kept = float(1 - 2 * cuts.score_sensitivity * cuts.weight)
    page.says("about {}e-5 for ten bins and {} candidates", f"{kept * 1e5:.0f}", f"{MOST_CANDIDATES:,}")
    page.says("up to 2³² rows")
    page.says("in whole steps of 1/{} (", str(STEPS))
    assert MOST_ROWS == 2**32
    page.says("draws {} a side, and requires", f"{FULL:,}")
    page.says("more than {} million patterns", str(MOST_PATTERNS // 10**6))
    _composition(page)
    _filter(page)
    _draws(page)
    _gini(page)
    rows, epsilon, exponent = 20, 4, 6
    assert log(rows) + (rows - 1) * epsilon - exponent * log(10) > 0
    page.says(f"at ({epsilon}, 10⁻⁶) and {rows} rows it is above 1")


def _composition(page: Page) -> None:
    page.given("ICML 2015)", "ICML 2020, and Cesar", "ALT 2021, call")
    delta = Fraction(1, 10**6)
    for releases, epsilon in product((10, 100), (Fraction(1, 10), Fraction(1, 2))):
        rho, basic = releases * drawn_rho(epsilon, epsilon), releases * epsilon
        drawn, others = (min(basic, epsilon_at(sum_, delta)) for sum_ in (rho, releases * pure_rho(epsilon)))
        cells = f"{float(basic):g}", f"{float(rho):g}", _amount(drawn), _amount(others)
        page.row(f"{releases} of ε = {float(epsilon)}", *cells)
    page.says("ε at δ = 10⁻⁶")
    answers, each = 1000, Fraction(1, 10)
    said = {k: float(epsilon_at(k * pure_rho(each), delta)) for k in range(1, answers + 1)}
    beyond = f"{largest_delta(float(each), answers, said) * 10**6:.2f}"
    page.says("with {} answers of ε = {}", f"{answers:,}", str(float(each)))
    page.says("a δ of {}·10⁻⁶ at the figure for 10⁻⁶", beyond)


def _amount(epsilon: Fraction) -> str:
    return f"{float(epsilon):.2f}".removesuffix(".00")


def _filter(page: Page) -> None:
    rows = [row for row in records("benchmarks/results/published.csv") if row["dataset"] == "compas_binary"]
    reached = {(row["mechanism"], row["epsilon"]): float(row["accuracy"]) for row in rows}
    gains = [
        reached[f"{mechanism}, filtered", epsilon] - accuracy
        for (mechanism, epsilon), accuracy in reached.items()
        if (f"{mechanism}, filtered", epsilon) in reached
    ]
    page.says("by up to {} of accuracy on COMPAS", short(max(gains), 3))


def _draws(page: Page) -> None:
    cases: dict[str, list[dict[str, str]]] = {}
    for row in records("docs/studies/privacy/end-to-end.csv"):
        cases.setdefault(row["release"], []).append(row)
        page.says("With {} draws a side", f"{int(row['draws']):,}")
        assert float(row["refuted"]) <= float(row["epsilon"])
    for release, pairs in cases.items():
        delta = float(pairs[0]["delta"])
        declared = f"{float(pairs[0]['epsilon']):g}" + (f" ({delta:g})" if delta else "")
        shares = ", ".join(f"{float(row['share']):.2f}" for row in pairs)
        page.row(release, declared, f"{max(float(row['refuted']) for row in pairs):.2f}", shares)


def _gini(page: Page) -> None:
    def score(*parts: tuple[int, int]) -> float:
        return sum(sum(part) - sum(n * n for n in part) / sum(part) for part in parts) / sum(map(sum, parts))

    one = short(score((2, 0), (0, 2)), 0), short(score((2, 1), (0, 2)), 2)
    other = short(score((1, 1), (1, 1)), 1), short(score((1, 1), (1, 2)), 2)
    page.says("that rule's score rises from {} to {}, while", *one)
    page.says("falls from {} to {}", *other)
