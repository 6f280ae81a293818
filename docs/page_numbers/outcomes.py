"""Numbers and costs: benchmarks/outcomes.py."""

from __future__ import annotations

from page_numbers.marks import Row, markdown, number, records, short, sized, table

TITLES = {
    "wages": "wages, dollars a week",
    "diamonds": "diamonds, dollars",
    "hours": "hours of work a week",
    "pupils": "pupils' scores",
    "adult": "Adult",
    "compas": "COMPAS",
    "boston": "house values in Boston",
    "ames": "sale prices in Ames",
    "loans": "interest rates of loans",
    "weather": "humidity in New York",
    "flights": "delays of flights",
}
DIGITS = {"wages": 0, "diamonds": 0, "hours": 1, "pupils": 2}
OURS = ("tree of depth 3", "list", "scorecard", "scorecard, 50 cut points")
PEERS = ("DP-EBM", "linear", "mean")
OPEN = ("CART of depth 3", "gradient boosting")


def _found(file: str) -> dict[tuple[str, str, str], Row]:
    return {(row["table"], row["learner"], row["epsilon"]): row for row in records(file)}


@table
def outcomes() -> str:
    """Return R² and absolute errors by table, ε and learner, and sizes of trees, lists and scorecards."""
    result = _found("outcomes.csv")

    def cell(key: tuple[str, str, str]) -> str:
        if key not in result:
            return ""
        row = result[key]
        size = ("attributes", "bins of a number") if key[1].startswith("scorecard") else ("leaves",)
        scores = short(row["R2"], 3), short(row["absolute error"], DIGITS[key[0]])
        return " / ".join((*scores, *(sized(row[our], our) for our in size if row.get(our))))

    def cells(name: str, epsilon: str) -> list[str]:
        keys = [*((name, our, epsilon) for our in (*OURS, *PEERS)), *((name, our, "") for our in OPEN)]
        return list(map(cell, keys))

    rows = ((TITLES[name], epsilon, *cells(name, epsilon)) for name in DIGITS for epsilon in ("0.1", "1"))
    names = [*OURS[:-1], "scorecard, 50 cuts", "DP-EBM, δ", "linear, diffprivlib", "mean", "CART, depth 3", "boosting"]
    return markdown(("R² / absolute error / size", "ε", *names), rows)


@table
def outcome_goals() -> str:
    """Return R² of private trees of depth 3 as a share of CART's."""
    result = _found("outcomes.csv")

    def share(name: str, epsilon: str) -> str:
        cart = float(result[name, OPEN[0], ""]["R2"])
        return short(float(result[name, OURS[0], epsilon]["R2"]) / cart, 3)

    rows = ((TITLES[name], share(name, "0.1"), share(name, "1")) for name in DIGITS)
    return markdown(("R² of a private tree / CART's", "ε = 0.1, goal .85", "ε = 1, goal .98"), rows)


@table
def outcomes_wide() -> str:
    """Return R² and leaves of default trees and of trees of two levels on tables of many numbers."""

    def cells(row: Row) -> tuple[str, ...]:
        trees = (f"{short(row[f'R2, {tree}'], 3)} ({row[f'leaves, {tree}']})" for tree in ("two levels", "default"))
        difference = f"{short(row['difference'], 3)} ± {short(row['standard error'], 3)}"
        return TITLES[row["table"]], f"{int(row['rows']):,}", row["epsilon"], *trees, difference

    head = ("R² (leaves)", "rows", "ε", "two levels, all cut points", "default: three levels", "difference")
    return markdown(head, map(cells, records("outcomes_wide.csv")))


@number
def outcome_errors() -> str:
    """Return the largest standard errors of R² of hedgerow's learners at ε = 0.1 and 1."""
    rows = [row for row in records("outcomes.csv") if row["learner"] in OURS]
    by_epsilon = ([float(row["standard error of R2"]) for row in rows if row["epsilon"] == e] for e in ("0.1", "1"))
    return " and ".join(short(max(errors), 3) for errors in by_epsilon)


@table
def outcome_costs() -> str:
    """Return expected costs of trees drawn by costs and by errors, and of the optimum."""
    result = _found("outcomes_costs.csv")

    def cells(name: str, epsilon: str) -> list[str]:
        keys = (("drawn by costs", epsilon), ("optimum of costs", ""), ("drawn by errors", epsilon))
        rows = [result[name, *key] for key in keys]
        cost, best, by_errors = (float(row["cost"]) for row in rows)
        numbers = [f"{short(row['cost'], 4)} ± {short(row['standard error of cost'], 4)}" for row in rows]
        return [*numbers, f"{short(100 * (cost / best - 1), 2)} %", f"{short(100 * (1 - cost / by_errors), 1)} %"]

    rows = ((TITLES[name], epsilon, *cells(name, epsilon)) for name in ("adult", "compas") for epsilon in ("0.1", "1"))
    compared = ("above the optimum, goal 3 %", "below drawn by errors, goal 15 %")
    head = ("expected cost", "ε", "drawn by costs", "certified optimum", "drawn by errors", *compared)
    return markdown(head, rows)


@number
def outcomes_gaps() -> str:
    """Return by how much DP-EBM's R² is above the scorecard's on hours and pupils, at ε = 1."""
    result = _found("outcomes.csv")
    gaps = (
        float(result[name, "DP-EBM", "1"]["R2"]) - float(result[name, "scorecard", "1"]["R2"])
        for name in ("hours", "pupils")
    )
    return " and ".join(short(gap, 4) for gap in gaps)
