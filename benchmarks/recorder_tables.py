"""Small generated tables for the recorder: rows as codes, their neighbours by dp-recorder, and frames made of them."""

import numpy as np
import pandas as pd

COLUMNS = {
    "smoker": (False, True),
    "sex": ("F", "M", "X", None),
    "age": (46, 17, 90, 30, 31, 60, -5, 200),
    "dose": (0.3, None, 0.0, 0.25, 1.0, 5.0),
    "risk": ("low", "high", "mid"),
    "cost": (7.3, 0.0, 32.0, 0.5, 16.0, 99.0),
    "weight": (1.0, 4.0, 0.0, 2.5, 9.0),
    "ward": ("north", "south", "a ward that is not declared"),
}
"""The values of each column, also at the bounds and outside them; later values are rarer in a table."""
TYPES = {"smoker": bool, "age": "int64", "dose": float, "cost": float, "weight": float}
DOMAIN = [len(values) for values in COLUMNS.values()]
SIZES = (0, 1, 2, 3, 8, 30, 120)
WIDE = 40
_ADDED = ("uniform_domain", "copy_random", "uniform_supported")
_PERSONS = 5


def codes(rng, size, domain=None):
    """Return random rows as codes. In every second table, rows differ in few columns, as in a pure leaf."""
    domain = domain or DOMAIN
    power = rng.choice([1.0, 6.0])
    return np.column_stack([np.minimum(n * rng.random(size) ** power, n - 1).astype(int) for n in domain])


def neighbours(recorder, rows, rng, number, domain=None):
    """Return tables with a row more or a row less, by dp-recorder."""
    result = []
    for place in range(number):
        remove = len(rows) and place % 2
        mode = "unbounded:remove" if remove else "unbounded:add"
        strategy = {} if remove else {"strategy": _ADDED[0] if place % 4 == 0 else rng.choice(_ADDED)}
        options = {"mode": mode, "domain": domain or DOMAIN, "rng": rng, **strategy}
        result += recorder.neighbours.generate_neighbors(rows, 1, **options)
    return [table.astype(int) for table in result]


def frame(rows):
    """Return rows of codes as a frame, whose types do not depend on the rows."""
    table = pd.DataFrame({
        name: pd.Series([values[code] for code in rows[:, place]], dtype=object)
        for place, (name, values) in enumerate(COLUMNS.items())
    })  # fmt: skip
    return table.astype(TYPES)


def pairs(recorder, rng, number):
    """Return a frame and neighbouring frames."""
    rows = codes(rng, rng.choice(SIZES))
    return frame(rows), [frame(other) for other in neighbours(recorder, rows, rng, number)]


def pairs_of_persons(_, rng, number):
    """Return a frame and frames without a person, or with a person more; a person has up to six rows."""

    def of(person):
        return frame(codes(rng, rng.integers(1, 7))).assign(person=f"p{person}")

    everyone = [of(person) for person in range(rng.integers(1, _PERSONS))]
    table = pd.concat(everyone, ignore_index=True)
    result = []
    for place in range(number):
        if place % 2 and len(everyone) > 1:
            result.append(table[table["person"] != f"p{rng.integers(len(everyone))}"].reset_index(drop=True))
        else:
            result.append(pd.concat([table, of("new")], ignore_index=True))
    return table, result


def pairs_of_wide_rows(recorder, rng, number):
    """Return frames with many Boolean columns, a label and a number."""
    domain = [2] * WIDE + [3]
    rows = codes(rng, rng.choice([0, 2, 20, 60]), domain)

    def wide(table):
        named = {f"x{i}": table[:, i].astype(bool) for i in range(WIDE)}
        cost = np.array([0.0, 32.0, 11.0])[table[:, -1]]
        risk = pd.Series([COLUMNS["risk"][code] for code in table[:, -1]], dtype=object)
        return pd.DataFrame({**named, "risk": risk, "cost": cost})

    return wide(rows), [wide(other) for other in neighbours(recorder, rows, rng, number, domain)]
