"""Hypotheses over HTTP: the same learner, the same answers, as with rows in this process."""

import warnings
from fractions import Fraction

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import hedgerow as hr
from hedgerow.errors import HypothesisError
from hedgerow.hypotheses import Always, TargetColumns
from hedgerow.hypotheses.onnx_write import hypothesis_data
from hedgerow.marginals.expril import network
from hedgerow.privacy.account import Account
from hedgerow.schema import Schema
from tests.service.wards import BINS, SCHEMA, table
from tests.service.web import running

pytest.importorskip("onnx")
BY = Schema.from_dict({"attributes": BINS})
COLUMNS = TargetColumns(("age", "smoker", "ward"), ("numbers", "boolean", "text"), named=True)
FRAME, LABELS = table()
ROWS, SOURCE = FRAME[list(SCHEMA.names)], table(seed=3)[0][list(SCHEMA.names)]


class Exact:
    """Noise that adds nothing, and says so."""

    no_guarantee_reason, description = "exact, for a test", "none"

    def prepare(self, _):
        return lambda values: values.tolist()


@pytest.fixture(scope="module")
def curator(tmp_path_factory):
    shares = {"ana": Account(Fraction(200)), "bob": Account(Fraction(1))}
    with (
        running(tmp_path_factory.mktemp("exact"), noise=Exact(), cap=300, shares=shares) as service,
        hr.connect(service.url, key=service.tokens["ana"]) as curator,
    ):
        yield curator


def forest():
    words = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["ward"]), remainder="passthrough")
    return make_pipeline(words, RandomForestClassifier(20, max_depth=4, random_state=0))


def small_network():
    return network(SOURCE, 0, (8, 4))


@pytest.mark.parametrize("make", [forest, small_network])
def test_expril_learns_the_same_from_a_service_as_in_memory(curator, make):
    outside = curator.oracle(3, epsilon=20)
    assert outside.kinds == COLUMNS.kinds
    inside = hr.Oracle(ROWS, LABELS, hr.Budget(20), 3, classes=SCHEMA.classes, random_state=Exact())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        learned = [hr.ExprilClassifier(make(), queries=3).fit(SOURCE, oracle=item) for item in (outside, inside)]
    assert len(learned[0].history_) == 3
    assert np.array_equal(*(item.predict_proba(SOURCE) for item in learned))
    assert outside.privacy.epsilon == 20
    counts = [item.error_marginals(BY, learned[0]) for item in (curator.oracle(1, epsilon=1), fresh())]
    assert np.array_equal(counts[0].wrong, counts[1].wrong)
    assert np.array_equal(counts[0].right, counts[1].right)
    assert counts[0].wrong.sum() > 0


def fresh():
    return hr.Oracle(ROWS, LABELS, hr.Budget(1), 1, classes=SCHEMA.classes, random_state=Exact())


def test_each_kind_of_hypothesis_has_its_form():
    tree = hr.OptimalTreeClassifier(max_depth=2, schema=SCHEMA).fit(FRAME, LABELS)
    fitted = forest().fit(ROWS, LABELS)
    learned = hr.ExprilClassifier()
    forms = [Always("yes"), tree.tree_, tree, fitted]
    kinds = ["always", "model", "model", "onnx"]
    for hypothesis, kind in zip(forms, kinds, strict=True):
        assert list(hypothesis_data(hypothesis, COLUMNS, SCHEMA.classes)) == [kind]
        learned.hypothesis_ = hypothesis
        assert hypothesis_data(learned, COLUMNS, SCHEMA.classes) == hypothesis_data(hypothesis, COLUMNS, SCHEMA.classes)


def test_what_cannot_be_sent_is_refused():
    fitted = forest().fit(ROWS, LABELS)
    for hypothesis in (object(), str):
        with pytest.raises(HypothesisError, match="cannot be sent as a hypothesis"):
            hypothesis_data(hypothesis, COLUMNS, SCHEMA.classes)
    with pytest.raises(HypothesisError, match="type Pipeline"):
        hypothesis_data(fitted)
    with pytest.raises(HypothesisError, match="is not fitted"):
        hypothesis_data(hr.ExprilClassifier(), COLUMNS, SCHEMA.classes)
    with pytest.raises(HypothesisError, match="must be classes of the target"):
        hypothesis_data(fitted, COLUMNS, ("a", "b"))
