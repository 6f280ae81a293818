"""Derived attributes against plain Python, row by row; their files and what they refuse."""

import copy
import pickle

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from hedgerow import Integer, Label, Number, PrivateTreeClassifier, Real, Schema, Unit
from hedgerow.errors import DomainError, SchemaError
from hedgerow.schema import Boolean, Categorical, Date, Prefix, Ratio, Sum, Weight, YearsSince
from hedgerow.schema.fits import fit_of
from hedgerow.tables.frames import Table
from tests.schema.derived_values import schema, table, value

AGE = YearsSince("birth", "2026-01-01")


def bins_of(attribute, values):
    """Return the bins of derived values: those of a column that holds them."""
    kind = pa.float64() if isinstance(attribute, (Integer, Real)) else pa.string()
    plain = Schema({"v": attribute}).without_derivations
    return plain.encode(Table.of(pa.table({"v": pa.array(values, kind)})))["v"].tolist()


@pytest.mark.parametrize("seed", [*range(20), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(20, 60))])
def test_derived_values_are_those_of_plain_python(seed):
    random = np.random.default_rng([7, seed])
    declared, rows = schema(random), table(random)
    for data in (rows, rows.to_pandas(types_mapper=pd.ArrowDtype)):
        for name, derived in declared.derivations.items():
            try:
                expected = bins_of(declared[name], [value(derived, row) for row in rows.to_pylist()])
            except ValueError:
                with pytest.raises(DomainError, match="from which it is derived"):
                    declared.encode(Table.of(data), [name])
            else:
                assert declared.encode(Table.of(data), [name])[name].tolist() == expected, name


def test_age_is_counted_in_birthdays_on_each_day_of_four_years():
    days = pd.date_range("1999-12-01", "2004-04-30").date
    for until in pd.date_range("2004-02-20", "2005-03-02", freq="5D").strftime("%Y-%m-%d"):
        derived = YearsSince("birth", until)
        declared = Schema({"age": Integer(-10, 10, tuple(range(-10, 10)), derived=derived)})
        result = declared.column(Table.of(pd.DataFrame({"birth": days})), "age").values
        assert result.tolist() == [value(derived, {"birth": day}) for day in days]


def test_a_derived_value_depends_on_its_own_row_alone():
    random = np.random.default_rng(3)
    declared, rows = schema(random), table(random)
    whole = declared.encode(Table.of(rows))
    for row in range(len(rows)):
        alone = declared.encode(Table.of(rows.slice(row, 1)))
        assert all(alone[name][0] == whole[name][row] for name in declared)


def test_errors_of_derived_values_quote_no_cell():
    for attribute, rows, message in [
        (Integer(0, 110, derived=AGE), {"birth": ["SECRET"]}, "dates"),
        (Integer(0, 110, derived=AGE), {"birth": [3]}, "dates"),
        (Real(0, 5, derived=Ratio("a", "b")), {"a": ["SECRET"], "b": [1]}, "numbers of at most 1e\\+100"),
        (Real(0, 5, derived=Ratio("a", "b")), {"a": [1e101], "b": [1]}, "numbers of at most 1e\\+100"),
        (Real(0, 5, derived=Ratio("a", "b")), {"a": [None], "b": [np.inf]}, "numbers of at most 1e\\+100"),
        (Integer(0, 6, derived=Sum(("a", "b"), (0, 3))), {"a": [4], "b": [1]}, "whole numbers from 0 to 3"),
        (Integer(0, 6, derived=Sum(("a", "b"), (0, 3))), {"a": [1.5], "b": [1.5]}, "whole numbers from 0 to 3"),
        (Integer(0, 6, derived=Sum(("a", "b"), (0, 3))), {"a": [True], "b": [1]}, "whole numbers from 0 to 3"),
        (Categorical(("t",), derived=Prefix("a", 1)), {"a": [True]}, "text or whole numbers"),
    ]:
        with pytest.raises(
            DomainError, match=f"column 'v': .* from which it is derived, are not .*{message}"
        ) as refused:
            Schema({"v": attribute}).encode(Table.of(pd.DataFrame(rows)))
        assert "SECRET" not in str(refused.value)


def test_a_missing_value_and_a_date_after_the_day_follow_the_policies():
    frame = Table.of(pd.DataFrame({"birth": [None, "2027-01-01", "1900-01-01"]}))
    age = Integer(0, 110, (17, 65), missing="bin", outside="bin", derived=AGE)
    assert Schema({"age": age}).encode(frame)["age"].tolist() == [3, 4, 4]
    clipped = Integer(0, 110, (17, 65), missing="bin", outside="clip", derived=AGE)
    assert Schema({"age": clipped}).encode(frame)["age"].tolist() == [3, 0, 2]
    with pytest.raises(DomainError, match="column 'age': some values are missing"):
        Schema({"age": Integer(0, 130, derived=AGE)}).encode(frame)


def test_a_table_needs_the_source_columns_and_not_the_derived_column():
    declared = Schema({"age": Integer(0, 110, (17,), derived=AGE), "dose": Integer(0, 9)})
    assert declared.columns() == ("birth", "dose")
    with pytest.raises(DomainError, match="column 'birth'"):
        declared.encode(Table.of(pd.DataFrame({"dose": [1]})))
    with pytest.raises(DomainError, match=r"column 'age': .*birth"):
        declared.encode(Table.of(pd.DataFrame({"birth": ["1990-01-01"], "age": [3], "dose": [1]})))
    with pytest.raises(DomainError, match=r"column 'age': .*got an array"):
        declared.encode(Table.of(np.zeros((1, 2))))
    plain = declared.without_derivations
    assert plain.encode(Table.of(pd.DataFrame({"age": [20], "dose": [1]})))["age"].tolist() == [1]


def test_a_fit_names_absent_columns_and_counts_refused_cells():
    declared = Schema({"age": Integer(0, 110, derived=AGE)})
    frame = pd.DataFrame({"birth": ["1990-01-01", None, "x", "2030-01-01"], "other": 1})
    (result,) = fit_of(Table.of(frame), declared).columns
    assert (result.name, result.missing, result.outside, result.unread, result.refused) == ("age", 1, 1, 1, 3)
    (absent,) = fit_of(Table.of(frame[["other"]]), declared).columns
    assert (absent.name, absent.is_absent) == ("birth", True)
    assert fit_of(Table.of(frame), declared).unused == ("other",)


def test_a_schema_with_derived_attributes_is_read_as_it_is_written(tmp_path):
    declared = schema(np.random.default_rng(1))
    for name in ("s.yaml", "s.json"):
        declared.save(tmp_path / name)
        result = Schema.load(tmp_path / name)
        assert result == declared
        assert result.digest == declared.digest
    assert copy.deepcopy(declared) == declared
    assert pickle.loads(pickle.dumps(declared)).digest == declared.digest
    assert hash(declared["group"]) == hash(result["group"])


def test_a_schema_without_derived_attributes_keeps_its_digest():
    declared = Schema({"age": Integer(0, 110), "sex": Categorical(("f", "m"))}, Label("y", ("no", "yes")))
    assert declared.digest == "035bc1159bc118c1e20acd2ef973bbdb8ddb8b2985ea35c7273e22539fd026ba"
    assert "derived" not in str(declared.to_dict())


@pytest.mark.parametrize(
    ("derived", "key", "message"),
    [
        ({}, "derived", "exactly one of the keys years_since, prefix_of, ratio, sum"),
        ({"ratio": ["a", "b"], "sum": ["a", "b"]}, "derived", "exactly one of the keys"),
        (3, None, "expected derived to be a mapping, got int"),
        ({"years_since": "birth"}, "until", "this key is required"),
        ({"years_since": "birth", "until": "2026-02-30"}, "until", "expected a date"),
        ({"years_since": ["birth"], "until": "2026-01-01"}, "derived", "a name must be"),
        ({"years_since": "birth", "until": "2026-01-01", "eval": "x"}, "eval", "unknown key"),
        ({"years_since": "birth", "until": "2026-01-01", "missing_values": [1]}, "missing_values", "must be text"),
        ({"sum": ["a"], "each": [0, 3]}, "sum", "expected a list of 2 to 100 columns"),
        ({"sum": [f"q{i}" for i in range(101)], "each": [0, 3]}, "sum", "expected a list of 2 to 100 columns"),
        ({"sum": ["a", "a"], "each": [0, 3]}, "derived", "columns must differ"),
        ({"sum": ["a", "b"], "each": [0]}, "each", "the smallest and the largest"),
        ({"sum": ["a", "b"], "each": [0, 10**7]}, "each", "at most 1,000,000"),
        ({"sum": ["a", "b"], "each": [3, 0]}, "high", "high must be l"),
        ({"sum": ["a", "b"], "each": [0, 1], "missing_values": [*range(2, 40)]}, "derived", "at most 32"),
    ],
)
def test_an_invalid_derivation_is_an_error_that_names_the_key(derived, key, message):
    with pytest.raises(SchemaError, match=message) as refused:
        Schema.from_dict({"attributes": {"v": {"kind": "integer", "low": 0, "high": 9, "derived": derived}}})
    assert (refused.value.attribute, refused.value.key) == ("v", key)


@pytest.mark.parametrize(
    ("derived", "key", "message"),
    [
        ({"prefix_of": "icd"}, "derived", "either `length` or `mapping`"),
        ({"prefix_of": "icd", "length": 0}, "length", "from 1 to 100"),
        ({"prefix_of": "icd", "length": True}, "length", "from 1 to 100"),
        ({"prefix_of": "icd", "length": 1}, "length", "cannot be a prefix"),
        ({"prefix_of": "icd", "length": 2, "mapping": {"I0": ["a"], "J0": ["b"]}}, "derived", "either `length`"),
        ({"prefix_of": "icd", "mapping": ["I0"]}, "mapping", "mapping of values to lists"),
        ({"prefix_of": "icd", "mapping": {"I0": "a", "J0": "b"}}, "mapping", "mapping of values to lists"),
        ({"prefix_of": "icd", "mapping": {"I0": ["a"]}}, "mapping", "exactly the attribute's `values`"),
        ({"prefix_of": "icd", "mapping": {"I0": ["a"], "J0": ["a"]}}, "mapping", "every (prefix|value)"),
        ({"prefix_of": "icd", "mapping": {"I0": ["a"], "J0": []}}, "mapping", "every (prefix|value)"),
        ({"prefix_of": "icd", "mapping": {"I0": ["a"], "J0": ["b" * 101]}}, "mapping", "1 to 100 characters"),
        ({"prefix_of": "icd", "mapping": {"I0": ["a"], "J0": [[1]]}}, "mapping", "1 to 100 characters"),
        ({"prefix_of": "icd", "mapping": {"I0": ["a"], "J0": [" b"]}}, "mapping", "1 to 100 characters"),
        ({"prefix_of": "icd", "mapping": {"I0": ["a"], "J0": [*map(str, range(1_000))]}}, "mapping", "at most 1,000"),
        ({"sum": ["a", "b"], "each": [0, 3]}, "derived", "attributes of kind integer or real"),
    ],
)
def test_a_prefix_that_does_not_fit_its_attribute_is_refused(derived, key, message):
    with pytest.raises(SchemaError, match=message) as refused:
        Schema.from_dict({"attributes": {"v": {"kind": "categorical", "values": ["I0", "J0"], "derived": derived}}})
    assert (refused.value.attribute, refused.value.key) == ("v", key)


def test_an_attribute_is_derived_from_columns_of_the_table_alone():
    birth, age = Date("1900-01-01", "2026-01-01"), Integer(0, 110, derived=AGE)
    assert Schema({"age": age, "birth": birth}).columns() == ("birth",)
    score = Integer(0, 200, derived=Sum(("age", "dose"), (0, 110)))
    with pytest.raises(SchemaError, match="attribute 'score': key 'derived'"):
        Schema({"age": age, "score": score})
    itself = Integer(0, 110, derived=YearsSince("age", "2026-01-01"))
    with pytest.raises(SchemaError, match="use other columns of the table"):
        Schema({"age": itself})
    for others in (
        {"label": Label("birth", ("a", "b"))},
        {"label": Number("birth", 0, 1)},
        {"unit": Unit("birth", 2)},
        {"weight": Weight("birth", 1)},
    ):
        with pytest.raises(SchemaError, match="derived attribute, the label"):
            Schema({"age": age}, **others)


def test_missing_values_of_a_derived_attribute_are_those_of_its_columns():
    with pytest.raises(SchemaError, match="missing_values inside `derived`; move"):
        Integer(0, 110, missing="bin", missing_values=(-9,), derived=AGE)
    for kind in (Boolean, lambda **kw: Date("2000-01-01", "2001-01-01", **kw)):
        with pytest.raises(SchemaError, match="attributes of kind integer or real"):
            kind(derived=AGE)
    with pytest.raises(SchemaError, match="expected a Derivation or None, got 'birth'"):
        Integer(0, 110, derived="birth")


def test_an_error_of_a_file_names_the_line(tmp_path):
    text = "attributes:\n  age:\n    kind: integer\n    low: 0\n    high: 9\n    derived: {years_since: birth}\n"
    (tmp_path / "s.yaml").write_text(text)
    with pytest.raises(SchemaError, match="line 2: attribute 'age': key 'until'"):
        Schema.load(tmp_path / "s.yaml")


def test_an_empty_table_has_derived_columns():
    declared = schema(np.random.default_rng(1))
    rows = table(np.random.default_rng(1)).slice(0, 0)
    assert all(len(bins) == 0 for bins in declared.encode(Table.of(rows)).values())
    nulls = pa.table({name: pa.nulls(3) for name in declared.columns() if name != "row id"})
    for name, bins in declared.encode(Table.of(nulls), list(declared.derivations)).items():
        assert {*bins.tolist()} == {declared[name].n_known}


def test_cut_points_of_a_derived_number_are_learned_from_its_values():
    days = pd.date_range("1950-01-01", "2005-12-31", freq="30D")
    frame = pd.DataFrame({"birth": days.strftime("%Y-%m-%d")})
    declared = Schema({"age": Integer(0, 110, derived=AGE)})
    learned = Schema.learn(frame, declared, epsilon=50, bins=2, random_state=0)
    assert 45 < learned["age"].cuts[0] < 51
    assert learned["age"].derived == AGE


@pytest.mark.filterwarnings("ignore::UserWarning")  # a seed voids the guarantee
def test_an_estimator_fits_and_predicts_on_the_source_columns():
    frame = pd.DataFrame({"q1": [0, 1, 2, 3] * 200, "q2": [0, 3, 3, 3] * 200})
    score = Integer(0, 6, (2,), derived=Sum(("q1", "q2"), (0, 3)))
    declared = Schema({"score": score}, Label("y", ("no", "yes")))
    y = pd.Series(np.where(frame.q1 + frame.q2 > 2, "yes", "no"))
    fitted = PrivateTreeClassifier(epsilon=20, schema=declared, random_state=0).fit(frame, y)
    assert list(fitted.feature_names_in_) == ["q1", "q2"]
    assert fitted.n_features_in_ == 2
    assert fitted.score(frame, y) == 1
