"""What attacks reach, in docs/exact_risk.md: from the file of membership.py."""

from __future__ import annotations

import math

from tests.docs.page import Page, records, short

PAGE = "docs/exact_risk.md"
NAMES = {"compas": "COMPAS", "german": "German Credit", "adult": "Adult"}
ATTACKS = ("lira", "lira offline", "rmia", "forest")


def check(page: Page) -> None:
    page.given(
        "TPR at FPR .01",
        "At most 2,000 rows",
        "32 splits",
        "intervals of 95 %",
        "at most e^ε·.01",
        "no more than 2.1 standard errors",
    )
    rows = records("benchmarks/results/membership.csv")
    for row in rows:
        name = f"{NAMES[row['table']]}, {int(row['rows']):,} rows"
        learner = row["learner"].replace("epsilon ", "ε = ")
        areas = (plus_minus(row, f"{attack} AUC", 3) for attack in ATTACKS)
        rates = (tpr(row, attack) for attack in ("lira offline", "rmia"))
        page.row(name, learner, *areas, *rates)
        if row["exact gain"]:
            gains = (plus_minus(row, key, 4) for key in ("gain", "exact gain"))
            most = (number(row, key, 3) for key in ("gain of 10", "exact gain of these 10", "exact, worst"))
            bounds = (number(row, key, 4) for key in ("exact, worst TPR", "bound of epsilon, TPR"))
            page.row(name, learner, *gains, *most, *bounds)
    private = [row for row in rows if row["exact gain"]]
    for row in private:
        gain, exact, *errors = (float(row[key]) for key in ("gain", "exact gain", "gain error", "exact gain error"))
        assert abs(gain - exact) < 2.1 * math.hypot(*errors)
    assert all(row["rows beyond chance"] == "0" for row in private)
    grown = {row["table"]: row["rows beyond chance"] for row in rows if row["learner"] == "scikit-learn, fully grown"}
    page.says("{}, {} and {} rows of COMPAS, German Credit and Adult", *(grown[name] for name in NAMES))


def number(row: dict[str, str], key: str, digits: int) -> str:
    return short(float(row[key]), digits)


def plus_minus(row: dict[str, str], key: str, digits: int) -> str:
    return f"{number(row, key, digits)} ± {number(row, f'{key} error', digits)}"


def tpr(row: dict[str, str], attack: str) -> str:
    low, high = (number(row, f"{attack} TPR {side}", 3) for side in ("low", "high"))
    return f"{number(row, f'{attack} TPR', 3)} ({low} to {high})"
