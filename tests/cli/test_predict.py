"""`hedgerow predict`."""

import json

from tests.cli.table import SCHEMA, a_tree


def test_probabilities_without_counts_are_zero_or_one(folder, run):
    a_tree(folder, old={"label": "yes"}, young={"label": "no"})
    records = json.loads(run("predict", "tree.json", "data.csv", "--proba", "--json")[1])
    assert {tuple(record.values()) for record in records} == {("yes", 1, 0.0, 1.0), ("no", 2, 1.0, 0.0)}
    assert list(records[0]) == ["ill", "leaf", "P(no)", "P(yes)"]


def test_a_label_of_the_name_of_the_other_column_does_not_hide_it(folder, run):
    (folder / "schema.yaml").write_text(SCHEMA.replace("name: ill", "name: leaf"))
    a_tree(folder, old={"label": "yes"}, young={"label": "no"})
    assert run("predict", "tree.json", "data.csv")[1].splitlines()[0] == '"leaf","leaf number"'
