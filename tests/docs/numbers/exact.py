"""docs/exact.md, from the files of benchmarks/prior.py and benchmarks/exact.py."""

from __future__ import annotations

import re

from hedgerow.schema import Boolean, Label, Schema, count_candidates
from tests.docs.page import Page, figures, records, short

PAGE = "docs/exact.md"


def check(page: Page) -> None:
    page.given("over 20 splits")
    seconds = {row["what"]: float(row["seconds"]) for row in records("benchmarks/results/exact.csv")}
    two = seconds["list, 2 rules jointly, 2 literals (one block)"]
    three = seconds["list, 3 rules jointly, 2 literals"]
    adult = Schema({f"x{i}": Boolean() for i in range(20)}, Label("y", (0, 1)))
    page.says("with {} rules to choose from,", str(count_candidates(adult, 2)))
    page.says("two at a time take {} s and three take {} s", figures(two, 1), figures(three))
    _prior(page)
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


def _tables(page: Page) -> None:
    rows = records("benchmarks/results/exact_raw.csv")
    page.says("Raw Adult, {} patterns, one core", f"{int(rows[0]['patterns']):,}")
    for row in rows:
        page.row(row["what"], f"{int(row['boxes']):,}", row["seconds"], row["by masks"])
    page.given("ICML 2008", "ICML 2021", "ICML 2022")
