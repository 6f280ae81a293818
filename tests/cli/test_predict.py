"""`hedgerow predict`."""

import json

import pandas as pd
import pytest

from tests.cli.table import SCHEMA, a_scorecard, a_tree


def test_probabilities_of_labels_alone_are_refused(folder, run):
    a_tree(folder, old={"label": "yes"}, young={"label": "no"})
    code, _, err = run("predict", "tree.json", "data.csv", "--proba", "--json")
    assert code == 2
    assert "--proba requires probabilities" in err
    records = json.loads(run("predict", "tree.json", "data.csv", "--json")[1])
    assert {tuple(record.items()) for record in records} == {
        (("ill", "yes"), ("leaf", 1)),
        (("ill", "no"), ("leaf", 2)),
    }


def test_a_label_of_the_name_of_the_other_column_does_not_hide_it(folder, run):
    (folder / "schema.yaml").write_text(SCHEMA.replace("name: ill", "name: leaf"))
    a_tree(folder, old={"label": "yes"}, young={"label": "no"})
    assert run("predict", "tree.json", "data.csv")[1].splitlines()[0] == '"leaf","leaf number"'


def test_a_scorecard_predicts_with_its_total(folder, run):
    card, rows = a_scorecard(folder), pd.read_csv(folder / "data.csv")
    assert run("predict", "card.json", "data.csv", "--proba", "-o", "p.csv")[0] == 0
    result = pd.read_csv("p.csv")
    assert "apostrophe" not in run("predict", "card.json", "data.csv", "--explain")[2]
    assert list(result) == ["ill", "total", "P(no)", "P(yes)"]
    assert result["ill"].tolist() == card.predict(rows).tolist()
    assert result["total"].tolist() == card.totals(rows).tolist()
    assert result["P(yes)"].tolist() == pytest.approx(card.predict_proba(rows)[:, 1].tolist())


def test_a_scorecard_of_three_classes_predicts_with_three_totals(folder, run):
    card = a_scorecard(folder, ("=no", "unsure", "yes"), (1, 0, -1))
    code, out, err = run("predict", "card.json", "data.csv")
    assert (code, out.splitlines()[0]) == (0, '"ill","total(=no)","total(unsure)","total(yes)"')
    assert out.splitlines()[1].startswith('"\'=no",')
    assert "an apostrophe was added" in err
    records = json.loads(run("predict", "card.json", "data.csv", "--json")[1])
    totals = card.totals(pd.read_csv("data.csv"))
    assert list(records[0].values()) == ["=no", *totals[0].tolist()]


def test_reasons_are_the_attributes_that_cost_most_for_a_class(folder, run):
    card, rows = a_scorecard(folder), pd.read_csv(folder / "data.csv")
    for label in card.schema.classes:
        code, out, _ = run("predict", "card.json", "data.csv", "--reasons", label, "--json")
        result = [[load[f"reason {place}"] for place in range(1, 5)] for load in json.loads(out)]
        assert (code, result) == (0, card.reasons(rows, favourable=label).tolist())
    code, _, err = run("predict", "card.json", "data.csv", "--reasons", "maybe")
    assert (code, "--reasons must be one of" in err) == (2, True)
    a_tree(folder, old={"label": "yes"}, young={"label": "no"})
    code, _, err = run("predict", "tree.json", "data.csv", "--reasons", "yes")
    assert (code, "reason codes" in err) == (2, True)
