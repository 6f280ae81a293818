"""Hypotheses as data.

Seconds to evaluate a hypothesis on 5,000 rows of 25 numbers, as an oracle does: from its weights, in arithmetic that
does not depend on other rows, compared with the library's own `predict` on all rows at once (fast, but without a fixed
sensitivity), and on each row alone.

{hypotheses}

All five predict the same for each of the 5,000 rows.

Each row alone: measured on 200 rows, and scaled up.
"""

import warnings

import numpy as np
from measure import median_seconds, report
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.tree import DecisionTreeClassifier

from hedgerow.hypotheses import TargetColumns, read_classifier
from hedgerow.tables.frames import Table

ROWS, WIDTH, ALONE = 5000, 25, 200
HYPOTHESES = {
    "logistic regression": LogisticRegression(),
    "network 16, 256, 256, 16": MLPClassifier((16, 256, 256, 16), max_iter=3),
    "network 16, tanh": MLPClassifier((16,), activation="tanh", max_iter=3),
    "tree of depth 8": DecisionTreeClassifier(max_depth=8),
    "forest of 100": RandomForestClassifier(100),
}


def main():
    rng, rows = np.random.default_rng(0), []
    X = rng.normal(size=(ROWS, WIDTH))
    y = (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(int)
    names = tuple(f"x{i}" for i in range(WIDTH))
    columns = [Table.of(X).column(name, i) for i, name in enumerate(names)]
    for name, model in HYPOTHESES.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, y)
        read = read_classifier(model, TargetColumns(names, ("numbers",) * WIDTH, named=False), (0, 1))
        ours = median_seconds(lambda read=read: read(columns, ROWS), repeats=5)
        library = median_seconds(lambda model=model: model.predict(X), repeats=5)
        alone = median_seconds(lambda model=model: [model.predict(X[i : i + 1]) for i in range(ALONE)], repeats=1)
        rows.append(
            {
                "hypothesis": name,
                "as data": f"{ours:.4f}",
                "own code": f"{library:.4f}",
                "ratio": round(ours / library, 1),
                "own code, each row alone": f"{alone * ROWS / ALONE:.1f}",
                "rows that differ": int((read(columns, ROWS) != model.predict(X)).sum()),
            }
        )
    report("hypotheses", rows)


if __name__ == "__main__":
    main()
