"""The section on leaves, held against counts written out."""

import pytest

from hedgerow.report import Form, Subject, disclosure
from tests.cli.table import a_scorecard
from tests.report.subjects import a_table, a_tree, overfitted, without_privacy


def of(model, train=None, form=None, **more):
    subject = Subject.of(model, form, **more)
    risk = subject.leaves(train)
    found = list(disclosure.leaf_findings(subject, risk))
    section = disclosure.leaves(subject, risk)
    return section, {fact.name: fact.value for fact in section.facts}, {one.key: one for one in found}


def test_an_overfitted_tree_of_another_library_is_red():
    tree, schema = overfitted()
    section, values, found = of(tree, schema=schema)
    assert values["leaves"] == 86
    assert values["leaves of one row"] == 31
    assert (found["small-leaves"].bucket, found["small-leaves"].value) == ("reject", 86)
    assert (found["pure-leaves"].bucket, found["pure-leaves"].value) == ("reject", 86)
    assert "31 of them have one row alone" in found["small-leaves"].sentence
    assert section.grids[0].rows[0][2] == 1  # the smallest first


def test_exact_counts_without_a_guarantee():
    section, values, found = of(without_privacy())
    assert values == {
        "leaves": 3,
        "rows in the smallest leaf": 25,
        "leaves with fewer than 10 rows": 0,
        "leaves of one row": 0,
        "rows in leaves below the threshold": 0,
        "leaves of one class (class disclosure)": 1,
        "rows in leaves of one class": 25,
        "leaves in which a class has 1 to 9 rows": 1,
        "leaves whose rule asks for a sensitive attribute": None,
    }
    assert {key: one.bucket for key, one in found.items()} == {"small-leaves": "supports", "pure-leaves": "reject"}
    assert [row[-1] for row in section.grids[0].rows] == ["one class", "few of a class", ""]
    assert (
        "1 of 3 leaves has rows of one class alone: if somebody is known to be there, so is the class" in section.answer
    )
    section, _, _ = of(without_privacy(counts=((3, 30), (40, 12), (25, 1))))
    assert section.answer.endswith("No leaf has rows of one class alone.")


@pytest.mark.parametrize(("threshold", "bucket"), [(25, "supports"), (26, "reject")])
def test_the_threshold_is_the_fewest_rows_that_are_safe(threshold, bucket):
    _, _, found = of(without_privacy(), threshold=threshold)
    assert found["small-leaves"].bucket == bucket
    assert f"at least {threshold} rows" in found["small-leaves"].threshold


def test_noisy_counts_of_a_private_model_disclose_what_is_promised():
    section, values, found = of(a_tree())
    assert list(found) == ["small-leaves"]
    assert found["small-leaves"].bucket == "supports"
    assert values["leaves with fewer than 10 rows"] == 1
    assert "noisy" in section.notes[0]


def test_exact_rows_of_a_private_model_need_a_look():
    _, values, found = of(a_tree(), a_table())
    assert values["leaves with fewer than 10 rows"] == 0
    assert values["leaves of one class (class disclosure)"] == 2  # nobody under 60 is ill
    assert {key: one.bucket for key, one in found.items()} == {"small-leaves": "supports", "pure-leaves": "look"}


def test_leaves_that_ask_for_a_sensitive_attribute_are_counted():
    section, values, _ = of(without_privacy(), form=Form(sensitive=("smoker",)))
    assert values["leaves whose rule asks for a sensitive attribute"] == 2
    assert [row[-1] for row in section.grids[0].rows] == ["one class, sensitive", "few of a class", ""]
    with pytest.raises(ValueError, match="expected names as sensitive in the form"):
        of(without_privacy(), form=Form(sensitive=("religion",)))


def test_where_nothing_is_known_it_says_how_to_measure(tmp_path):
    tree, _ = overfitted()
    section, values, found = of(tree)
    assert section.answer.startswith("Not measured.")
    assert "--data" in section.measure
    assert (values, found) == ({"leaves whose rule asks for a sensitive attribute": None}, {})
    (tmp_path / "schema.yaml").write_text(_SCHEMA)
    section, _, found = of(a_scorecard(tmp_path))
    assert "no leaves" in section.answer
    assert found == {}


_SCHEMA = """\
label: {name: ill, classes: ["no", "yes"]}
attributes:
  age: {kind: integer, low: 0, high: 120, cuts: [30, 60]}
  sex: {kind: categorical, values: [F, M], missing: bin}
"""
