"""Several spellings of a class or a category: cells may hold any of them, and models predict the class."""

import json

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.errors import DomainError, SchemaError
from hedgerow.models import read_model
from hedgerow.schema import Categorical, Label, Ordered, OrderedLabel, Schema
from hedgerow.schema.fits import fit_of
from hedgerow.schema.from_public import public_notes
from hedgerow.schema.spellings import similar_values
from hedgerow.tables.columns import Column
from hedgerow.tables.frames import Table

SCHEMA = """\
label: {name: ill, classes: {"yes": ["yes", ja, "1"], "no": ["no", nein, 0]}}
attributes:
  ward: {kind: categorical, values: {north: [N, nord], south: []}}
  stage: {kind: ordered, values: {1: [I, i], 2: [II], 3: [3]}}
  code: {kind: categorical, values: [a, b]}
"""

ILL = Label("ill", {"no": ["nein", "0"], "yes": ["ja", 1]})


@pytest.fixture
def schema(tmp_path):
    (tmp_path / "s.yaml").write_text(SCHEMA)
    return Schema.load(tmp_path / "s.yaml")


def column(*values):
    return Column.from_arrow(pa.array(values), "ill")


def test_a_file_has_spellings_in_place_of_the_list(schema):
    assert schema.label == Label("ill", ("no", "yes"), (("nein", 0), ("ja", "1")))
    assert schema["ward"] == Categorical(("north", "south"), other_spellings=(("N", "nord"), ()))
    assert schema["stage"] == Ordered({1: ["I", "i"], 2: ["II"], 3: []})
    assert schema["code"] == Categorical(("a", "b"))


@pytest.mark.parametrize("ending", ["yaml", "json"])
def test_files_keep_types_and_order(schema, tmp_path, ending):
    schema = Schema(
        {**dict(schema.attributes), "grade": Ordered({"2": [2.0, "two"], 1: ["one"]})},
        OrderedLabel("ill", {2: ["high"], 1: ["low", "1"]}),
    ) if ending == "json" else schema  # fmt: skip
    schema.save(tmp_path / f"t.{ending}")
    again = Schema.load(tmp_path / f"t.{ending}")
    assert again == schema
    assert again.digest == schema.digest
    assert Schema.from_dict(json.loads(json.dumps(schema.to_dict()))) == schema


def test_a_key_of_a_file_is_the_class_that_is_written_as_it(tmp_path):
    (tmp_path / "s.json").write_text(
        json.dumps(
            {
                "label": {"name": "y", "classes": {"1": [1, "ja"], "0": [0, "nein"]}},
                "attributes": {"a": {"kind": "categorical", "values": {"7": ["seven"], "8": [8, "eight"]}}},
            }
        )
    )
    loaded = Schema.load(tmp_path / "s.json")
    assert loaded.label == Label("y", (0, 1), (("nein",), ("ja",)))
    assert loaded["a"] == Categorical(("7", 8), other_spellings=(("seven",), ("eight",)))
    booleans = Label("y", {"true": [True, "ja"], "false": [False]})
    assert booleans == Label("y", (False, True), ((), ("ja",)))
    assert booleans != Label("y", (0, 1), ((), ("ja",)))


@pytest.mark.parametrize(
    ("label", "values", "codes"),
    [
        (ILL, ["no", "nein", "0.0", "1", "ja", "JA"], [0, 0, 0, 1, 1, -1]),
        (ILL, [0, 1, 2], [0, 1, -1]),
        (ILL, [1.0, 0.5], [1, -1]),
        (ILL, [True, False], [1, 0]),
        (Label("ill", {0: ["Nein"], 1: ["ja"]}), ["nein", "NEIN", "True", "JA", "0", "x"], [0, 0, 1, 1, 0, -1]),
        (Label("ill", {0: ["ΌΧΙ"], 1: ["ΣΑΣ"]}), ["ΣΑΣ", "σασ", "όχι"], [1, 1, 0]),
        (Label("ill", {True: ["ja"], False: [2]}), ["true", "ja", "2", "FALSE"], [1, 1, 0, 0]),
        (Label("ill", {True: ["ja"], False: [2]}), [1, 2, 0], [1, 0, 0]),
    ],
)  # fmt: skip
def test_a_label_is_read_in_every_spelling_and_type(label, values, codes):
    assert label.codes(column(*values)).tolist() == codes


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: Label("y", {"a": ["x"], "b": ["x"]}), "spelling 'x' belongs to two"),
        (lambda: Label("y", {"a": ["b"], "b": []}), "belongs to two values"),
        (lambda: Label("y", {"a": [1], "b": ["1.0"]}), "belongs to two values"),
        (lambda: Label("y", {0: ["true"], 1: []}), "belongs to two values"),
        (lambda: Label("y", {0: ["A"], 1: ["a"]}), "belongs to two values"),
        (lambda: Label("y", {"a": "x", "b": []}), "expected a list of the spellings of 'a'"),
        (lambda: Label("y", {"a": [True], "b": []}), "quote the words yes"),
        (lambda: Label("y", {"a": [1.5], "b": []}), "must be text or whole numbers"),
        (lambda: Label("y", {"a": [" x"], "b": []}), "begin or end with spaces"),
        (lambda: Label("y", ("a", "b"), (("x",),)), "a list of spellings for each value"),
        (lambda: Label("y", ("a", "b"), "xy"), "a list of spellings for each value"),
        (lambda: Label("y", {"a": ["x"], "b": []}, (("x",), ())), "not in both"),
        (lambda: Categorical({"a": ["?"]}, missing="bin", missing_values=("?",)), "and to missing_values"),
        (lambda: Categorical({"a": ["x"], "b": ["x"]}), "belongs to two values"),
        (lambda: Categorical({"a": [["x"]]}), "must be text or whole numbers"),
        (lambda: Ordered({"a": ["x"]}), "at least two values"),
    ],
)  # fmt: skip
def test_a_spelling_belongs_to_a_single_value(make, problem):
    with pytest.raises(SchemaError, match=problem):
        make()


def test_values_without_other_spellings_are_as_before():
    assert Label("y", {"b": ["b"], "a": []}) == Label("y", ("a", "b"))
    assert "other_spellings" not in Label("y", ("a", "b"), ((), ())).to_dict()
    assert Categorical({"a": [], "b": ["b"]}).to_dict() == Categorical(("a", "b")).to_dict()


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    ward, stage = rng.choice(["N", "nord", "north", "south"], 400), rng.choice(["I", "i", "1", "II", "3"], 400)
    ill = np.where(ward == "south", rng.choice(["nein", "0", "no"], 400), rng.choice(["ja", "1", "yes"], 400))
    return pd.DataFrame({"ward": ward, "stage": stage, "code": "a", "ill": ill})


def plain(rows):
    ward = {"N": "north", "nord": "north"}
    stage = {"I": "1", "i": "1", "II": "2"}
    ill = {"nein": "no", "0": "no", "ja": "yes", "1": "yes"}
    return rows.replace({"ward": ward, "stage": stage, "ill": ill})


def test_models_learn_from_every_spelling_and_predict_classes(schema, rows):
    """The same as from rows with the values alone; SQL and Python agree on the rows as they are."""
    fitted = []
    for frame in (rows, plain(rows)):
        learner = hr.PrivateTreeClassifier(epsilon=50, schema=schema, random_state=0)
        learner.fit(frame.drop(columns="ill"), frame["ill"])
        assert learner.score(rows.drop(columns="ill"), rows["ill"]) == 1
        fitted.append(learner.tree_)
    assert fitted[0] == fitted[1]
    model = fitted[0]
    predicted = model.predict(rows.drop(columns="ill"))
    assert set(predicted) == {"no", "yes"}
    with duckdb.connect() as connection:  # the default connection may have a table of the same name
        result = connection.sql(f"SELECT {model.to_sql('duckdb')} FROM rows").fetchall()
    assert result == [(value,) for value in predicted]
    sheet = {}
    exec(model.to_python(), sheet)
    assert [sheet["predict"](row) for row in rows.to_dict("records")] == predicted.tolist()


def test_evaluation_and_audits_read_labels_in_every_spelling(schema, rows):
    model = hr.PrivateTreeClassifier(epsilon=50, schema=schema, random_state=0)
    model.fit(rows.drop(columns="ill"), rows["ill"])
    result = []
    for frame in (rows, plain(rows)):
        X, y = frame.drop(columns="ill"), frame["ill"]
        overfit = hr.audit.overfit(model.tree_, (X[:200], y[:200]), (X[200:], y[200:]))
        measured = hr.evaluate(model.tree_, X, y, epsilon=1000, random_state=0)
        result.append((overfit, str(measured)))
    assert result[0] == result[1]


def test_usual_spellings_that_occur_are_proposed_and_their_line_fits():
    schema = Schema({"sex": Categorical(("f", "m"))}, Label("ill", ("no", "yes")))
    table = pa.table({"sex": ["f", "F", "m", "M"], "ill": ["no", "Ja", "nein", "SECRET"]})
    result = fit_of(Table.of(table), schema)
    assert result.spellings == (("sex", (("f", ("F",)), ("m", ("M",)))), ("ill", (("no", ("nein",)), ("yes", ("Ja",)))))
    assert result.to_dict()["spellings"]["ill"] == [
        {"value": "no", "spellings": ["nein"]},
        {"value": "yes", "spellings": ["Ja"]},
    ]
    assert result.advice == (
        'sex contains other spellings of its values; if they mean the same, write: values: {"f": ["F"], "m": ["M"]}',
        "ill contains other spellings of its values; if they mean the same, write: "
        'classes: {"no": ["nein"], "yes": ["Ja"]}',
    )
    assert "SECRET" not in str(result.to_dict())


@pytest.mark.parametrize("classes", [(0, 1), (False, True), ("0", "1"), {"no": ["N"], "yes": []}])
def test_a_proposed_line_keeps_the_type_of_classes(tmp_path, classes):
    label = Label("ill", classes)
    words = ["Nein", "ja", "YES", *(str(value) for value in label.classes)]
    result = fit_of(Table.of(pa.table({"a": ["x"] * 5, "ill": words})), Schema({"a": Categorical(("x",))}, label))
    line = result.advice[0].partition("write: ")[2]
    attributes = "attributes: {a: {kind: categorical, values: [x]}}"
    (tmp_path / "s.yaml").write_text(f"label: {{name: ill, {line}}}\n{attributes}\n")
    proposed = Schema.load(tmp_path / "s.yaml").label
    assert [type(value) for value in proposed.classes] == [type(value) for value in label.classes]
    assert proposed.codes(column(*words)).tolist() == [0, 1, 1, 0, 1]
    before, after = (dict(item.spellings(is_text=True)) for item in (label, proposed))
    assert before.items() <= after.items()


def test_foreign_models_are_errors_if_there_are_other_spellings(schema, rows, tmp_path):
    from sklearn.tree import DecisionTreeClassifier

    tree = DecisionTreeClassifier().fit([[0], [1]], ["no", "yes"])
    bits = Schema({"a": Categorical({"1": ["x"], "0": []})}, schema.label)
    with pytest.raises(SchemaError, match="list each spelling under `values`"):
        hr.audit.reconstruction(tree, bits)
    model = hr.PrivateTreeClassifier(epsilon=50, schema=schema, random_state=0)
    model.fit(rows.drop(columns="ill"), rows["ill"])
    (tmp_path / "t.pmml").write_text(model.tree_.to_pmml())
    with pytest.raises(SchemaError, match="list each spelling under `values`"):
        read_model(tmp_path / "t.pmml", schema)
    (tmp_path / "t.sql").write_text(model.to_sql())
    X = rows.drop(columns="ill")
    assert list(read_model(tmp_path / "t.sql", schema).predict(X)) == list(model.predict(X))


def test_other_values_stay_errors_that_name_the_spellings(schema, rows):
    frame = rows.assign(ward="west")
    with pytest.raises(DomainError, match=r"\(north \(also N, nord\), south\)"):
        schema.encode(Table.of(frame))


@pytest.mark.parametrize(
    ("values", "groups"),
    [
        (("0", "1", "No", "Yes", "no", "yes"), [("0", "No", "no"), ("1", "Yes", "yes")]),
        (("Kiel", "Ulm", "kiel"), [("Kiel", "kiel")]),
        (("no", "yes"), []),
        (("0", "1", "2"), []),
        (("f", "j", "n"), [("f", "n")]),
        (("f", "m", "n"), []),
    ],
)
def test_usual_spellings_of_a_value_are_grouped(values, groups):
    assert similar_values(values) == groups


def test_notes_on_public_rows_propose_spellings():
    table = pa.table({"ill": ["no", "No", "yes", "0"], "town": ["Ulm", "Kiel", "Bonn", "Ulm"]})
    assert public_notes(table, {}, "ill") == (
        'ill: 0, No, no are listed as different values; if they mean the same, write "no": ["0", "No"] instead',
    )
