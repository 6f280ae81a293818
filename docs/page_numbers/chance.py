"""False alarms and power of reports: benchmarks/results/chance.csv."""

from __future__ import annotations

from page_numbers.marks import Row, markdown, number, records, table


def _nulls() -> list[Row]:
    return [row for row in records("chance.csv") if row["false alarm"]]


def _percent(text: str) -> str:
    return f"{100 * float(text):.1f} %"


def _rows(row: Row) -> str:
    train = f"{int(row['train']):,}" if row["has_train"] == "True" else "none"
    return f"{train} / {int(row['test']):,}"


@table
def chance_alarms() -> str:
    """Return the false alarms of each check and of whole sheets, by case."""
    head = ("case", "rows: training / held-out", "groups", "`accuracy`", "`groups`", "`separation`", "sheet", "draws")
    columns = ("accuracy pass", "groups review", "separation review", "false alarm")
    rows = (
        (row["name"], _rows(row), row["groups"], *(_percent(row[column]) for column in columns), row["draws"])
        for row in _nulls()
    )
    return markdown(head, rows)


@table
def chance_power() -> str:
    """Return the outcomes of the check that should find something, by effect and rows."""
    rows = [_power(row) for row in records("chance.csv") if not row["false alarm"]]
    head = ("true state", "groups", "rows: training / held-out", "check", "detected", "not run", "false support")
    return markdown(head, rows, (0, 3))


def _power(row: Row) -> tuple[str, ...]:
    guesses, share = float(row["guesses"]), row["name"].partition(", ")[2]
    about = f", {share}" if share else ""
    if guesses > 0.5:
        what, check, result = f"{100 * guesses:g} % right guesses{about}", "separation", "review"
        false = _percent(row["separation pass"]) if guesses >= 0.55 else "–"
    elif float(row["deficit"]):
        what, check, result, false = "a group 5 points worse", "groups", "review", "–"
    else:
        amount = "5 % of the squared error" if row["label"] == "numbers" else "5 points"
        units = about.replace(", numbers", "")
        what, check, result, false = f"a gain of {amount}{units}", "accuracy", "pass", "–"
    rates = (_percent(row[f"{check} {status}"]) for status in (result, "not_run"))
    return (what, row["groups"], _rows(row), f"`{check}`", *rates, false)


@number
def chance_alarms_range() -> str:
    """Return the least and the largest share of sheets with a false alarm, and their mean."""
    shares = [float(row["false alarm"]) for row in _nulls()]
    mean = sum(shares) / len(shares)
    ends = f"{100 * min(shares):.1f} to {100 * max(shares):.1f} %"
    return f"{ends} (mean {100 * mean:.1f} %; {len(shares)} cases of {_nulls()[0]['draws']} draws)"
