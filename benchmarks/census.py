"""Census-like rows of any number.

    python census.py FOLDER ROWS [ROWS ...]

makes 20 attributes and a label by DuckDB in an empty folder, the same at every run, and tells how large the files are
and how long it took.

A row belongs to one of 2,000 profiles, few of them common, that say the cell of each of its attributes; each attribute
deviates from its profile in one row of 500. A number is drawn from its cell, the label from odds that depend on four
attributes' cells.

{results/census.csv}
"""

import sys
import time
from itertools import pairwise
from pathlib import Path

import duckdb
import numpy as np
from measure import report, use_all_cores

import hedgerow as hr

PROFILES, DEVIATES, FILES, SEED = 2_000, 500, 10, 7
CODES = {
    "workclass": ("Private", "Self-emp-not-inc", "Local-gov", "State-gov", "Self-emp-inc", "Federal-gov", "None"),
    "education": (
        *("HS-grad", "Some-college", "Bachelors", "Masters", "Assoc-voc", "11th", "Assoc-acdm", "10th", "7th-8th"),
        *("Prof-school", "9th", "12th", "Doctorate", "5th-6th", "1st-4th", "Preschool"),
    ),
    "marital_status": ("Married", "Never-married", "Divorced", "Separated", "Widowed", "Partner-absent"),
    "occupation": (
        *("Prof-specialty", "Craft-repair", "Exec-managerial", "Adm-clerical", "Sales", "Other-service", "Transport"),
        *("Machine-op-inspct", "Handlers-cleaners", "Farming-fishing", "Tech-support", "Protective-serv", "Military"),
    ),
    "relationship": ("Husband", "Not-in-family", "Own-child", "Unmarried", "Wife", "Other-relative"),
    "region": ("South", "West", "Midwest", "Northeast", "Abroad"),
    "housing": ("mortgage", "rented", "owned", "social", "other"),
}
UNKNOWN = ("workclass", "occupation")
"""Attributes in which one profile in ten has ``?``."""
INTEGERS = {
    "age": (17, 90, (25, 35, 45, 55, 65)),
    "hours_per_week": (1, 99, (20, 39, 40, 50)),
    "weeks_worked": (0, 52, (0, 26, 49)),
    "children": (0, 12, (0, 1, 2)),
    "years_at_address": (0, 80, (1, 5, 15)),
}
REALS = {
    "capital_gain": (0.0, 100_000.0, (0.0, 5_000.0)),
    "wage_per_hour": (0.0, 500.0, (10.0, 20.0, 40.0)),
    "commute_km": (0.0, 200.0, (5.0, 20.0, 50.0)),
    "rent_share": (0.0, 1.0, (0.2, 0.35, 0.5)),
}
BOOLEANS = ("female", "citizen", "veteran", "disabled")
ABSENT = ("hours_per_week", "wage_per_hour", "commute_km", "housing", "veteran")
"""Attributes in which one profile in ten has NULL."""
LABEL = hr.Label("income", ("<=50K", ">50K"))
ODDS = (("age", ">= 0", 0.05), ("age", ">= 2", 0.1), ("marital_status", "= 0", 0.3), ("education", "IN (2, 3)", 0.3))
ODDS += (("capital_gain", "= 2", 0.2),)
"""Added up: the probability of the second class, for the number of the cell of an attribute."""


def schema():
    """Return the public schema."""
    missing = dict.fromkeys((*ABSENT, *UNKNOWN), "bin")
    attributes = {}
    for name, (low, high, cuts) in INTEGERS.items():
        attributes[name] = hr.Integer(low, high, cuts=cuts, missing=missing.get(name, "error"), outside="clip")
    for name, (low, high, cuts) in REALS.items():
        attributes[name] = hr.Real(low, high, cuts=cuts, missing=missing.get(name, "error"))
    for name, words in CODES.items():
        unknown = ("?",) if name in UNKNOWN else ()
        attributes[name] = hr.Categorical(words, missing=missing.get(name, "error"), missing_values=unknown)
    for name in BOOLEANS:
        attributes[name] = hr.Boolean(missing=missing.get(name, "error"))
    return hr.Schema(attributes, LABEL)


def make(folder, rows):
    """Write the rows as Parquet files, unless they are there; return the pattern of their names."""
    folder = Path(folder) / f"census-{rows}"
    folder.mkdir(parents=True, exist_ok=True)
    connection, sizes = _profiles()
    for file, start in enumerate(range(0, rows, rows // FILES)):
        path = folder / f"part-{file}.parquet"
        if not path.exists():
            part = path.with_suffix(".part")  # until it is whole
            query = _drawn(sizes, start, start + rows // FILES)
            connection.execute(f"COPY ({query}) TO '{part}' (FORMAT parquet, COMPRESSION zstd)")
            part.rename(path)
    return str(folder / "*.parquet")


def counted(rows):
    """Return the cells of each pattern of the rows, and its counts by class, without making the rows."""
    connection, sizes = _profiles()
    cells = ", ".join(f"c{a}::UTINYINT AS c{a}" for a in range(len(sizes)))
    query = f"SELECT {cells}, count(*) FILTER (NOT rich) AS poor, count(*) FILTER (rich) AS rich FROM ("
    arrays = connection.execute(f"{query}SELECT *, u < {_odds()} AS rich FROM ({_cells(sizes, 0, rows)})) GROUP BY ALL")
    columns = list(arrays.fetchnumpy().values())
    return np.column_stack(columns[:-2]), np.column_stack(columns[-2:])


def _profiles():
    """Return a connection with the table of profiles, and the number of cells of each attribute."""
    connection = duckdb.connect(config={"memory_limit": "4GB"})
    sizes = [len(attribute.bins) for _, attribute in schema().attributes]
    cells = (f"least({n - 1}, floor({n} * power({_uniform('p', a)}, 2.5)))::INT AS c{a}" for a, n in enumerate(sizes))
    connection.execute(f"CREATE TABLE profiles AS SELECT p, {', '.join(cells)} FROM range({PROFILES}) t(p)")
    return connection, sizes


def _drawn(sizes, start, stop):
    """Return SQL for the rows with these numbers: their cells, then their values."""
    names = schema().names
    values = ", ".join(f"{_value(name, a)} AS {name}" for a, name in enumerate(names))
    label = f"CASE WHEN u < {_odds()} THEN '>50K' ELSE '<=50K' END AS income"
    return f"SELECT {values}, {label} FROM ({_cells(sizes, start, stop)})"


def _odds():
    return " + ".join(f"{gain} * (c{schema().names.index(name)} {test})::INT" for name, test, gain in ODDS)


def _cells(sizes, start, stop):
    """Return SQL for the cells of the rows with these numbers, from bits of each row."""
    bits = ", ".join(f"{_bits('i', a)} AS h{a}" for a in range(len(sizes)))
    profile = f"floor({PROFILES} * power({_uniform('i', 98)}, 3))::INT AS p, {_uniform('i', 99)} AS u"
    cells = ", ".join(
        f"CASE WHEN h{a} % {DEVIATES} = 0 THEN (h{a} // {DEVIATES}) % {n} ELSE c{a} END AS c{a}, h{a} // 65536 AS h{a}"
        for a, n in enumerate(sizes)
    )
    return f"SELECT {cells}, u FROM (SELECT {bits}, {profile} FROM range({start}, {stop}) t(i)) JOIN profiles USING (p)"


def _bits(key, stream):
    return f"(hash({key} * 128 + {stream + SEED * 2**48}) >> 8)::BIGINT"


def _uniform(key, stream):
    return f"({_bits(key, stream)} / {2.0**56})"


def _value(name, a):
    """Return SQL for a value of an attribute whose cell is in ``c<a>``, with random bits in ``h<a>``."""
    if name in BOOLEANS:
        kind, values = "BOOLEAN", ["false", "true"]
    elif name in CODES:
        kind, values = "VARCHAR", [f"'{word}'" for word in CODES[name]]
    elif name in INTEGERS:
        kind, (low, high, cuts) = "INTEGER", INTEGERS[name]
        edges = [low - 1, *cuts, high]
        values = [f"{item + 1} + h{a} % {other - item}" for item, other in pairwise(edges)]
    else:
        kind, (low, high, cuts) = "DOUBLE", REALS[name]
        edges = [low, *cuts, high]
        values = [f"{item} + ({other} - {item}) * (1 + h{a} % 100) / 100.0" for item, other in pairwise(edges)]
    absent = "'?'" if name in UNKNOWN else "NULL"
    branches = " ".join(f"WHEN {cell} THEN {value}" for cell, value in enumerate(values))
    return f"CAST(CASE c{a} {branches} ELSE {absent} END AS {kind})"


def main(folder, sizes):
    use_all_cores()
    made = []
    for rows in sizes:
        start = time.perf_counter()
        size = sum(path.stat().st_size for path in Path(make(folder, rows)).parent.glob("*.parquet"))
        made.append({"rows": rows, "bytes": size, "seconds": f"{time.perf_counter() - start:.1f}"})
    report("census", made)


if __name__ == "__main__":
    main(sys.argv[1], [int(rows) for rows in sys.argv[2:]])
