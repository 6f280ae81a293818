"""Exact risk of every row under a draw.

Exact advantage of the best attack ([theorem](../docs/attacks.md#exact-risk-of-a-draw)), trees of depth 3, with only
bounds declared, all rows:

{risks}

- Default trees spend a twentieth of ε on noisy counts of leaves, and 19/20 on the draw. From ε = 0.1 on, half of the
  rows of COMPAS and Adult have the advantage of the counts alone, `tanh(ε/40)`: the draw adds nothing.
- A few rows have the maximum risk that the theorem allows: at ε = 1 the worst row of German Credit reaches the bound of
  a draw, `tanh(19/20·ε/4)`, to three digits. Such a row decides between two models that are almost equally good.
- Other mechanisms with the same ε can reach `tanh(ε/2)`.

![share of the rows of COMPAS by their exact advantage, at three ε](results/exact_risk_compas.png)

Times compared with the draw itself are in [results/exact_risk_speed.csv](results/exact_risk_speed.csv).
"""

import matplotlib.pyplot as plt
import numpy as np
from league_tables import TABLES
from measure import RESULTS, median_seconds, report

import hedgerow as hr
from hedgerow.learn.contract import specification_of
from hedgerow.learn.searches import draw_probabilities

EPSILONS = (0.01, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0)
NAMES = ("compas", "german", "adult")
PICTURED = (0.1, 1.0, 10.0)


def main():
    rows, pictured = [], {}
    for name in NAMES:
        frame, labels, schema = TABLES[name]()
        for epsilon in EPSILONS:
            learner = hr.PrivateTreeClassifier(epsilon, max_depth=3, schema=schema)
            result = hr.audit.exact_membership(learner, frame, labels)
            rows.append(measured(name, epsilon, result))
            print(rows[-1], flush=True)
            if name == "compas" and epsilon in PICTURED:
                pictured[epsilon] = result
    report("exact_risk", rows)
    picture(pictured)
    report("exact_risk_speed", list(speed()))


def measured(name, epsilon, found):
    advantage = found.advantage
    return {
        "table": name,
        "epsilon": epsilon,
        "rows": len(found),
        "median": f"{np.median(advantage):.3g}",
        "99 %": f"{np.quantile(advantage, 0.99):.5f}",
        "largest": f"{advantage.max():.4f}",
        "bound of a draw": f"{found.draw_bound:.4f}",
        "bound of epsilon": f"{found.advantage_bound:.4f}",
        "rows above half the largest": int((advantage > advantage.max() / 2).sum()),
        "label, largest": f"{found.label_advantage.max():.4f}",
        "expected accuracy": f"{found.expected_accuracy:.4f}",
    }


def speed():
    """Time the risk of all rows, and one draw of the same plan, rows counted in both."""
    frame, labels, schema = TABLES["adult"]()
    binary = hr.datasets.load("adult_binary").without_sensitive()
    for what, X, y, learner in (
        ("binarised Adult, depth 4", binary.frame, binary.labels, tree(4, binary.schema)),
        ("raw Adult, depth 2", frame, labels, tree(2, schema)),
        ("raw Adult, depth 3", frame, labels, tree(3, schema)),
    ):
        tally = hr.Tally.count(X, y, learner.schema)
        draw = median_seconds(lambda e=learner, t=tally: e.fit_tally(t), 5)
        risk = median_seconds(lambda e=learner, t=tally: draw_probabilities(specification_of(e), t), 5)
        whole = median_seconds(lambda e=learner, X=X, y=y: hr.audit.exact_membership(e, X, y), 3)
        yield {
            "what": what,
            "draw, seconds": f"{draw:.3f}",
            "chances, seconds": f"{risk:.3f}",
            "times": f"{risk / draw:.1f}",
            "with encoding the rows, seconds": f"{whole:.2f}",
        }


def tree(depth, schema):
    return hr.PrivateTreeClassifier(0.1, search="exact", max_depth=depth, schema=schema)


def picture(found):
    figure, every = plt.subplots(1, len(found), figsize=(13, 4.2), layout="constrained", sharey=True)
    for axes, (epsilon, item) in zip(every, found.items(), strict=True):
        item.plot(axes)
        axes.set_title(f"ε = {epsilon:g}", loc="left")
    for axes in every[1:]:
        axes.set_ylabel("")
    figure.savefig(RESULTS / "exact_risk_compas.png", dpi=110)


if __name__ == "__main__":
    main()
