"""Growth of the time of a private fit.

One private fit, K = 5. The last column of the CSV is the local slope in log-log: from {grown_patterns} it rises from
{first_slope} (fixed costs) to {last_slope}; from {grown_candidates} it stays below 0.8. The time is asymptotically
linear in patterns, and sublinear in candidates over this range.

![time of one fit against patterns and candidates](results/growth.png)

{results/growth.csv}
"""

import numpy as np
from measure import RESULTS, median_seconds, report

import hedgerow as hr
from hedgerow.schema import Boolean, Label, Schema, count_candidates


def schema_of(n_booleans):
    attributes = {f"x{i}": Boolean() for i in range(n_booleans)}
    return Schema(attributes, Label("y", (0, 1)))


def tally_of(schema, n, rng):
    cells = (rng.random((n, len(schema))) < 0.3).astype(np.uint8)
    signal = (cells[:, 0] & cells[:, 1]).astype(int)
    return hr.Tally(schema, cells, np.column_stack([1 + 3 * (1 - signal), 1 + 3 * signal]))


def main():
    rng = np.random.default_rng(0)
    classifier = hr.PrivateRuleListClassifier(1.0, search="greedy", max_literals=2)
    rows = []
    for n in (10**2, 10**3, 10**4, 10**5, 10**6):
        rows.append(measure("patterns", n, schema_of(20), n, classifier, rng))
    for d in (7, 11, 16, 22, 32, 45, 71):
        schema = schema_of(d)
        rows.append(measure("candidates", count_candidates(schema, 2), schema, 10**4, classifier, rng))
    for grown in ("patterns", "candidates"):
        part = [row for row in rows if row["grown"] == grown]
        size, time = np.log([[row["size"], row["ms"]] for row in part]).T
        slope = np.diff(time) / np.diff(size)
        for row, local in zip(part, [np.nan, *slope], strict=True):
            row["slope from the row before"] = "" if np.isnan(local) else f"{local:.2f}"
    report("growth", rows)
    draw(rows)


def measure(grown, size, schema, n, classifier, rng):
    tally = tally_of(schema, n, rng)
    seconds = median_seconds(lambda: classifier.fit_tally(tally), 7 if n <= 10**5 else 3)
    candidates = count_candidates(schema, 2)
    row = {"grown": grown, "size": size, "patterns": n, "candidates": candidates, "ms": round(1e3 * seconds, 2)}
    print(row, flush=True)
    return row


def draw(rows):
    import matplotlib.pyplot as plt

    _, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained", sharey=True)
    for ax, grown in zip(axes, ("patterns", "candidates"), strict=True):
        size, time = np.array([[row["size"], row["ms"]] for row in rows if row["grown"] == grown]).T
        ax.loglog(size, time, marker="o", label="one private fit, K = 5")
        ax.loglog(size, time[-1] * size / size[-1], linestyle=":", color="grey", label="linear")
        ax.set(xlabel=grown, ylabel="milliseconds, one core")
        ax.legend(frameon=False)
    axes[0].figure.savefig(RESULTS / "growth.png", dpi=120)


if __name__ == "__main__":
    main()
