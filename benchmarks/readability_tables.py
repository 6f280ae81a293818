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
LEAVES = (2, 3, 4, 6, 8, 12, 16)
CURVES = ("CART", "optimum")
SERIES = {  # how the picture shows them
    "CART": ("o-", "CART, not private"),
    "optimum": ("s--", "certified optimum, not private"),
    "tree" + OLD: ("X", "private, ε = 1, 0.2.0"),
    "tree": ("*", "private, ε = 1, today"),
}


def report():
    """Write means by table, ε and learner, those of CART and optima by their leaves, and the picture."""
    runs = pd.read_csv(RAW, dtype={"setting": str}, keep_default_na=True)
    runs["epsilon"], runs["setting"] = runs["epsilon"].astype(object).fillna(""), runs["setting"].fillna("")
    by_leaves = runs["learner"].isin(CURVES) & (runs["setting"] != EQUAL)
    optima = runs[runs["learner"] == "optimum"]
    equal = optima_of_as_many_leaves(optima, runs[runs["learner"] == "tree"])
    beside = pd.concat([runs[~by_leaves], equal.assign(setting=EQUAL)[list(runs.columns)]], ignore_index=True)
    written("readability", summary(beside, ["table", "epsilon", "learner"]).join(differences(beside)))
    sizes_shown = optima[["table", "split"]].drop_duplicates().merge(pd.DataFrame({"leaves": LEAVES}), how="cross")
    of_optima = optima_of_as_many_leaves(optima, sizes_shown).assign(setting=lambda found: found["at most"].astype(str))
    curves = pd.concat([runs[by_leaves & (runs["learner"] == "CART")], of_optima[list(runs.columns)]])
    trees = runs["learner"].isin(("tree", "tree" + OLD)) & (runs["epsilon"] == 1.0)
    shown = of_common_splits(pd.concat([curves, runs[trees]]))
    written("readability_leaves", summary(shown.drop(columns=sizes.OF_CARDS), ["table", "learner", "setting"]))
    picture(shown)


def of_common_splits(runs):
    """Return the runs of the splits that all learners of a table have."""
    learners = runs.groupby("table")["learner"].transform("nunique")
    return runs[runs.groupby(["table", "split"])["learner"].transform("nunique") == learners]


def optima_of_as_many_leaves(optima, asked):
    """Return, for each number of leaves that is asked for a split, the certified tree with the most leaves up to it."""
    asked = asked[["table", "split", "leaves", *(["epsilon"] if "epsilon" in asked else [])]]
    result = asked.rename(columns={"leaves": "at most"}).merge(
        optima.drop(columns="epsilon" if "epsilon" in asked else []), on=["table", "split"]
    )
    result = result[result["leaves"] <= result["at most"]].sort_values("leaves")
    return result.groupby([column for column in asked.columns if column != "leaves"] + ["at most"], sort=False).tail(1)


def summary(runs, keys):
    grouped = runs.groupby(keys, sort=False)
    result = grouped[[item for item in MEASURED if item in runs]].mean()
    result["standard error of accuracy"] = grouped["accuracy"].sem()
    return result.assign(splits=grouped.size())


def differences(runs):
    """Return by how much a score is above that of 0.2.0, and that of trees above peers of as many leaves, by split."""
    result = []
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
        result.append(pd.DataFrame(columns).assign(learner=learner).set_index("learner", append=True))
    return pd.concat(result)


def by_split(runs, learner):
    chosen = runs[runs["learner"] == learner]
    return chosen.set_index(["table", "epsilon", "split"])[SCORES]


def written(name, table):
    table.round(5).to_csv(RESULTS / f"{name}.csv", lineterminator="\n")
    print(table.round(3).to_string())


def picture(runs):
    """Draw accuracy against leaves: of trees without privacy, and of private ones at ε = 1, today and of 0.2.0."""
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    tables = [name for name, rows in runs.groupby("table", sort=False) if "optimum" in set(rows["learner"])]
    figure, grid = plt.subplots(3, int(np.ceil(len(tables) / 3)), figsize=(10, 9), layout="constrained", squeeze=False)
    for name, axes in zip(tables, grid.flat, strict=False):
        rows = runs[runs["table"] == name]
        for learner, (style, label) in SERIES.items():
            points = rows[rows["learner"] == learner].groupby("setting")[["leaves", "accuracy"]].mean()
            points = points.sort_values("leaves")
            axes.plot(points["leaves"], points["accuracy"], style, markersize=4 if "-" in style else 11, label=label)
        axes.set_xscale("log", base=2)
        axes.set_xticks([1, 2, 4, 8, 16, 32], ["1", "2", "4", "8", "16", "32"])
        axes.set_title(f"{name}, {rows['split'].nunique()} splits", fontsize="medium")
    for axes in grid.flat[len(tables) :]:
        axes.axis("off")
    grid[-1, 0].set(xlabel="leaves", ylabel="accuracy of test rows")
    handles, labels = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=4, frameon=False)
    figure.savefig(RESULTS / "readability.png", dpi=90)


if __name__ == "__main__":
    report()
