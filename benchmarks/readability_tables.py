"""Means, paired differences and the picture of the runs of readability.py: `python readability_tables.py`."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import sizes
from measure import RESULTS

RAW = RESULTS / "readability_runs.csv"
SCORES = ["accuracy", "AUROC", "log-loss"]
MEASURED = [*SCORES, *sizes.OF_LEAVES, *sizes.OF_CARDS, "seconds"]
OLD = " of 0.2.0"
EQUAL = "with the leaves of the private tree"
CURVES = {"CART": "o-", "optimum": "s--"}


def report():
    """Write means by table, ε and learner, those of CART and optima by their leaves, and the picture."""
    runs = pd.read_csv(RAW, dtype={"setting": str}, keep_default_na=True)
    runs["epsilon"], runs["setting"] = runs["epsilon"].astype(object).fillna(""), runs["setting"].fillna("")
    by_leaves = runs["learner"].isin(CURVES) & (runs["setting"] != EQUAL)
    written("readability", summary(runs[~by_leaves], ["table", "epsilon", "learner"]).join(differences(runs)))
    curves = summary(runs[by_leaves].drop(columns=sizes.OF_CARDS), ["table", "learner", "setting"])
    written("readability_leaves", curves)
    picture(runs, curves)


def summary(runs, keys):
    grouped = runs.groupby(keys, sort=False)
    found = grouped[[one for one in MEASURED if one in runs]].mean()
    found["standard error of accuracy"] = grouped["accuracy"].sem()
    return found.assign(splits=grouped.size())


def differences(runs):
    """Return by how much a score is above that of 0.2.0, and that of trees above peers of as many leaves, by split."""
    found = []
    for learner in ("tree", "scorecard"):
        now = by_split(runs, learner)
        others = {f"more{OLD}".replace(" of", " than"): by_split(runs, learner + OLD)}
        if learner == "tree":
            others |= {f"more than {peer}": by_split(runs[runs["setting"] == EQUAL], peer) for peer in CURVES}
        columns = {}
        for name, other in others.items():
            more = (now - other).dropna(how="all")
            grouped = more.groupby(["table", "epsilon"], sort=False)
            for score in SCORES:
                columns[f"{score}, {name}"] = grouped[score].mean()
                columns[f"standard error of {score}, {name}"] = grouped[score].sem()
            columns[f"splits, {name}"] = grouped.size()
        found.append(pd.DataFrame(columns).assign(learner=learner).set_index("learner", append=True))
    return pd.concat(found)


def by_split(runs, learner):
    chosen = runs[runs["learner"] == learner]
    return chosen.set_index(["table", "epsilon", "split"])[SCORES]


def written(name, table):
    table.round(5).to_csv(RESULTS / f"{name}.csv", lineterminator="\n")
    print(table.round(3).to_string())


def picture(runs, curves):
    """Draw accuracy against leaves: of trees without privacy, and of private ones at ε = 1, today and of 0.2.0."""
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    tables = list(dict.fromkeys(runs["table"]))
    figure, grid = plt.subplots(3, int(np.ceil(len(tables) / 3)), figsize=(10, 9), layout="constrained")
    for name, axes in zip(tables, grid.flat, strict=False):
        for learner, style in CURVES.items():
            line = curves.loc[(name, learner)].sort_values("leaves")
            label = {"CART": "CART", "optimum": "certified optimum"}[learner] + ", not private"
            axes.plot(line["leaves"], line["accuracy"], style, markersize=3, linewidth=1, label=label)
        private = runs[(runs["table"] == name) & (runs["epsilon"] == 1.0)]
        for learner, marker, label in (("tree", "*", "private, ε = 1"), ("tree" + OLD, "X", "private, ε = 1, 0.2.0")):
            chosen = private[private["learner"] == learner]
            axes.errorbar(
                chosen["leaves"].mean(),
                chosen["accuracy"].mean(),
                chosen["accuracy"].sem(),
                fmt=marker,
                markersize=11 if marker == "*" else 8,
                label=label,
            )
        axes.set_xscale("log", base=2)
        axes.set_xticks([1, 2, 4, 8, 16, 32], ["1", "2", "4", "8", "16", "32"])
        axes.set_title(name)
    for axes in grid.flat[len(tables) :]:
        axes.axis("off")
    grid[-1, 0].set(xlabel="leaves", ylabel="accuracy of test rows")
    handles, labels = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=4, frameon=False)
    figure.savefig(RESULTS / "readability.png", dpi=90)


if __name__ == "__main__":
    report()
