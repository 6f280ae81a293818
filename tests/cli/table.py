"""A table, its schema, and the command lines that learn from it."""

import hedgerow as hr
from hedgerow.models import Leaf, Split, Tree
from hedgerow.privacy.card import PrivacyCard

SCHEMA = """\
label: {name: ill, classes: ["no", "yes"]}
attributes:
  age: {kind: integer, low: 0, high: 120, cuts: [30, 60], outside: clip}
  sex: {kind: categorical, values: [F, M], missing: bin, missing_values: ["?"]}
  dose: {kind: real, low: 0, high: 1, cuts: [0.5], missing: bin}
"""


FIT = ("fit", "data.csv", "--schema", "schema.yaml", "--epsilon", "5", "--max-rules", "2")


TREE = ("fit", "data.csv", "--schema", "schema.yaml", "--epsilon", "5", "--model", "tree")


SSRL, DELTA = ("--model", "dp-greedyrl"), ("--delta", "1e-9")


GOOD = "age,sex,dose,ill\n40,F,0.5,no\n"


def a_tree(folder, **leaves):
    """Save a tree on the folder's schema: over 60 or not."""
    schema = hr.Schema.load(folder / "schema.yaml")
    old = Split(hr.schema.Literal("age", ">", (60,)), Leaf(**leaves["old"]), Leaf(**leaves["young"]))
    tree = Tree(schema, old, PrivacyCard.none("example", software="hedgerow"))
    tree.save(folder / "tree.json")
    return tree


def a_scorecard(folder, classes=("no", "yes"), base=(-7,)):
    """Save a scorecard on the folder's schema: one point more for each bin of age, two for each of sex."""
    declared = hr.Schema.load(folder / "schema.yaml")
    schema = hr.Schema(dict(declared.attributes), hr.Label("ill", classes))
    points = {"age": (0, 5, 10), "sex": (-2, 2, 1)}
    parts = [
        hr.models.AttributePoints(name, tuple((item,) * len(base) for item in row)) for name, row in points.items()
    ]
    card = hr.models.Scorecard(schema, base, tuple(parts), 0.2, 0.3, PrivacyCard.none("example", software="hedgerow"))
    card.save(folder / "card.json")
    return card
