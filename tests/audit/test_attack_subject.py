"""The learner and the table of an attack, as facts that are equal for the same attack and differ for another."""

from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import hedgerow as hr
from hedgerow.audit import AttackSubject, LabelledRows
from hedgerow.audit.attack_subject import learner_facts, table_digests

SCHEMA = hr.Schema(
    {"age": hr.Integer(0, 99, (30, 60)), "sex": hr.Categorical(("f", "m")), "smoker": hr.Boolean()},
    hr.Label("ill", (False, True)),
)
FRAME = pd.DataFrame(
    {
        "note": ["a", "b", "c", "d"],
        "smoker": [True, False, True, True],
        "sex": ["f", "m", "m", None],
        "age": [31, 62, 5, 62],
    }
)
LABELS = pd.Series([True, False, True, False], name="ill")


def digest(X, y, schema=SCHEMA):
    (result,) = table_digests(LabelledRows.of(X, y), schema)
    return result


def test_the_digest_of_a_table_depends_on_values_alone():
    known, order = digest(FRAME, LABELS), [2, 0, 3, 1]
    assert digest(FRAME.iloc[order], LABELS.iloc[order]) == known  # another order of rows
    assert digest(FRAME[["age", "sex", "smoker"]], LABELS) == known  # other columns than those of the schema
    text = FRAME.assign(age=FRAME["age"].astype(str), smoker=["true", "false", "True", "True"])
    assert digest(text, LABELS.astype(str)) == known
    assert digest(FRAME.assign(age=FRAME["age"] * 1.0, smoker=FRAME["smoker"] * 1), LABELS * 1) == known
    assert digest(pl.from_pandas(FRAME), pl.from_pandas(LABELS)) == known
    assert digest(pa.Table.from_pandas(FRAME), pl.from_pandas(LABELS)) == known


def test_the_digest_of_a_table_changes_with_any_cell_label_and_row():
    everything = list(range(4))
    tables = [(FRAME, LABELS), (FRAME, ~LABELS), (FRAME.iloc[:3], LABELS.iloc[:3])]
    tables.append((FRAME.iloc[[*everything, 3]], LABELS.iloc[[*everything, 3]]))
    for name, value in (("age", 30), ("sex", "f"), ("smoker", False)):
        changed = FRAME.copy()
        changed.loc[3, name] = value
        tables.append((changed, LABELS))
    swapped = FRAME.copy()
    swapped["age"] = FRAME["age"].iloc[::-1].to_numpy()
    tables.append((swapped, LABELS))
    assert len({digest(*table) for table in tables}) == len(tables)
    without_schema = digest(FRAME, LABELS, None), digest(FRAME.assign(note="a"), LABELS, None)
    assert len({digest(FRAME, LABELS), *without_schema}) == 3  # the column that is not in the schema counts


def test_arrays_are_compared_by_position():
    X, y = np.array([[0, 1], [1, 0], [-0.0, 1]]), np.array([0, 1, 1])
    assert digest(X, y, None) == digest(np.abs(X), y, None) != digest(X[:, ::-1], y, None)


def test_a_table_that_cannot_be_read_has_no_digest():
    assert table_digests(LabelledRows.of(FRAME.assign(age=[[1], [2], [3], [4]]), LABELS), None) == ()
    assert table_digests(LabelledRows.of(FRAME[["age"]], LABELS), SCHEMA) == ()


def test_each_candidate_makes_a_table():
    rows, others = (LabelledRows.of(FRAME.iloc[part], LABELS.iloc[part]) for part in (slice(3), slice(3, 4)))
    whole = digest(FRAME, LABELS)
    assert table_digests(rows, SCHEMA, others) == (digest(FRAME.iloc[:3], LABELS.iloc[:3]), whole)


def test_too_many_candidates_leave_the_table_open():
    """Some digests alone would make a report refuse the attack if another candidate was in the table."""
    rows, others = LabelledRows.of(FRAME, LABELS), FRAME.iloc[[0] * 100].reset_index(drop=True)
    many = LabelledRows.of(others, pd.Series([True] * 100, name="ill"))
    assert table_digests(rows, SCHEMA, many) == ()


@pytest.mark.parametrize("epsilon", [0.1, "1/10", "0.1", Fraction(1, 10)])
def test_a_private_learner_has_its_exact_epsilon_and_first_mechanism(epsilon):
    result = AttackSubject.of(hr.PrivateTreeClassifier(epsilon, schema=SCHEMA, max_depth=1), None)
    assert (result.epsilon, result.delta, result.kind) == (Fraction(1, 10), 0, "tree")
    fitted = hr.PrivateTreeClassifier(epsilon, schema=SCHEMA, max_depth=1).fit(FRAME.fillna("f"), LABELS)
    assert learner_facts(fitted) == learner_facts(hr.PrivateTreeClassifier(Fraction(1, 10), schema=SCHEMA, max_depth=1))
    assert result.schema == SCHEMA.digest
    assert '"model_draw"' in (result.mechanism or "")


def test_a_learner_whose_noise_is_seeded_has_no_epsilon():
    seeded = hr.PrivateTreeClassifier(1, schema=SCHEMA, random_state=0)
    assert (
        learner_facts(seeded)["parameters"] == learner_facts(hr.PrivateTreeClassifier(1, schema=SCHEMA))["parameters"]
    )
    assert AttackSubject.of(seeded, None).epsilon is None
    assert AttackSubject.of(seeded, None, uses_seed=False).epsilon == 1  # the audit computes chances


def test_each_parameter_makes_another_learner():
    plain = hr.PrivateTreeClassifier(1, schema=SCHEMA)
    changed = [
        *({"epsilon": 2}, {"max_depth": 2}, {"objective": "brier"}, {"release_counts": False}, {"search": "greedy"}),
        *({"class_weight": {True: 3.0}}, {"stop_probability": 0.2}, {"schema": SCHEMA.without_derivations}),
    ]
    facts = [learner_facts(hr.PrivateTreeClassifier(**({"epsilon": 1, "schema": SCHEMA} | fact))) for fact in changed]
    assert facts.pop() == learner_facts(plain)  # an equal schema
    assert all(fact != learner_facts(plain) for fact in facts)
    other = hr.Schema(SCHEMA.attributes[:2], SCHEMA.label)
    assert learner_facts(hr.PrivateTreeClassifier(1, schema=other)) != learner_facts(plain)


def test_parameters_include_parts_and_exclude_seeds():
    pipelines = [make_pipeline(StandardScaler(), RandomForestClassifier(n, random_state=n)) for n in (3, 3.0, 4)]
    item, same, other = map(learner_facts, pipelines)
    assert item == same != other
    assert dict(other["parameters"])["randomforestclassifier__n_estimators"] == "4"
    assert not any("random_state" in name for name, _ in item["parameters"])
    assert "epsilon" not in item


def test_a_function_has_a_name_and_no_parameters():
    facts = learner_facts(digest)
    assert (facts["learner"], facts["parameters"]) == ("digest", ())
    assert "epsilon" not in facts


def test_long_parameters_are_replaced_by_their_digest():
    class Learner:
        def __init__(self, values):
            self.values = values

        fit = None

        def get_params(self):
            return {"values": self.values}

    item, other = (dict(learner_facts(Learner(np.arange(2000) + n))["parameters"]) for n in (0, 1))
    assert item["values"].startswith("sha256:")
    assert item != other
