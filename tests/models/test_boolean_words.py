"""Models on booleans by declared words predict in SQL and Python what they predict in memory."""

import duckdb
import pyarrow as pa
import pytest

from hedgerow.errors import DomainError
from hedgerow.models import Rule, RuleList
from hedgerow.privacy.card import PrivacyCard
from hedgerow.schema import Boolean, Categorical, Label, Literal, Schema

WORDS = Boolean(true_values=("yes", "O'Brien", "true", 2), false_values=("no", "false", "1"))
TOLD = Boolean(true_values=("yes", 2, "true"), false_values=("no", 1, "false"), missing="bin", missing_values=("?", 9))
COLUMNS = [
    pa.array(["yes", "no", " O'Brien ", "2", "2.0", "1", "true"]),
    pa.array([1, 2, 2, 1]),
    pa.array([1.0, 2.0]),
    pa.array([True, False]),
]


def models(attribute):
    schema = Schema({"a": attribute}, Label("y", ("old", "new")))
    card = PrivacyCard.none("example", software="hedgerow")
    for operator in ("true", "false"):
        yield RuleList(schema, (Rule((Literal("a", operator),), label="new"), Rule((), label="old")), card)


@pytest.mark.parametrize("attribute", [WORDS, TOLD], ids=["strict", "missing"])
@pytest.mark.parametrize("values", COLUMNS, ids=lambda values: str(values.type))
def test_sql_and_python_predict_what_memory_does(attribute, values):
    if attribute.missing == "bin" and pa.types.is_string(values.type):
        values = pa.array([*values.to_pylist()[:2], "?", "", None, "9"])
    table = pa.table({"a": values})
    for model in models(attribute):
        expected = model.predict(table).tolist()
        assert len(set(expected)) == 2
        result = duckdb.sql(f'SELECT {model.to_sql()} FROM "table"').fetchall()
        assert [value for (value,) in result] == expected
        scope: dict = {}
        exec(model.to_python(), scope)
        typed = [int(v) if isinstance(v, str) and v.strip().isdigit() else v for v in values.to_pylist()]
        typed = ["1" if v == 1 and attribute is WORDS and not isinstance(v, bool) else v for v in typed]
        typed = [2 if v == "2.0" else v for v in typed]
        assert [scope["predict"]({"a": value}) for value in typed] == expected
        assert RuleList.from_json(model.to_json()) == model


def test_booleans_that_an_engine_made_of_the_words_count_as_what_they_are(tmp_path):
    """`predict` refuses them; a query or a function, which checks no domain, took every true for false."""
    file = tmp_path / "rows.csv"
    file.write_text("a\nyes\nno\nyes\n")
    read = f"read_csv('{file}', header=true)"
    assert duckdb.sql(f"SELECT typeof(a) FROM {read}").fetchone() == ("BOOLEAN",)
    for model in models(Boolean(true_values=("yes",), false_values=("no",))):
        expected = model.predict(pa.table({"a": ["yes", "no", "yes"]})).tolist()
        with pytest.raises(DomainError, match="true and false"):
            model.predict(pa.table({"a": [True, False, True]}))
        assert [value for (value,) in duckdb.sql(f"SELECT {model.to_sql()} FROM {read}").fetchall()] == expected
        scope: dict = {}
        exec(model.to_python(), scope)
        assert [scope["predict"]({"a": value}) for value in (True, False, True)] == expected


@pytest.mark.parametrize("values", [("yes", "no"), ("T", "F"), ("FALSE", "True"), ("t", "m"), ("no", "yes", "maybe")])
def test_booleans_that_an_engine_made_of_categories_count_as_what_they_are(tmp_path, values):
    file, attribute = tmp_path / "rows.csv", Categorical(values, missing="bin", missing_values=("?",))
    rows = [value for value in values if value not in ("m", "maybe")]
    file.write_text("\n".join(["a,b", *(f"{row},1" for row in [*rows, ""])]) + "\n")
    read, schema = f"read_csv('{file}', header=true)", Schema({"a": attribute}, Label("y", ("old", "new")))
    assert duckdb.sql(f"SELECT typeof(a) FROM {read}").fetchone() == ("BOOLEAN",)
    for literal in (*attribute.literals("a", negations=True), Literal("a", "known")):
        card = PrivacyCard.none("example", software="hedgerow")
        model = RuleList(schema, (Rule((literal,), label="new"), Rule((), label="old")), card)
        expected = model.predict(pa.table({"a": [*rows, None]})).tolist()
        result = duckdb.sql(f"SELECT {model.to_sql()} FROM {read}").fetchall()
        assert [value for (value,) in result] == expected


@pytest.mark.parametrize(
    "attribute",
    [
        Categorical(("yes", "t", "no")),
        Categorical(("yes", "true")),
        Categorical(("yes", "no"), outside="bin"),
        Categorical(("a", "no"), missing="bin", missing_values=("f",)),
    ],
    ids=repr,
)
def test_categories_equal_as_booleans_are_compared_exactly(attribute):
    for literal in attribute.literals("a", negations=True):
        assert attribute.queried(literal) == attribute.values_of(literal)
