"""Pictures of three private models of one table.

They are shown, with their sizes, in [docs/models.md](../docs/models.md).

COMPAS without sex and race, ε = 1 for each, secure noise; each run draws different models.
"""

from pathlib import Path

import matplotlib as mpl
import sizes
from measure import report

import hedgerow as hr

PICTURES = Path(__file__).parents[1] / "docs" / "models"
EPSILON = 1.0


def main():
    mpl.use("Agg")
    PICTURES.mkdir(exist_ok=True)
    data = hr.datasets.load("compas").without_sensitive()
    tally = hr.Tally.count(data.frame, data.labels, data.schema)
    rule_list = hr.PrivateRuleListClassifier(EPSILON).fit_tally(tally).rule_list_
    tree = hr.PrivateTreeClassifier(EPSILON).fit_tally(tally).tree_
    card = hr.PrivateScorecardClassifier(EPSILON).fit_tally(tally).scorecard_
    for name, axes in (("rule-list", rule_list.plot()), ("tree", tree.plot()), ("scorecard", card.form())):
        axes.figure.savefig(PICTURES / f"{name}.png", dpi=100, bbox_inches="tight")
    result = {
        "rule list": sizes.of_model(rule_list, data.frame),
        "tree": sizes.of_model(tree, data.frame),
        "scorecard": sizes.of_card(card),
    }
    names = [*sizes.OF_LEAVES, *sizes.OF_CARDS]
    report(
        "three_models",
        [
            {"model": model} | {name: f"{size[name]:.3g}" if name in size else "" for name in names}
            for model, size in result.items()
        ],
    )


if __name__ == "__main__":
    main()
