"""An oracle on a table answers what one on a frame does: the same numbers before noise, the same charges."""

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow import Boolean, Categorical, Integer, Label, Oracle, Real, Schema
from hedgerow.errors import DomainError, EngineError, HypothesisError, OracleExhaustedError, SchemaError
from hedgerow.hypotheses.hypothesis import Always
from hedgerow.models import Leaf, Rule, RuleList, Split, Tree
from hedgerow.privacy.card import PrivacyCard
from hedgerow.schema import Literal
from tests.engines.servers import POSTGRES, SPARK

NONE = PrivacyCard.none("example", software="hedgerow")
BINS = Schema(
    {
        "age": Integer(0, 90, cuts=(30, 60), missing="bin", outside="clip"),
        "sex": Categorical(("F", "M"), missing="bin", outside="bin"),
        "smoker": Boolean(missing="bin"),
        "dose": Real(0, 1, cuts=(0.5,), missing="bin", outside="bin"),
    }
)
STRICT = Schema(
    {
        "age": Integer(0, 90, cuts=(30,)),
        "sex": Categorical(("F", "M"), missing="bin", missing_values=("?",), outside="bin"),
        "dose": Real(0, 1, cuts=(0.25,), missing="bin"),
    },
    Label("ill", ("no", "yes")),
)
YOUNG, MALE, LOW = Literal("age", "<=", (30,)), Literal("sex", "=", ("M",)), Literal("dose", "<=", (0.25,))
MODELS = {
    "constant": Always("yes"),
    "list": RuleList(STRICT, (Rule((YOUNG, MALE), label="yes"), Rule((LOW,), label="no"), Rule((), label="yes")), NONE),
    "default only": RuleList(STRICT, (Rule((), label="no"),), NONE),
    "tree": Tree(STRICT, Split(MALE, Split(LOW, Leaf(label="no"), Leaf(label="yes")), Leaf(label="no")), NONE),
    "tree with counts": Tree(STRICT, Split(Literal("sex", "missing"), Leaf((5, 1)), Leaf((1, 2))), NONE),
}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)

    def some(values, kind):
        return pa.array([values[i] for i in rng.integers(len(values), size=300)], kind)

    return pa.table(
        {
            "age": some([5, 30, 31, 60, 61, 200, None], pa.int64()),
            "sex": some(["F", " M", "?", "x", None, ""], pa.string()),
            "smoker": some([True, False, None], pa.bool_()),
            "dose": some([0.2, 0.25, 0.5, 7.0, float("nan"), None], pa.float64()),
            "ill": some(["no", "yes"], pa.string()),
        }
    )


def pair(load, rows, budget=None, **options):
    """An oracle on a table, and one on a frame."""
    of_table = Oracle.from_table(load(rows), "ill", budget, classes=("no", "yes"), **options)
    return of_table, Oracle(rows.drop_columns("ill"), rows["ill"], budget, classes=("no", "yes"), **options)


def test_marginals_are_those_of_memory(load, rows):
    for release in ("counts", "ratio"):
        result, expected = (oracle.marginals(BINS) for oracle in pair(load, rows, release=release))
        assert result.masses.tolist() == expected.masses.tolist()


def test_rows_of_each_class_are_those_of_memory(load, rows):
    words = pa.array(["abc"[i % 3] for i in range(300)])
    table, classes = rows.append_column("ward", words), ("a", "b", "c")
    result = Oracle.from_table(load(table), "ward", None, classes=classes).class_marginals(BINS)
    expected = Oracle(table.drop_columns("ward"), words, None, classes=classes).class_marginals(BINS)
    assert result.rows.tolist() == expected.rows.tolist()
    assert result.rows.sum(axis=0).tolist() == [4 * 100] * 3


ON_SPARK = ("list", "tree")
ASKED = [
    pytest.param(*engine.values, name, marks=engine.marks)
    for engine in (pytest.param("duckdb"), POSTGRES, SPARK)
    for name in (ON_SPARK if engine is SPARK else MODELS)
]


@pytest.mark.parametrize(("load", "name"), ASKED, indirect=["load"])
def test_errors_are_those_of_memory(load, rows, name):
    result, expected = (oracle.error_marginals(BINS, MODELS[name]) for oracle in pair(load, rows))
    assert result.wrong.tolist() == expected.wrong.tolist()
    assert result.right.tolist() == expected.right.tolist()
    assert result.wrong.sum() + result.right.sum() == 4 * 300  # every row in one bin of each attribute


def test_a_fitted_estimator_is_a_hypothesis_like_its_model(load):
    data = hr.datasets.load("breast_cancer")
    schema = Schema(data.schema.attributes[:3], Label("target", (0, 1)))
    frame = data.frame.assign(target=np.asarray(data.labels == data.schema.classes[1]).astype(int))
    fitted = hr.OptimalTreeClassifier(schema=schema, max_depth=2).fit(frame.drop(columns="target"), frame["target"])
    kept = pa.Table.from_pandas(frame[[*schema.names, "target"]], preserve_index=False)
    bins = Schema({name: Real(0, 1e6, cuts=(20.0,), missing="bin", outside="clip") for name in schema.names})
    oracle = Oracle.from_table(load(kept), "target", None)
    expected = Oracle(kept.drop_columns("target"), kept["target"], None).error_marginals(bins, fitted)
    assert oracle.error_marginals(bins, fitted).wrong.tolist() == expected.wrong.tolist()


def test_charges_and_refusals_are_those_of_memory(load, rows):
    budget = hr.Budget(1)
    oracle = Oracle.from_table(load(rows), "ill", budget, 2, classes=("no", "yes"))
    assert oracle.columns == ("age", "sex", "smoker", "dose")
    assert (oracle.queries_left, oracle.noise_scale((70,) * 4)) == (2, 8.0)
    with pytest.raises(SchemaError, match="needs a bin"):
        oracle.marginals(Schema({"age": Integer(0, 90, cuts=())}))
    with pytest.raises(DomainError, match="column 'height'"):
        oracle.marginals(Schema({"height": Boolean(missing="bin")}))
    with pytest.raises(SchemaError, match=r"real bins .*text"):
        oracle.marginals(Schema({"sex": Real(0, 1, cuts=(), missing="bin", outside="clip")}))
    with pytest.raises(HypothesisError, match="got LinearSVC"):
        oracle.error_marginals(BINS, __import__("sklearn.svm").svm.LinearSVC())
    with pytest.raises(HypothesisError, match="got Scorecard"):
        oracle.error_marginals(BINS, hr.models.Scorecard(STRICT, (1,), (), 0.5, None, NONE))
    with pytest.raises(HypothesisError, match="no, yes"):
        oracle.error_marginals(BINS, Always("perhaps"))
    tall = Schema({"height": Boolean()}, STRICT.label)
    of_height = Tree(tall, Split(Literal("height", "true"), Leaf((1, 0)), Leaf((0, 1))), NONE)
    with pytest.raises(HypothesisError, match="'height'"):
        oracle.error_marginals(BINS, of_height)
    assert budget.spent == 0
    assert oracle.marginals(BINS).rows.shape == (4 + 4 + 3 + 4,)
    oracle.error_marginals(BINS, MODELS["tree"])
    assert budget.spent == 1
    assert oracle.privacy.epsilon == 1
    with pytest.raises(OracleExhaustedError, match="2"):
        oracle.marginals(BINS)


def test_a_query_that_fails_stays_charged(rows):
    from tests.engines.load import into_duckdb

    table, budget = into_duckdb(rows), hr.Budget(1)
    oracle = Oracle.from_table(table, "ill", budget, classes=("no", "yes"))
    table.get_backend().raw_sql(f"ALTER TABLE {table.get_name()} DROP COLUMN sex")
    with pytest.raises(EngineError, match="columns changed"):
        oracle.marginals(BINS)
    assert float(budget.spent) == pytest.approx(1 / 3)
    assert oracle.queries_left == 2


LATER = {"an infinite number": ("1e999", "no"), "an unknown label": ("0.2", "perhaps"), "no label": ("0.2", None)}


@pytest.mark.parametrize("row", LATER)
def test_a_row_that_came_later_is_counted_for_all_attributes_or_for_none(rows, row):
    """K-norm noise needs histograms of the same rows: their totals agree, and differ from a neighbour's alike."""
    from tests.engines.load import into_duckdb

    table, (dose, label) = into_duckdb(rows), LATER[row]
    oracle = Oracle.from_table(table, "ill", None, 4, classes=("no", "yes"))
    before = oracle.class_marginals(BINS).rows
    label = "NULL" if label is None else f"'{label}'"
    values = f"(5, 'F', true, '{dose}'::DOUBLE, {label})"
    table.get_backend().raw_sql(f"INSERT INTO {table.get_name()} (age, sex, smoker, dose, ill) VALUES {values}")
    after, errors = oracle.class_marginals(BINS).rows, oracle.error_marginals(BINS, MODELS["list"])
    assert after.tolist() == before.tolist()
    sizes = [len(attribute.bins) for _, attribute in BINS.attributes]
    for counts in (errors.wrong, errors.right):
        assert len({int(part.sum()) for part in np.split(counts, np.cumsum(sizes)[:-1])}) == 1


BAD = {
    "label missing": ({"ill": pa.array(["no", None])}, DomainError, "column 'ill': some labels are missing"),
    "label unknown": ({"ill": pa.array(["no", "secret"])}, DomainError, "column 'ill': some labels are none of the"),
    "infinity": ({"dose": pa.array([1.0, float("-inf")])}, DomainError, "column 'dose': some numbers are infinite"),
}


@pytest.mark.parametrize("bad", BAD)
def test_a_table_that_will_not_do_is_refused_at_once(load, bad):
    columns, kind, message = BAD[bad]
    rows = pa.table({"dose": pa.array([1.0, None]), "ill": pa.array(["no", "yes"]), **columns})
    with pytest.raises(kind, match=message) as error:
        Oracle.from_table(load(rows), "ill", None, classes=("no", "yes"))
    assert "secret" not in str(error.value)


def test_public_arguments_are_checked_first(load, rows):
    table = load(rows)
    with pytest.raises(TypeError, match="expected an Ibis table"):
        Oracle.from_table(rows, "ill", None)
    with pytest.raises(DomainError, match="column 'y'"):
        Oracle.from_table(table, "y", None)
    with pytest.raises(ValueError, match="two or more different values"):
        Oracle.from_table(table, "ill", None, classes=("a",))
    with pytest.raises(ValueError, match="max_queries must be a whole number >= 1"):
        Oracle.from_table(table, "ill", None, 0)


def test_learning_from_a_table_is_learning_from_a_frame(load):
    """One question, exact answers: the same additive model."""
    data = hr.datasets.load("breast_cancer")
    names = list(data.frame.columns[:4])
    labels = np.asarray(data.labels == data.schema.classes[1]).astype(int)
    target = pa.Table.from_pandas(data.frame[names].assign(y=labels)[300:], preserve_index=False)
    source = data.frame[names][:300]
    learned = [
        hr.MarginalLogisticClassifier().fit(source, oracle=oracle).predict_proba(source)
        for oracle in (Oracle.from_table(load(target), "y", None), Oracle(target.drop_columns("y"), target["y"], None))
    ]
    assert learned[0] == pytest.approx(learned[1])
