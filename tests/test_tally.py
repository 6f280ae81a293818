import copy
import io
import pickle
from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow import Tally, tally
from hedgerow.errors import DomainError, NotPicklableError, SchemaError
from hedgerow.schema import Boolean, Candidates, Categorical, Integer, Label, Real, Schema
from tests.objects import all_that_is_said, objects
from tests.schema.values import bin_of, holds

SECRET = "secret_f00d"
SCHEMA = Schema(
    {
        "sex": Categorical(("F", "M", "X"), missing="bin"),
        "age": Integer(0, 90, (20, 30, 60), outside="clip", missing="bin", missing_values=(-9,)),
        "smoker": Boolean(),
        "dose": Real(0, 2, (0.5,), outside="bin"),
        "site": Real(0, 1, cuts=()),  # a number without cut points has no literal
    },
    Label("ill", ("high", "low", "none")),
)
VALUES = {
    "sex": ["F", "M", "X", None],
    "age": [15, 20, 25, 61, 99, -9, None],
    "smoker": [True, False],
    "dose": [0.0, 0.5, 1.5, 7.0],
    "site": [0.5],
    "ill": ["high", "low", "none"],
}
rows = st.tuples(*map(st.sampled_from, VALUES.values())).map(lambda values: dict(zip(VALUES, values, strict=True)))
tables = st.lists(rows, max_size=30)
booleans = st.integers(1, 4).flatmap(
    lambda width: st.lists(st.tuples(*[st.booleans()] * (width + 1)), min_size=1, max_size=20)
)


def count_by_hand(schema, table):  # reference: one row at a time
    counted = Counter()
    for row in table:
        pattern = tuple(bin_of(schema[name], row[name]) for name in schema)
        counted[pattern, row[schema.label.name]] += 1
    return {
        pattern: tuple(counted[pattern, label] for label in schema.classes) for pattern in {key for key, _ in counted}
    }


def patterns(tally):
    bins, counts = tally._bins.tolist(), tally._counts.tolist()
    assert len({*map(tuple, bins)}) == len(bins)
    return {tuple(pattern): tuple(count) for pattern, count in zip(bins, counts, strict=True)}


def columns(table):
    return {name: [row[name] for row in table] for name in VALUES}


def narrow(table):
    """A table as pandas types that are all its own: nullable, categories, text."""
    kinds = {"sex": "category", "age": "Int16", "smoker": "boolean", "dose": "float32", "ill": "string"}
    return pd.DataFrame(columns(table)).astype(kinds)


FRAMES = {
    "pandas": lambda table: pd.DataFrame(columns(table)),
    "pandas, objects": lambda table: pd.DataFrame(columns(table), dtype=object),
    "pandas, narrow types": narrow,
    "polars": lambda table: pl.DataFrame(columns(table)),
    "pyarrow": lambda table: pa.table(columns(table)),
    "array of objects": lambda table: np.array([[row[n] for n in SCHEMA] for row in table], dtype=object),
}


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
@given(table=st.lists(rows, min_size=1, max_size=30))
def test_every_table_counts_as_row_by_row(make, table):
    frame, labels = make(table), [row["ill"] for row in table]
    expected = count_by_hand(SCHEMA, table)
    assert patterns(Tally.count(frame, labels, SCHEMA)) == expected
    if not isinstance(frame, np.ndarray):
        assert patterns(Tally.count(frame, "ill", SCHEMA)) == expected


def named(rows):
    return {f"x{i}": list(column) for i, column in enumerate(zip(*rows, strict=True))}


BOOLEAN_TABLES = {
    "pandas": lambda rows: pd.DataFrame(named(rows)),
    "pandas, 0 and 1": lambda rows: pd.DataFrame(named(rows)).astype(float),
    "polars": lambda rows: pl.DataFrame(named(rows)),
    "pyarrow": lambda rows: pa.table(named(rows)),
    "booleans": lambda rows: np.array(rows, dtype=bool),
    "0 and 1": lambda rows: np.array(rows, dtype=np.int8),
    "0.0 and 1.0": lambda rows: np.array(rows, dtype=float),
    "objects": lambda rows: np.array(rows, dtype=object),
}


@pytest.mark.parametrize("make", BOOLEAN_TABLES.values(), ids=BOOLEAN_TABLES)
@given(rows=booleans)
def test_booleans_count_as_row_by_row_without_a_schema(make, rows):
    tally = Tally.count(make([row[:-1] for row in rows]), [row[-1] for row in rows])
    counted = Counter(rows)
    assert tally.schema.classes == (False, True)
    assert patterns(tally) == {
        tuple(map(int, row[:-1])): (counted[*row[:-1], False], counted[*row[:-1], True]) for row in rows
    }


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_the_column_that_holds_the_labels_is_no_attribute(make):
    tally = Tally.count(make({"a": [True, False], "ill": [1, 0]}), "ill")
    assert (tally.schema.names, tally.schema.label) == (("a",), Label("ill", (0, 1)))
    assert patterns(tally) == {(1,): (0, 1), (0,): (1, 0)}


@pytest.mark.parametrize("labels", [np.array([], dtype=bool), [], pd.Series([], dtype=object)])
def test_no_rows_are_a_tally_of_nothing(labels):
    tally = Tally.count(np.zeros((0, 2)), labels)
    assert tally.total().tolist() == [0, 0]
    assert tally.class_counts(Candidates.of(tally.schema, 2)).sum() == 0


@pytest.mark.parametrize("max_literals", [1, 2, 3, 4])
@given(block=st.sampled_from([tally._BLOCK, 3]), classes=st.sampled_from([2, 3]), data=st.data())
def test_class_counts_equal_the_counts_of_single_rows(block, max_literals, classes, data):
    table = [row for row in data.draw(tables) if row["ill"] in SCHEMA.classes[:classes]]
    schema = Schema(SCHEMA.attributes, Label("ill", SCHEMA.classes[:classes]))
    candidates = Candidates.of(schema, max_literals)
    expected = np.zeros((len(candidates), classes), dtype=int)
    for row in table:
        true = np.array([holds(schema[x.attribute], x, row[x.attribute]) for x in candidates.literals])
        caught = np.concatenate([true[members].all(axis=1) for members in candidates.members])
        expected[:, schema.classes.index(row["ill"])] += caught
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tally, "_BLOCK", block)
        counts = Tally.count(pl.DataFrame(columns(table)), "ill", schema).class_counts(candidates)
    assert counts.dtype == np.int64
    assert (counts == expected).all()


@given(tables, st.integers(0, 10**6))
def test_class_counts_are_exact_for_many_rows(table, scale):
    few = Tally.count(pl.DataFrame(columns(table)), "ill", SCHEMA)
    scale = 2**46 + scale
    many = Tally(SCHEMA, few._bins, few._counts * scale)
    candidates = Candidates.of(SCHEMA, 2)
    assert (many.class_counts(candidates) == few.class_counts(candidates) * scale).all()


@given(st.lists(st.sampled_from([1, 2, 3, 5, 256, 257]), min_size=2, max_size=90), st.data())
def test_attributes_that_share_numbers_are_grouped_as_by_themselves(sizes, data):
    """Up to 63 bits a number: bins at the ends of their ranges, and repeated patterns."""
    schema = Schema({f"x{i}": Integer(0, size, tuple(range(size - 1))) for i, size in enumerate(sizes)}, SCHEMA.label)
    few = [[data.draw(st.sampled_from([0, size - 1, size // 2])) for size in sizes] for _ in range(3)]
    rows = [(tuple(data.draw(st.sampled_from(few))), data.draw(st.integers(0, 2))) for _ in range(8)]
    kind = data.draw(st.sampled_from([np.uint32, np.int64, np.uint64]))
    bins = {f"x{i}": np.array([row[i] for row, _ in rows], dtype=kind) for i in range(len(sizes))}
    classes, times = np.array([level for _, level in rows]), np.arange(8) * 2**40
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tally, "_WIDE", 2)
        result = Tally._group(schema, bins, classes, times)
    expected = {}
    for (row, level), n in zip(rows, times.tolist(), strict=True):
        expected.setdefault(row, [0, 0, 0])[level] += n
    assert result._bins.dtype == kind
    assert patterns(result) == {row: tuple(counts) for row, counts in expected.items() if any(counts)}


antecedents = st.lists(st.sampled_from(list(Candidates.of(SCHEMA, 2))), max_size=4)


def caught_by(antecedent, row):
    return all(holds(SCHEMA[x.attribute], x, row[x.attribute]) for x in antecedent)


@given(tables, antecedents.filter(bool))
def test_without_an_antecedent_keeps_rows_that_do_not_satisfy_it(table, rules):
    left = Tally.count(pl.DataFrame(columns(table)), "ill", SCHEMA).without(rules[0])
    assert patterns(left) == count_by_hand(SCHEMA, [row for row in table if not caught_by(rules[0], row)])


@given(tables, antecedents)
def test_leaves_are_the_rows_that_each_rule_is_the_first_to_catch(table, rules):
    counted = Tally.count(pl.DataFrame(columns(table)), "ill", SCHEMA)
    expected = np.zeros((len(rules) + 1, 3), dtype=int)
    for row in table:
        leaf = next((i for i, rule in enumerate(rules) if caught_by(rule, row)), len(rules))
        expected[leaf, SCHEMA.classes.index(row["ill"])] += 1
    assert counted.leaf_counts(rules).tolist() == expected.tolist()
    assert counted.leaf_counts(rules).sum(axis=0).tolist() == counted.total().tolist()


@given(tables, rows, antecedents)
def test_adding_a_row_changes_one_leaf_by_one(table, more, rules):
    before, after = (Tally.count(pl.DataFrame(columns(t)), "ill", SCHEMA) for t in (table, [*table, more]))
    change = after.leaf_counts(rules) - before.leaf_counts(rules)
    assert sorted(change.ravel().tolist()) == [0] * (change.size - 1) + [1]


def test_a_tally_shows_its_schema_and_nothing_private():
    item, many = (Tally.count(np.array([[True]] * n), [False] * n) for n in (1, 977))
    assert repr(item) == repr(many) == str(many) == "<Tally of 1 attribute and 2 classes; its counts are private>"
    assert not hasattr(many, "__dict__")


@pytest.mark.parametrize("copier", [pickle.dumps, copy.copy, copy.deepcopy])
@pytest.mark.claim("A `Tally` cannot be pickled")
def test_a_tally_is_neither_pickled_nor_copied(copier):
    with pytest.raises(NotPicklableError, match="pickled or copied"):
        copier(Tally.count(np.array([[True]]), [False]))


@pytest.mark.parametrize("bins, counts", [((2, 2), (2, 2)), ((2, 1), (3, 2)), ((2, 1), (2, 3))])  # noqa: PT006
def test_bins_and_counts_have_the_schemas_shapes(bins, counts):
    schema = Schema({"a": Boolean()}, Label("y", (0, 1)))
    with pytest.raises(ValueError, match=r"must have the shapes \(n_patterns, n_attributes\)"):
        Tally(schema, np.zeros(bins, dtype=int), np.zeros(counts, dtype=int))


DECLARED = Schema({"a": Categorical(("u", "v"))}, Label("y", ("no", "yes")))
BAD_CELLS = {
    "label": ([*"uv"], ["no", SECRET], "y", "some labels are none of the classes no, yes"),
    "missing label": ([*"uv"], ["no", None], "y", "some labels are missing; .* the classes no, yes"),
    "labels of two types": ([*"uv"], objects([SECRET, 1]), "y", "the values must all be"),
    "bin": (["u", SECRET], ["no", "yes"], "a", r"outside the declared domain \(u, v\)"),
    "missing bin": (["u", None], ["no", "yes"], "a", "some values are missing"),
    "bins of two types": (objects([SECRET, 1]), ["no", "yes"], "a", "the values must all be"),
}


@pytest.mark.parametrize(("bins", "labels", "column", "message"), BAD_CELLS.values(), ids=BAD_CELLS)
def test_an_invalid_bin_raises_an_error_that_names_the_column_only(bins, labels, column, message):
    with pytest.raises(DomainError, match=f"column '{column}': .*{message}") as error:
        Tally.count(pd.DataFrame({"a": pd.Series(bins, dtype=object)}), labels, DECLARED)
    assert error.value.column == column
    assert SECRET not in all_that_is_said(error.value)


@pytest.mark.parametrize("bins", [[2, 1], [0.5, 1], [None, 1], ["true", SECRET], [SECRET, 1], [{SECRET: 1}, None]])
@pytest.mark.parametrize("column", ["age", "label"])
def test_without_a_schema_non_boolean_columns_raise_an_error_with_advice(bins, column):
    good = {"age": [True, False], "label": [True, False]} | {column: pd.Series(bins, dtype=object)}
    with pytest.raises(
        DomainError, match=rf"column '{column}': not boolean; .*Schema\.load.*Schema\.from_public"
    ) as error:
        Tally.count(pd.DataFrame({"age": good["age"]}), good["label"])
    assert error.value.column == column
    assert SECRET not in all_that_is_said(error.value)


@pytest.mark.parametrize(
    ("X", "y", "schema", "error", "message"),
    [
        (pd.DataFrame({"a": [True]}), "y", None, DomainError, "column 'y': the table has no such column"),
        (pd.DataFrame({"b": ["u"]}), ["no"], DECLARED, DomainError, "column 'a': the table has no such column"),
        (np.array([["u", "v"]]), ["no"], DECLARED, DomainError, r"expected 1 column \(a\), in this order, got 2"),
        (pd.DataFrame({"a": ["u"]}), ["no", "yes"], DECLARED, DomainError, "labels must have the same length"),
        (pd.DataFrame({"a": [True]}), [0, 1], None, DomainError, "labels must have the same length"),
        (np.array([["u"]]), "y", DECLARED, TypeError, "labels must be .* got 'y'"),
        (np.array([[True]]), "y", None, TypeError, "labels must be .* got 'y'"),
        (np.array([[True]]), [1], {"a": "boolean"}, TypeError, "schema must be a Schema or None, got dict"),
        (
            pd.DataFrame({"a": [True]}),
            [0],
            Schema({"a": Boolean()}),
            SchemaError,
            "The schema declares no label",
        ),
        (pd.DataFrame({"a": [True]}), [[0]], None, TypeError, "one-dimensional array of labels, got 2 dimensions"),
    ],
)
def test_a_table_that_does_not_fit_its_schema_is_an_error(X, y, schema, error, message):
    with pytest.raises(error, match=message):
        Tally.count(X, y, schema)


@pytest.mark.parametrize(
    ("attribute", "bins", "more"),
    [
        (Integer(0, 2**53 - 1, cuts=(5,), outside="bin"), ["9007199254740993", "7"], "1.0"),
        (Integer(0, 9, cuts=(5,), missing="bin"), ["3", "7"], ""),
        (Categorical((1, 2, "a"), outside="bin"), ["1.0", "2"], "a"),
        (Categorical(("1", "2"), missing="bin", missing_values=("?",), outside="bin"), ["1", "2.0"], "?"),
        (Boolean(missing="bin", missing_values=("?",)), ["1", "0"], "?"),
    ],
)
def test_adding_a_row_changes_no_other_row_even_if_the_column_type_changes(attribute, bins, more):
    """One bin makes a reader that infers types turn numbers into text or back; the other rows must not move."""
    schema = Schema({"a": attribute}, Label("y", (0, 1)))

    def patterns(table):
        tally = Tally.count(table, [0] * len(table), schema)
        return Counter({tuple(row): int(n) for row, n in zip(tally._bins.tolist(), tally._counts[:, 0], strict=True)})

    def inferred(rows):
        return pd.read_csv(io.StringIO("\n".join(["a,b", *(f"{row},0" for row in rows)])))

    for make in (inferred, lambda rows: pd.DataFrame({"a": rows})):
        item, two = patterns(make(bins)), patterns(make([*bins, more]))
        assert sum((two - item).values()) == 1
        assert not item - two


@pytest.mark.parametrize(
    "attribute", [Categorical(("True", "False")), Categorical((0, 1)), Integer(0, 1, cuts=()), Real(0, 1, cuts=())]
)
def test_a_boolean_column_is_neither_words_nor_numbers(attribute):
    """Were it, a reader that turns it into text because of one row would move all the others."""
    schema = Schema({"a": attribute}, Label("y", (0, 1)))
    with pytest.raises(DomainError, match=r"column 'a': .*got booleans"):
        Tally.count(pd.DataFrame({"a": [True, False]}), [0, 1], schema)


@pytest.mark.parametrize("max_literals", [1, 2, 3])
@given(table=tables)
def test_patterns_are_distinct_rows_with_the_candidates_they_satisfy(max_literals, table):
    candidates = Candidates.of(SCHEMA, max_literals)
    counted = Tally.count(pl.DataFrame(columns(table)), "ill", SCHEMA)
    satisfied, counts = counted.patterns(candidates)
    assert satisfied.shape == (len(counts), len(candidates))
    expected = Counter()
    for row in table:
        true = np.array([holds(SCHEMA[x.attribute], x, row[x.attribute]) for x in candidates.literals])
        caught = np.concatenate([true[members].all(axis=1) for members in candidates.members])
        expected[tuple(bin_of(SCHEMA[n], row[n]) for n in SCHEMA), tuple(caught.tolist()), row["ill"]] += 1
    result = Counter()
    for bins, mask, numbers in zip(counted._bins.tolist(), satisfied.tolist(), counts.tolist(), strict=True):
        for label, number in zip(SCHEMA.classes, numbers, strict=True):
            result[tuple(bins), tuple(mask), label] += number
    assert +result == expected


def test_candidates_of_another_schema_are_refused():
    counted = Tally.count(np.array([[True]]), [False])
    for query in (counted.patterns, counted.class_counts):
        with pytest.raises(ValueError, match="must have the same schema"):
            query(Candidates.of(SCHEMA, 1))


@given(tables, antecedents.filter(bool))
def test_within_an_antecedent_only_the_rows_that_satisfy_it_are_left(table, rules):
    counted = Tally.count(pl.DataFrame(columns(table)), "ill", SCHEMA)
    within = counted.within(rules[0])
    assert patterns(within) == count_by_hand(SCHEMA, [row for row in table if caught_by(rules[0], row)])
    assert patterns(within) | patterns(counted.without(rules[0])) == patterns(counted)


def rows_between(one, other):  # reference: two lists of rows, each row taken off its twin
    more = list(map(str, other))
    missing = 0
    for row in map(str, one):
        if row in more:
            more.remove(row)
        else:
            missing += 1
    return np.inf if missing and more else missing + len(more)


def plain(row):
    """A row as its bins: rows with other values and the same bins are one."""
    return tuple(bin_of(SCHEMA[name], row[name]) for name in SCHEMA), row["ill"]


@given(tables, st.lists(rows, max_size=3), st.integers(0, 3))
def test_the_distance_of_tallies_is_the_number_of_added_or_removed_rows(table, more, fewer):
    item, other = table, [*table[fewer:], *more]
    first, second = (Tally.count(pl.DataFrame(columns(rows)), "ill", SCHEMA) for rows in (item, other))
    expected = rows_between(map(plain, item), map(plain, other))
    assert first.distance(second) == second.distance(first) == expected
    assert first.distance(first) == 0


def test_a_row_with_another_label_is_another_row():
    item, other = (Tally.count(np.array([[True]]), [label]) for label in (False, True))
    assert item.distance(other) == np.inf
    both = Tally.count(np.array([[True], [True]]), [False, True])
    assert item.distance(both) == both.distance(item) == 1
