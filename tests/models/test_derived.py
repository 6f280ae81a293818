"""Models with derived attributes: their files, and SQL and Python that predict what they do."""

import numpy as np
import pyarrow as pa
import pytest

from hedgerow import Integer, Label, Schema
from hedgerow.errors import ArgumentError, DomainError
from hedgerow.models import Rule, RuleList
from hedgerow.privacy.card import PrivacyCard
from hedgerow.schema import Categorical, Literal, Prefix, Ratio, Real, Sum, YearsSince
from hedgerow.tables.frames import Table
from tests.models.sql_engines import SqlEngine
from tests.schema.derived_values import schema, table

CARD = PrivacyCard.none("example", software="hedgerow")


def model_of(declared: Schema, *literals: Literal) -> RuleList:
    """Return a list that says "no" where literals hold."""
    return RuleList(declared, (Rule(literals, (1, 0)), Rule((), (0, 1))), CARD)


def models(declared: Schema, rows: pa.Table, some: int = 5) -> list[RuleList]:
    """Return a model for each of some literals of the derived attributes of which no row is refused."""
    result = []
    for name in declared.derivations:
        try:
            declared.encode(Table.of(rows), [name])
        except DomainError:
            continue
        item = Schema({name: declared[name]}, declared.label)
        literals = declared[name].literals(name, negations=True)
        result += [model_of(item, literal) for literal in (*literals[:: 1 + len(literals) // some], *literals[-2:])]
    return result


def seldom(start, stop):
    return [pytest.param(seed, marks=pytest.mark.slow) for seed in range(start, stop)]


SOME = pytest.mark.parametrize("some", [2, pytest.param(12, marks=pytest.mark.slow)])
"""How many literals of an attribute."""


@SOME
@pytest.mark.parametrize("seed", [0, *seldom(1, 4)])
def test_sql_predicts_what_predict_does(engine: SqlEngine, seed: int, some: int) -> None:
    random = np.random.default_rng([3, seed])
    declared, rows = schema(random), table(random, 40)
    tested = models(declared, rows, some)
    for model, result in zip(tested, engine.select_all(tested, rows), strict=True):
        assert result == model.predict(rows).tolist(), model


@SOME
@pytest.mark.parametrize("seed", [0, 1, 2, 3, *seldom(4, 12)])
def test_python_predicts_what_predict_does(seed: int, some: int) -> None:
    random = np.random.default_rng([3, seed])
    declared, rows = schema(random), table(random, 40)
    for model in models(declared, rows, some):
        space: dict = {}
        exec(model.to_python(), space)
        assert [space["predict"](row) for row in rows.to_pylist()] == model.predict(rows).tolist(), model


def test_python_refuses_what_predict_refuses() -> None:
    cases = [
        (Real(0, 5, (1,), derived=Ratio("a", "b")), {"a": 1e101, "b": 1}),
        (Real(0, 5, (1,), derived=Ratio("a", "b")), {"a": "x", "b": 1}),
        (Integer(0, 6, (1,), derived=Sum(("a", "b"), (0, 3))), {"a": 1.5, "b": 1}),
        (Integer(0, 6, (1,), derived=Sum(("a", "b"), (0, 3))), {"a": None, "b": 4}),
        (Integer(0, 110, (1,), derived=YearsSince("a", "2026-01-01")), {"a": "x"}),
        (Categorical(("t", "f"), derived=Prefix("a", 1)), {"a": True}),
    ]
    for attribute, row in cases:
        declared = Schema({"v": attribute}, Label("y", ("no", "yes")))
        literal = attribute.literals("v", negations=True)[0]
        space: dict = {}
        exec(model_of(declared, literal).to_python(), space)
        with pytest.raises(ValueError, match="expected"):
            space["predict"](row)


def test_ratios_next_to_a_cut_point_are_on_the_same_side_in_sql(engine: SqlEngine) -> None:
    random = np.random.default_rng(2)
    above, below = random.integers(1, 1000, 300).astype(float), random.integers(1, 1000, 300).astype(float)
    cuts = tuple(np.unique(above[::20] / below[::20]).tolist())
    declared = Schema({"r": Real(0, 1000, cuts, derived=Ratio("above", "below"))}, Label("y", ("no", "yes")))
    rows = pa.table({"above": above, "below": below})
    tested = [model_of(declared, Literal("r", "<=", (cut,))) for cut in cuts]
    for model, result in zip(tested, engine.select_all(tested, rows), strict=True):
        assert result == model.predict(rows).tolist()


def test_a_file_of_a_model_carries_what_it_is_derived_from(tmp_path) -> None:
    random = np.random.default_rng(1)
    declared, rows = schema(random), table(random)
    for model in models(declared, rows)[:5]:
        model.save(tmp_path / "m.json")
        result = RuleList.load(tmp_path / "m.json")
        assert result.schema == model.schema
        assert result.predict(rows).tolist() == model.predict(rows).tolist()


def test_sql_of_a_questionnaire_of_21_items_is_short() -> None:
    score = Integer(0, 63, derived=Sum(tuple(f"q{i}" for i in range(21)), (0, 3), missing_values=(-9,)), missing="bin")
    model = model_of(Schema({"score": score}, Label("y", ("no", "yes"))), Literal("score", "<=", (10,)))
    for dialect in ("duckdb", "postgres", "spark"):
        assert len(model.to_sql(dialect)) < 120_000


def test_spark_refuses_a_column_whose_name_it_substitutes() -> None:
    share = Real(0, 5, (1,), derived=Ratio("${a}", "b"))
    model = model_of(Schema({"r": share}, Label("y", ("no", "yes"))), Literal("r", "<=", (1,)))
    with pytest.raises(ArgumentError, match="Spark would substitute"):
        model.to_sql("spark")
