"""The real path of every release, run often on neighbouring tables: what privacy loss do its outputs refute?

    python -m tests.adversarial.end_to_end 100000 -o docs/studies/privacy/end-to-end.csv

writes a line a case; cases that the file has with as many draws are left as they are, so it may be stopped and go on.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Hashable
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pandas as pd

from hedgerow import (
    DPGreedyRLClassifier,
    PrivateRuleListClassifier,
    PrivateScorecardClassifier,
    PrivateTreeClassifier,
)
from tests.adversarial.neighbours import (
    NARROW,
    NUMBERS,
    PAIRS,
    SCHEMA,
    Draw,
    Pair,
    counted,
    cuts,
    fits,
    gaussian,
    scorecards,
    shared,
)
from tests.adversarial.refute import Check, refuted

FULL, QUICK = 100_000, 500
"""How many outcomes the tests draw on each side of a pair, at full size and in `make test`."""
ALARM = 1e-6
"""The chance that any of all the cases refutes a mechanism that keeps its word."""

_TABLES = PAIRS | NUMBERS
_list = partial(PrivateRuleListClassifier, max_rules=2, max_literals=1, negations=False, schema=NARROW)
_published = partial(DPGreedyRLClassifier, max_rules=2, max_literals=1, negations=False, schema=NARROW)
_tree = partial(PrivateTreeClassifier, max_depth=1, schema=NARROW)


@dataclass(frozen=True)
class Release:
    """What is released, and its loss as it is declared.

    Attributes
    ----------
    epsilon, delta : float
        The declared loss.
    of : callable
        Makes of a pair of tables what draws one outcome.
    seen : dict of str to float
        By pair of tables: the share of ε that 10⁵ draws a side must refute. What loses 1/share times as much as it
        declares is caught there.
    quick : tuple of str and float, or None
        A pair, and the share that 500 draws a side must refute; None for what is drawn at full size only.
    """

    epsilon: float
    of: Callable[[Pair], Draw]
    seen: dict[str, float]
    quick: tuple[str, float] | None = None
    delta: float = 0.0


RELEASES = {
    "greedy list": Release(
        5.0,
        fits(_list(5.0, search="greedy")),
        {"none and one": 0.18, "five and six": 0.76, "one class: twenty and another": 1 / 1.3},
        quick=("one class: twenty and another", 0.11),
    ),
    "exponential list": Release(
        6.0,
        fits(_published(6.0, mechanism="exponential")),
        {"none and one": 0.29, "five and six": 0.33, "one class: one and another": 0.35},
    ),
    "noisy-counts list": Release(
        6.0,
        fits(_published(6.0, mechanism="noisy-counts")),
        {"none and one": 0.31, "five and six": 0.31, "one class: twenty and another": 0.31},
    ),
    "exact list": Release(
        5.0,
        fits(_list(5.0, search="exact")),
        {"none and one": 1 / 1.3, "five and six": 0.75, "one class: one and two": 0.35},
    ),
    "exact list by blocks": Release(
        8.0,
        fits(_list(8.0, search="exact", max_rules=3, lookahead=1, schema=SCHEMA)),
        {"none and one": 0.37, "five and six": 0.3, "one class: one and two": 0.28},
    ),
    "exact list with counts": Release(
        4.0,
        fits(_list(4.0, search="exact", release_counts=True)),
        {"none and one": 0.74, "five and six": 0.72, "one class: one and two": 0.6},
    ),
    "greedy tree": Release(
        5.0,
        fits(_tree(5.0, search="greedy", max_depth=2, schema=SCHEMA)),
        {"none and one": 0.18, "five and six": 0.62, "one class: twenty and another": 0.69},
    ),
    "exact tree with counts": Release(
        4.0,
        fits(_tree(4.0, release_counts=True)),
        {"none and one": 0.74, "five and six": 0.72, "one class: one and two": 0.6},
        quick=("five and six", 0.08),
    ),
    "scorecard": Release(
        5.0,
        scorecards(PrivateScorecardClassifier(5.0, points=1, schema=NARROW)),
        {"none and one": 1 / 1.3, "five and six": 0.75, "one class: twenty and another": 1 / 1.3},
        quick=("five and six", 0.2),
    ),
    "scorecard with delta": Release(
        8.0,
        scorecards(PrivateScorecardClassifier(8.0, points=1, schema=NARROW, delta=0.05)),
        {"none and one": 0.3, "five and six": 0.26, "one class: one and another": 0.25},
        delta=0.05,
    ),
    "histograms with shared noise": Release(
        5.0,
        shared(5.0),
        {"none and one": 0.85, "five and six": 0.85, "one class: one and two": 0.85},
        quick=("five and six", 0.25),
    ),
    "learned schema": Release(
        5.0,
        cuts(5.0),
        {"no value and one": 0.12, "eleven values and twelve": 0.74, "five values and another": 0.54},
    ),
    "oracle of counts": Release(
        5.0,
        counted(5.0),
        {"none and one": 1 / 1.3, "five and six": 1 / 1.3, "one class: one and two": 1 / 1.3},
        quick=("one class: one and two", 0.07),
    ),
    "Gaussian oracle": Release(
        4.0,
        gaussian(4.0, 0.05),
        {"none and one": 0.61, "five and six": 0.61, "one class: one and two": 0.61},
        delta=0.05,
    ),
}
CASES = [(name, pair) for name, release in RELEASES.items() for pair in release.seen]


def examine(name: str, pair: str, draws: int) -> Check:
    """Draw so many outcomes on each side of a pair, and return what they refute."""
    release, tables = RELEASES[name], _TABLES[pair]
    draw = release.of(tables)
    numbers: dict[Hashable, int] = {}
    smaller, larger = ([numbers.setdefault(draw(*side), len(numbers)) for _ in range(draws)] for side in tables.sides)
    return refuted(smaller, larger, delta=release.delta, alarm=ALARM / len(CASES))


def line(name: str, pair: str, draws: int) -> dict[str, Any]:
    """Return one line of the table of results."""
    release, result = RELEASES[name], examine(name, pair, draws)
    return {
        "release": name,
        "tables": pair,
        "epsilon": release.epsilon,
        "delta": release.delta,
        "draws": draws,
        "tested": result.draws,
        "likely": result.likely,
        "unlikely": result.unlikely,
        "refuted": round(result.bound, 4),
        "share": round(result.bound / release.epsilon, 4),
        "at least": round(release.seen[pair], 4),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("draws", type=int, help="draws on each side of a pair")
    parser.add_argument("-o", "--output", type=Path, required=True, help="the table of results")
    parser.add_argument("-n", "--processes", type=int, default=2)
    parser.add_argument("--only", nargs="*", default=list(RELEASES), help="some of the releases")
    given = parser.parse_args()
    result = pd.read_csv(given.output).to_dict("records") if given.output.exists() else []
    done = {(item["release"], item["tables"]): item for item in result}
    cases = [case for case in CASES if case[0] in given.only]
    cases = [case for case in cases if case not in done or done[case]["draws"] < given.draws]
    with ProcessPoolExecutor(given.processes, mp_context=get_context("spawn")) as pool:
        for future in as_completed([pool.submit(line, *case, given.draws) for case in cases]):
            item = future.result()
            done[item["release"], item["tables"]] = item
            pd.DataFrame([done[case] for case in CASES if case in done]).to_csv(given.output, index=False)


if __name__ == "__main__":
    main()
