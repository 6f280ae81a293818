"""The check of CSV files.

A million rows of 12 whole numbers, one core: the check that each line is a row, before rows are read, processes
{plain_speed} MB per second, and {quoted_speed} MB per second if every field is quoted.
"""

import tempfile
from pathlib import Path

import numpy as np
from measure import median_seconds, report

from hedgerow.tables.csv_grammar import check_grammar

ROWS, FIELDS = 1_000_000, 12


def main():
    rng, rows = np.random.default_rng(0), []
    with tempfile.TemporaryDirectory() as folder:
        for cells, quote in (("plain", ""), ("in quotes", '"')):
            path = Path(folder) / "rows.csv"
            words = [[f"{quote}{word}{quote}" for word in line] for line in rng.integers(0, 10**6, (1000, FIELDS))]
            lines = "".join(",".join(line) + "\n" for line in words)
            header = ",".join(f"x{i}" for i in range(FIELDS))
            path.write_text(f"{header}\n{lines * (ROWS // 1000)}", encoding="utf-8")
            seconds = median_seconds(lambda path=path: check_grammar(path, FIELDS, ",", shown="rows.csv"), 5)
            size = path.stat().st_size
            rows.append({"cells": cells, "bytes": size, "MB a second": f"{size / 1e6 / seconds:.0f}"})
    report("csv_check", rows)


if __name__ == "__main__":
    main()
